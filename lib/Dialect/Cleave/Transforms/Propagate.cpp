// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Between the IR and cleave::Propagation, which decides.

#include "cleave/Dialect/Cleave/Transforms/Passes.h"

#include "ShardingRuleCache.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/SourceName.h"
#include "cleave/Layout/Propagation.h"
#include "llvm/ADT/MapVector.h"

namespace cleave {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace mlir;
using namespace cleave;

namespace {

/// One function as a propagation problem.
class FunctionPropagation {
public:
  explicit FunctionPropagation(func::FuncOp function)
      : function(function), context(function.getContext()) {}

  /// Emits an error on failure.
  LogicalResult build();
  void run() { propagation.run(); }
  void writeBack();
  unsigned reportConflicts(bool asRemarks);

  unsigned numOps = 0;
  uint64_t visits() const { return propagation.visits(); }

private:
  /// Where a value of the propagation stands in the IR.
  struct Place {
    Value value;        ///< null for a function's result or a manual computation's operand
    unsigned index = 0; ///< of that result or operand
    Operation *user = nullptr;
  };

  LogicalResult findMesh();
  LogicalResult noteMesh(ShardingAttr sharding, Operation *op);
  Propagation::Value addValue(ShardingAttr sharding, unsigned rank, Place place);
  void addValueOf(Value value);
  LogicalResult addOp(Operation *op);
  void addReturn(func::ReturnOp op);
  void addManualComputation(ManualComputationOp op);
  LogicalResult addToGroup(ShardingGroupOp op);
  Propagation::Value idOf(Value value) const {
    auto found = ids.find(value);
    return found == ids.end() ? Propagation::kNoValue : found->second;
  }

  ShardingAttr shardingOfId(Propagation::Value id);
  void writeResults(Operation *op);

  Location locationOf(const Place &place) const;
  std::string describe(const Place &place);
  std::string keyOf(const PropagationConflict &conflict) const;
  void reportConflict(const PropagationConflict &conflict, unsigned more);

  func::FuncOp function;
  MLIRContext *context;
  FlatSymbolRefAttr meshSymbol;
  const Mesh *mesh = nullptr;

