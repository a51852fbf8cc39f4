// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Logical axes become shardings, by a strategy.

#include "ParameterGathers.h"
#include "StrategyTables.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Cleave/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace cleave;

namespace cleave {
#define GEN_PASS_DEF_APPLYSTRATEGYPASS
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

namespace {

/// A tensor's names as the tables take them.
struct NameList {
  SmallVector<StringRef> names;
  ArrayRef<int64_t> sizes;

  /// Without logical names, every dimension is nameless.
  NameList(LogicalAxesAttr logical, RankedTensorType type)
      : names(type.getRank()), sizes(type.getShape()) {
    if (logical)
      for (auto [name, attr] : llvm::zip(names, logical.getNames()))
        name = attr.getValue();
  }
  operator NamedShape() const { return {names, sizes}; }
};

/// How a parameter is stored, how it is computed with, and how its gradient is added up over
/// microbatches; without the latter that is left open.
struct ParameterPlan {
  ShardingAttr stored, gathered, gradient;
};

class StrategyApplication {
public:
  StrategyApplication(ModuleOp module, MeshOp mesh, StrategyTables &tables,
                      const ApplyStrategyPassOptions &options)
      : module(module), mesh(mesh.getLayoutMesh()),
        meshSym(FlatSymbolRefAttr::get(mesh.getSymNameAttr())), tables(tables), options(options) {}

  LogicalResult planStates();
  void apply(FunctionOpInterface entry);

  int64_t numConstraints = 0;
  bool savesSharded = false;              ///< some activations, to be gathered again
  SmallVector<StringRef> wholeParameters; ///< those that could not be stored sharded

private:
  ShardingAttr closed(const Layout &layout) {
    return shardingOf(module.getContext(), meshSym, mesh, layout);
  }
  void findMasters();
  ShardingAttr planInput(FunctionOpInterface entry, unsigned index);
  ShardingConstraintOp constrainResult(OpResult result, ShardingAttr sharding);
  void constrain(OpResult result, LogicalAxesAttr names, const BlockRuns &runs);
  void gatherAgain(ShardingConstraintOp saved, const BlockRuns &runs);
  void scatterGradients(FunctionOpInterface entry);
  void planResults(FunctionOpInterface entry);

  ModuleOp module;
  const Mesh &mesh;
  FlatSymbolRefAttr meshSym;
  StrategyTables &tables;
  const ApplyStrategyPassOptions &options;
  llvm::DenseMap<StringAttr, ParameterPlan> parameters;
  llvm::DenseSet<StringAttr> masters;
};

/// The copy of a weight in a narrower type that a program computes with; null if there is none.
static Operation *narrowingCopy(BlockArgument argument) {
  auto bits = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && isa<FloatType>(type.getElementType()) ? type.getElementTypeBitWidth() : 0;
  };
  for (Operation *user : argument.getUsers())
    if (user->getNumOperands() == 1 && user->getNumResults() == 1 && isPure(user) &&
        bits(user->getResult(0)) != 0 && bits(user->getResult(0)) < bits(argument))
      return user;
  return nullptr;
}

/// Weights that are stored wider than they are computed with.
void StrategyApplication::findMasters() {
  for (auto entry : module.getOps<FunctionOpInterface>())
    if (entry->hasAttr(CleaveDialect::kEntryAttr) && !entry.isExternal())
      for (unsigned index = 0; index < entry.getNumArguments(); ++index)
        if (auto state =
                entry.getArgAttrOfType<FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr);
            state && narrowingCopy(entry.getArgument(index)))
          masters.insert(state.getAttr());
}

LogicalResult StrategyApplication::planStates() {
  findMasters();
  // The split of heads needs their sizes, which only some tensors show.
  for (StateOp state : module.getOps<StateOp>())
    if (LogicalAxesAttr logical = state.getLogicalAttr())
      tables.noteHeads(NameList(logical, cast<RankedTensorType>(state.getType())));
  for (StateOp state : module.getOps<StateOp>()) {
    NameList names(state.getLogicalAttr(), cast<RankedTensorType>(state.getType()));
    if (ShardingAttr given = state.getShardingAttr()) {
      Layout layout = *layoutOf(given, mesh);
      tables.noteUse(layout);
      parameters[state.getSymNameAttr()] = {given, closed(tables.gathered(layout)), {}};
      continue;
    }
    llvm::Expected<Layout> layout = tables.parameterLayout(state.getSymName(), names);
    if (!layout)
      return state.emitError() << llvm::toString(layout.takeError());
    bool optimizer = state.getKind() == "optimizer";
    // A master weight is read by the optimizer, as its moments are.
    bool master = masters.contains(state.getSymNameAttr());
    Layout computed = tables.gathered(*layout), gradient = *layout;
    ShardingAttr scattered;
    if (!optimizer && !options.wholeGradients && tables.scattersGradients() &&
        tables.shardStorage(names, /*optimizer=*/options.zero >= 2, gradient) &&
        gradient != computed)
      scattered = closed(gradient);
    if (!tables.shardStorage(names, optimizer || master, *layout) && !optimizer &&
        !tables.storage(/*optimizer=*/false).empty())
      wholeParameters.push_back(state.getSymName());
    ShardingAttr stored = closed(*layout);
    state.setShardingAttr(stored);
    // Optimizer states are updated where they lie.
    parameters[state.getSymNameAttr()] = {stored, optimizer ? stored : closed(computed), scattered};
  }
  return success();
}

ShardingAttr StrategyApplication::planInput(FunctionOpInterface entry, unsigned index) {
  auto type = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[index]);
  auto logical = entry.getArgAttrOfType<LogicalAxesAttr>(index, CleaveDialect::kLogicalAttr);
  auto microbatches = dyn_cast_if_present<IntegerAttr>(
      entry.removeArgAttr(index, StringAttr::get(module.getContext(), kMicrobatchesAttr)));
  if (!type || !logical)
    return {};
  NameList names(logical, type);
  if (!microbatches)
    return closed(tables.layoutOf(StrategyTable::Inputs, names));
  // A microbatch takes every so many rows. Where its rows do not divide, shards of the input are
  // not those of microbatches, and the input stays whole.
  SmallVector<int64_t> sizes(type.getShape());
  sizes[0] /= microbatches.getInt();
  names.sizes = sizes;
  Layout layout = tables.layoutOf(StrategyTable::Inputs, names);
  if (sizes[0] % shardCount(layout.dims[0]) != 0)
    layout.dims[0].clear();
  return closed(layout);
}

ShardingConstraintOp StrategyApplication::constrainResult(OpResult result, ShardingAttr sharding) {
  Operation *op = result.getOwner();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto constraint = createConstraint(builder, op->getLoc(), result, sharding, op);
  result.replaceAllUsesExcept(constraint, constraint);
  ++numConstraints;
  return constraint;
}

/// Asks for the table's sharding of an op's result.
void StrategyApplication::constrain(OpResult result, LogicalAxesAttr names, const BlockRuns &runs) {
  auto type = dyn_cast<RankedTensorType>(result.getType());
  // What somebody asked for already goes before the table.
  bool given = isa<ShardingConstraintOp>(result.getOwner()) || getSharding(result) ||
               (result.hasOneUse() && isa<ShardingConstraintOp>(*result.user_begin()));
  if (!type || given)
    return;
  NameList list(names, type);
  Layout layout = tables.layoutOf(StrategyTable::Activations, list);
  ShardingConstraintOp constraint = constrainResult(result, closed(layout));
  bool isSequenceSharded = llvm::any_of(llvm::zip(list.names, layout.dims), [](auto dim) {
    return std::get<0>(dim) == "seq" && !std::get<1>(dim).empty();
  });
  if (options.regatherActivations && isSequenceSharded)
    gatherAgain(constraint, runs);
}

/// What the backward half uses of a value that is saved sharded it gathers for itself.
void StrategyApplication::gatherAgain(ShardingConstraintOp saved, const BlockRuns &runs) {
  Operation *first = nullptr;
  for (Operation *user : saved->getUsers())
    if (user->hasAttr(kBackwardAttr) && !saved->hasAttr(kBackwardAttr) &&
        (!first || user->isBeforeInBlock(first)))
      first = user;
  if (!first || !runs.areApart(saved.getInput().getDefiningOp(), first))
    return;
  OpBuilder builder(first);
  auto again =
      createConstraint(builder, saved.getLoc(), saved.getResult(), saved.getSharding(), first);
  again->setDiscardableAttr(kAgainAttr, builder.getUnitAttr());
  savesSharded = true;
  saved.getResult().replaceUsesWithIf(again, [&](OpOperand &use) {
    return use.getOwner() != again && use.getOwner()->hasAttr(kBackwardAttr);
  });
  ++numConstraints;
}