  Propagation propagation;
  ShardingRuleCache rules;
  bool malformed = false;
  DenseMap<Value, Propagation::Value> ids;
  std::vector<Place> places;                 ///< by id
  std::vector<ShardingAttr> given;           ///< by id; null if nothing was given
  SmallVector<Propagation::Value> resultIds; ///< of the function
  llvm::MapVector<int64_t, Value> groups;    ///< first member by group
  std::vector<Operation *> ops;              ///< by op of the propagation
  std::vector<ShardingAttr> closedShardings; ///< by layout id
  DenseMap<Attribute, GivenSharding> givenOf;
};

} // namespace

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

LogicalResult FunctionPropagation::noteMesh(ShardingAttr sharding, Operation *op) {
  if (!sharding || sharding.getMesh() == meshSymbol)
    return success();
  if (meshSymbol)
    return op->emitOpError() << "has a sharding on mesh " << sharding.getMesh()
                             << ", but the function '" << function.getName()
                             << "' is laid out on mesh " << meshSymbol
                             << "; use one mesh in a function";
  meshSymbol = sharding.getMesh();
  mesh = cleave::findMesh(function, meshSymbol);
  assert(mesh && "shardings are verified");
  return success();
}

/// A function without any sharding is laid out on the module's mesh if there is just one.
LogicalResult FunctionPropagation::findMesh() {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (failed(noteMesh(getResultSharding(function, i), function)))
      return failure();
  for (BlockArgument argument : function.getArguments())
    if (failed(noteMesh(getSharding(argument), function)))
      return failure();
  WalkResult walk = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (OpResult result : op->getResults())
      if (failed(noteMesh(getSharding(result), op)))
        return WalkResult::interrupt();
    auto manual = dyn_cast<ManualComputationOp>(op);
    for (unsigned i = 0; manual && i < manual.getInputs().size(); ++i)
      if (failed(noteMesh(manual.getInSharding(i), op)))
        return WalkResult::interrupt();
    return manual ? WalkResult::skip() : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  if (mesh)
    return success();
  auto meshes = function->getParentOfType<ModuleOp>().getOps<MeshOp>();
  if (llvm::hasSingleElement(meshes)) {
    meshSymbol = FlatSymbolRefAttr::get((*meshes.begin()).getSymNameAttr());
    mesh = &meshOf(*meshes.begin());
  }
  return success();
}

/// What is given about a value with this sharding.
static GivenSharding givenSharding(ShardingAttr sharding, const Mesh &mesh) {
  FailureOr<Layout> layout = layoutOf(sharding, mesh);
  FailureOr<AxisList> replicated = axesOf(sharding.getReplicatedAxes(), mesh);
  assert(succeeded(layout) && succeeded(replicated) && "shardings are verified");
  GivenSharding given;
  for (auto [axes, dim] : llvm::zip_equal(layout->dims, sharding.getDimShardings()))
    given.dims.push_back({axes, dim.getIsClosed(), int(dim.getPriorityOrDefault())});
  given.replicated = sortedAxes(*replicated);
  given.partial = layout->partial;
  given.partialKind = layout->partialKind;
  return given;
}

Propagation::Value FunctionPropagation::addValue(ShardingAttr sharding, unsigned rank,
                                                 Place place) {
  places.push_back(place);
  given.push_back(sharding);
  if (!sharding)
    return propagation.addValue(rank);
  auto [found, isNew] = givenOf.try_emplace(sharding);
  if (isNew)
    found->second = givenSharding(sharding, *mesh);
  return propagation.addValue(found->second);
}

void FunctionPropagation::addValueOf(Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    ids[value] = addValue(getSharding(value), type.getRank(), {value});
}

LogicalResult FunctionPropagation::build() {
  if (failed(findMesh()))
    return failure();
  if (!mesh)
    return success();
  // Values first: a use may come before its definition.
  SmallVector<Operation *> body;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != function)
      body.push_back(op);
    for (OpResult result : op->getResults())
      addValueOf(result);
    // What a manual computation does inside is its own business.
    if (isa<ManualComputationOp>(op))
      return WalkResult::skip();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          addValueOf(argument);
    return WalkResult::advance();
  });
  for (Operation *op : body)
    if (failed(addOp(op)))
      return failure();
  return failure(malformed);
}

LogicalResult FunctionPropagation::addOp(Operation *op) {
  ++numOps;
  if (auto group = dyn_cast<ShardingGroupOp>(op))
    return addToGroup(group);
  if (auto manual = dyn_cast<ManualComputationOp>(op)) {
    addManualComputation(manual);
    return success();
  }
  if (auto returned = dyn_cast<func::ReturnOp>(op)) {
    addReturn(returned);
    return success();
  }
  const FactorRule *rule = rules.ruleOf(op, malformed);
  if (!rule)
    return success();
  auto direction = Propagation::Direction::Both;
  if (auto barrier = dyn_cast<PropagationBarrierOp>(op))
    switch (barrier.getDirection()) {
    case PropagationDirection::None:
      direction = Propagation::Direction::None;
      break;
    case PropagationDirection::Forward:
      direction = Propagation::Direction::Forward;
      break;
    case PropagationDirection::Backward:
      direction = Propagation::Direction::Backward;
      break;
    }
  SmallVector<Propagation::Value, 4> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(idOf(operand));
  for (Value result : op->getResults())
    results.push_back(idOf(result));
  propagation.addOp(*rule, operands, results, direction);
  ops.push_back(op);
  return success();
}

/// Each returned value is tied to the function's result, which has a sharding of its own; the new
/// value of a state lies where the state does.
void FunctionPropagation::addReturn(func::ReturnOp op) {
  bool first = resultIds.empty();
  llvm::DenseMap<Attribute, Value> states;
  for (BlockArgument argument : function.getArguments())
    if (Attribute state = function.getArgAttr(argument.getArgNumber(), CleaveDialect::kStateAttr))
      states[state] = argument;
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (first)
      resultIds.push_back(type ? addValue(getResultSharding(function, index), type.getRank(),
                                          {Value(), unsigned(index), op})
                               : Propagation::kNoValue);
    if (!type)
      continue;
    Value state = states.lookup(function.getResultAttr(index, CleaveDialect::kStateAttr));
    if (first && state && state.getType() == type)
      propagation.join(idOf(state), resultIds[index]);
    propagation.addOp(rules.identityRule(type.getShape()), {idOf(operand)}, {resultIds[index]});
    ops.push_back(op);
  }
}