/// Gradients of one microbatch, where accumulators are sharded.
void StrategyApplication::scatterGradients(FunctionOpInterface entry) {
  SmallVector<std::pair<OpResult, ShardingAttr>> gradients;
  entry.getFunctionBody().walk([&](Operation *op) {
    if (auto names = op->getAttrOfType<ArrayAttr>(kGradientOfAttr))
      for (auto [result, entry] : llvm::zip(op->getResults(), names))
        if (auto parameter = dyn_cast<FlatSymbolRefAttr>(entry))
          if (ShardingAttr sharding = parameters.lookup(parameter.getAttr()).gradient)
            gradients.push_back({result, sharding});
  });
  for (auto [result, sharding] : gradients)
    constrainResult(result, sharding);
}

/// Results stay sharded as the values that are returned; an updated state as the state.
void StrategyApplication::planResults(FunctionOpInterface entry) {
  Operation *terminator = entry.getFunctionBody().front().getTerminator();
  SmallVector<ShardingAttr> shardings = getResultShardings(entry);
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    if (shardings[index] || !isa<RankedTensorType>(value.getType()))
      continue;
    auto state = entry.getResultAttrOfType<FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr);
    ShardingAttr sharding = state ? parameters.lookup(state.getAttr()).stored : getSharding(value);
    if (sharding)
      shardings[index] = sharding.getClosed();
  }
  setResultShardings(entry, shardings);
}

void StrategyApplication::apply(FunctionOpInterface entry) {
  BlockRuns runs(entry.getFunctionBody().front());
  SmallVector<ShardingAttr> shardings;
  SmallVector<ParameterGather> gathers;
  for (unsigned index = 0; index < entry.getNumArguments(); ++index) {
    auto given = entry.getArgAttrOfType<ShardingAttr>(index, CleaveDialect::kShardingAttr);
    auto state = entry.getArgAttrOfType<FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr);
    ParameterPlan plan;
    if (state)
      plan = parameters.lookup(state.getAttr());
    if (given) {
      if (FailureOr<Layout> layout = layoutOf(given, mesh); succeeded(layout))
        tables.noteUse(*layout);
      shardings.push_back(given);
    } else {
      shardings.push_back(state ? plan.stored : planInput(entry, index));
    }
    if (!state || shardings.back() != plan.stored || plan.gathered == plan.stored.getClosed())
      continue;
    // Of a master weight the copy is gathered, which is narrower.
    BlockArgument argument = entry.getArgument(index);
    Operation *copy = narrowingCopy(argument);
    if (copy)
      setSharding(copy->getResult(0), plan.stored);
    bool again = options.reshardAfterForward && !tables.storage(/*optimizer=*/false).empty();
    gathers.push_back(
        {copy ? copy->getResult(0) : Value(argument), plan.stored, plan.gathered, again});
  }
  setArgumentShardings(entry, shardings);
  numConstraints += gatherParameters(entry.getFunctionBody().front(), gathers, runs);
  scatterGradients(entry);

  SmallVector<std::pair<OpResult, LogicalAxesAttr>> named;
  entry.getFunctionBody().walk([&](Operation *op) {
    if (auto names = op->getAttrOfType<ArrayAttr>(CleaveDialect::kLogicalAttr))
      for (auto [result, entry] : llvm::zip(op->getResults(), names))
        if (auto logical = dyn_cast<LogicalAxesAttr>(entry))
          named.push_back({result, logical});
  });
  for (auto [result, logical] : named)
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      tables.noteHeads(NameList(logical, type));
  for (auto [result, logical] : named)
    constrain(result, logical, runs);
  planResults(entry);
}

struct ApplyStrategyPass : cleave::impl::ApplyStrategyPassBase<ApplyStrategyPass> {
  using ApplyStrategyPassBase::ApplyStrategyPassBase;

  FailureOr<StrategyFile> readFile(MeshOp mesh) {
    std::string text = strategyText;
    if (text.empty()) {
      if (strategyFile.empty())
        return StrategyFile();
      llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
          llvm::MemoryBuffer::getFile(strategyFile, /*IsText=*/true);
      if (!buffer)
        return mesh.emitError() << "cannot read the strategy file " << strategyFile << ": "
                                << buffer.getError().message() << "; check the path";
      text = (*buffer)->getBuffer().str();
    }
    llvm::Expected<StrategyFile> file = parseStrategyFile(text);
    if (!file)
      return mesh.emitError() << "strategy file " << strategyFile << ": "
                              << llvm::toString(file.takeError());
    return std::move(*file);
  }