/// The operands of a manual computation are wanted in its in_shardings; the results have its
/// out_shardings.
void FunctionPropagation::addManualComputation(ManualComputationOp op) {
  for (auto [index, operand] : llvm::enumerate(op.getInputs())) {
    auto type = cast<RankedTensorType>(operand.getType());
    Propagation::Value wanted =
        addValue(op.getInSharding(index), type.getRank(), {Value(), unsigned(index), op});
    propagation.addOp(rules.identityRule(type.getShape()), {idOf(operand)}, {wanted});
    ops.push_back(op);
  }
}

LogicalResult FunctionPropagation::addToGroup(ShardingGroupOp op) {
  auto [found, isNew] = groups.insert({int64_t(op.getGroupId()), op.getInput()});
  if (isNew)
    return success();
  Value first = found->second;
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  if (shapeOf(first) != shapeOf(op.getInput())) {
    InFlightDiagnostic error = op.emitOpError()
                               << "puts a value of type " << op.getInput().getType()
                               << " into group " << op.getGroupId()
                               << ", whose values have another shape; use another group_id";
    error.attachNote(first.getLoc()) << "the group's first value, of type " << first.getType();
    return error;
  }
  propagation.join(idOf(first), idOf(op.getInput()));
  return success();
}

//===----------------------------------------------------------------------===//
// Writing back
//===----------------------------------------------------------------------===//

/// Every dimension closed; explicitly replicated axes stay with the value that has them.
ShardingAttr FunctionPropagation::shardingOfId(Propagation::Value id) {
  uint32_t layoutId = propagation.layoutId(id);
  if (closedShardings.size() <= layoutId)
    closedShardings.resize(layoutId + 1);
  ShardingAttr &sharding = closedShardings[layoutId];
  if (!sharding)
    sharding = cleave::shardingOf(context, meshSymbol, *mesh, propagation.layout(id));
  if (!given[id] || given[id].getReplicatedAxes().empty())
    return sharding;
  return ShardingAttr::get(meshSymbol, sharding.getDimShardings(), given[id].getReplicatedAxes(),
                           sharding.getUnreducedAxes(), sharding.getReduction());
}

void FunctionPropagation::writeResults(Operation *op) {
  if (isa<ManualComputationOp>(op) ||
      llvm::none_of(op->getResults(), [&](Value result) { return ids.contains(result); }))
    return;
  if (isa<ShardingConstraintOp, ReshardOp, CollectiveOpInterface, DoneOp>(op)) {
    for (Value result : op->getResults())
      if (ids.contains(result))
        setSharding(result, shardingOfId(idOf(result)));
    return;
  }
  SmallVector<Attribute, 2> shardings;
  for (Value result : op->getResults())
    shardings.push_back(ids.contains(result) ? Attribute(shardingOfId(idOf(result)))
                                             : UnitAttr::get(context));
  op->setDiscardableAttr(CleaveDialect::kShardingsAttr, ArrayAttr::get(context, shardings));
}

void FunctionPropagation::writeBack() {
  if (!mesh)
    return;
  SmallVector<ShardingAttr> arguments;
  for (BlockArgument argument : function.getArguments())
    arguments.push_back(ids.contains(argument) ? shardingOfId(idOf(argument)) : ShardingAttr());
  setArgumentShardings(function, arguments);
  SmallVector<ShardingAttr> results = getResultShardings(function);
  for (auto [index, id] : llvm::enumerate(resultIds))
    if (id != Propagation::kNoValue)
      results[index] = shardingOfId(id);
  setResultShardings(function, results);
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    writeResults(op);
    return isa<ManualComputationOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

Location FunctionPropagation::locationOf(const Place &place) const {
  return place.value ? place.value.getLoc() : place.user->getLoc();
}

/// `argument 2 'model.norm.weight'`, `the result of model.layers.0.mlp (graph.dot_general)`.
std::string FunctionPropagation::describe(const Place &place) {
  if (!place.value)
    return (isa<func::ReturnOp>(place.user) ? "result " : "operand ") +
           std::to_string(place.index) +
           (isa<func::ReturnOp>(place.user) ? " of the function" : " of the manual computation");
  if (auto argument = dyn_cast<BlockArgument>(place.value)) {
    unsigned number = argument.getArgNumber();
    std::string text = "argument " + std::to_string(number);
    if (argument.getOwner()->getParentOp() != function)
      return text + " of a block";
    if (auto state =
            function.getArgAttrOfType<FlatSymbolRefAttr>(number, CleaveDialect::kStateAttr))
      text += " '" + state.getValue().str() + "'";
    else if (auto input = function.getArgAttrOfType<StringAttr>(number, CleaveDialect::kInputAttr))
      text += " '" + input.getValue().str() + "'";
    return text;
  }
  Operation *op = place.value.getDefiningOp();
  return "the result of " + describeOp(op);
}

/// The same for the conflicts of repeated blocks: numbers inside source names count for nothing.
std::string FunctionPropagation::keyOf(const PropagationConflict &conflict) const {
  if (conflict.op == PropagationConflict::kNoOp || sourceName(ops[conflict.op]).empty())
    return "";
  std::string name = describeOp(ops[conflict.op]), key;
  for (StringRef rest = name; !rest.empty();) {
    key += rest.take_until(llvm::isDigit);
    rest = rest.drop_until(llvm::isDigit);
    key += rest.empty() ? "" : "*";
    rest = rest.drop_while(llvm::isDigit);
  }
  for (const PropagationConflict::Side *side : {&conflict.a, &conflict.b})
    key += " " + std::to_string(side->factor) + toString(*mesh, side->axes);
  return key;
}

void FunctionPropagation::reportConflict(const PropagationConflict &conflict, unsigned more) {
  auto side = [&](const PropagationConflict::Side &side) {
    return toString(*mesh, side.axes) + " from " + describe(places[side.origin]);
  };
  std::string both = side(conflict.a) + " and " + side(conflict.b);
  auto notes = [&](InFlightDiagnostic &remark) {
    remark.attachNote(locationOf(places[conflict.a.origin])) << "the first was given here";
    remark.attachNote(locationOf(places[conflict.b.origin])) << "the second was given here";
  };
  if (conflict.op == PropagationConflict::kNoOp) {
    InFlightDiagnostic remark = emitRemark(locationOf(places[conflict.b.value]));
    remark << "members of one sharding group disagree on dimension " << conflict.a.factor << ": "
           << both << "; the first is taken";
    notes(remark);
    return;
  }
  Operation *op = ops[conflict.op];
  InFlightDiagnostic remark = op->emitRemark() << describeOp(op);
  if (conflict.a.factor == conflict.b.factor)
    remark << ": shardings disagree on one dimension: " << both << "; a reshard follows";
  else
    remark << ": two dimensions want the same axes: " << both << "; neither is propagated";
  if (more != 0)
    remark << " (and " << more << " more like this in repeated blocks)";
  notes(remark);
}

unsigned FunctionPropagation::reportConflicts(bool asRemarks) {
  std::vector<PropagationConflict> conflicts = propagation.conflicts();
  if (!asRemarks)
    return conflicts.size();
  std::vector<std::pair<const PropagationConflict *, unsigned>> reports;
  llvm::StringMap<size_t> reportOf;
  for (const PropagationConflict &conflict : conflicts) {
    std::string key = keyOf(conflict);
    auto [found, isNew] = reportOf.try_emplace(key, reports.size());
    if (key.empty() || isNew)
      reports.push_back({&conflict, 0});
    else
      ++reports[found->second].second;
  }
  for (auto [conflict, more] : reports)
    reportConflict(*conflict, more);
  return conflicts.size();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct PropagatePass : public cleave::impl::PropagatePassBase<PropagatePass> {
  using PropagatePassBase::PropagatePassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    FunctionPropagation problem(function);
    if (failed(problem.build()))
      return signalPassFailure();
    problem.run();
    numConflicts += problem.reportConflicts(conflictRemarks);
    numOps += problem.numOps;
    numVisits += problem.visits();
    problem.writeBack();
  }
};

} // namespace