  /// The mesh axes over which the program itself shards something.
  llvm::SmallBitVector axesInProgram(const Mesh &mesh) {
    llvm::SmallBitVector axes(mesh.axes().size());
    auto note = [&](Attribute attribute) {
      auto sharding = dyn_cast_if_present<ShardingAttr>(attribute);
      FailureOr<Layout> layout = sharding ? layoutOf(sharding, mesh) : FailureOr<Layout>();
      if (succeeded(layout))
        for (const AxisRef &axis : layout->usedAxes())
          axes.set(axis.axis);
    };
    getOperation().walk([&](Operation *op) {
      if (isa<StateOp, ShardingConstraintOp, ReshardOp>(op))
        note(op->getAttr("sharding"));
      if (auto shardings = op->getAttrOfType<ArrayAttr>(CleaveDialect::kShardingsAttr))
        llvm::for_each(shardings, note);
      if (auto function = dyn_cast<FunctionOpInterface>(op)) {
        for (unsigned i = 0; i < function.getNumArguments(); ++i)
          note(function.getArgAttr(i, CleaveDialect::kShardingAttr));
        for (unsigned i = 0; i < function.getNumResults(); ++i)
          note(function.getResultAttr(i, CleaveDialect::kShardingAttr));
      }
    });
    return axes;
  }

  FailureOr<MeshOp> findMeshOp() {
    auto meshes = llvm::to_vector(getOperation().getOps<MeshOp>());
    if (meshes.size() == 1)
      return meshes.front();
    return getOperation().emitError()
           << "a strategy needs one cleave.mesh in the module, found " << meshes.size();
  }

  LogicalResult run() {
    FailureOr<MeshOp> mesh = findMeshOp();
    if (failed(mesh))
      return failure();
    FailureOr<StrategyFile> file = readFile(*mesh);
    if (failed(file))
      return failure();
    llvm::Expected<StrategyTables> tables =
        StrategyTables::create(mesh->getLayoutMesh(), std::move(*file), sequenceParallel, zero,
                               axesInProgram(mesh->getLayoutMesh()));
    if (!tables)
      return mesh->emitError() << llvm::toString(tables.takeError());
    ApplyStrategyPassOptions options;
    options.zero = zero;
    options.reshardAfterForward = reshardAfterForward;
    options.wholeGradients = wholeGradients;
    options.regatherActivations = regatherActivations;
    StrategyApplication application(getOperation(), *mesh, *tables, options);
    if (failed(application.planStates()))
      return failure();
    bool hasEntry = false;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (function->hasAttr(CleaveDialect::kEntryAttr) && !function.isExternal()) {
        hasEntry = true;
        application.apply(function);
      }
    if (!hasEntry)
      return getOperation().emitError()
             << "a strategy needs a function with 'cleave.entry', found none";
    if (size_t count = application.wholeParameters.size())
      mesh->emitWarning() << (zero >= 3 ? "zero 3" : "mesh axis \"fsdp\"") << " leaves " << count
                          << (count == 1 ? " parameter" : " parameters")
                          << " whole, for want of a dimension that takes it: "
                          << application.wholeParameters.front() << (count == 1 ? "" : ", ...");
    if (!reshardAfterForward && tables->storage(/*optimizer=*/false).empty())
      mesh->emitWarning(
          "keep-gathered has no effect: parameters are stored whole; it goes with ZeRO "
          "stage 3 or a mesh axis \"fsdp\"");
    if (wholeGradients && !tables->scattersGradients())
      mesh->emitWarning(
          "whole-gradients has no effect: gradients are added up whole in any case; it "
          "goes with ZeRO stage 2 or 3 or a mesh axis \"fsdp\"");
    if (regatherActivations && !application.savesSharded)
      mesh->emitWarning("regather-activations has no effect: the backward half of a training step "
                        "uses no activations that are sharded over the sequence; it goes with "
                        "sequence-parallel");
    for (const std::string &line : tables->warnings())
      mesh->emitWarning() << line;
    numConstraints += application.numConstraints;
    return success();
  }

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }
};

} // namespace
