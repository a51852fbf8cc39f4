// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "FunctionMesh.h"
#include "ReshardProblemBuilder.h"
#include "cleave/Dialect/Cleave/IR/SourceName.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Cleave/Transforms/Passes.h"

using namespace mlir;
using namespace cleave;

namespace cleave {
#define GEN_PASS_DEF_INSERTRESHARDSPASS
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

/// Axes without the quotes that would have to be escaped in an attribute.
static std::string plainAxes(const Mesh &mesh, ArrayRef<AxisRef> axes) {
  std::string text = toString(mesh, axes);
  llvm::erase(text, '"');
  return text;
}

namespace {

/// Writes a solution into the IR.
class ReshardWriter {
public:
  ReshardWriter(func::FuncOp function, const ReshardProblemBuilder &builder,
                const ReshardSolution &solution, FlatSymbolRefAttr meshSym, const Mesh &mesh)
      : function(function), functionName(function.getName()), builder(builder),
        problem(builder.problem), solution(solution), meshSym(meshSym), mesh(mesh),
        made(builder.values), hubs(builder.values.size()) {}

  void write();
  unsigned numReshards = 0, numReductions = 0;

private:
  struct Copy {
    Layout layout;
    Value value;
  };
  void writeOp(uint32_t op);
  void writeDemand(uint32_t demand);
  Value hubOf(uint32_t value, Operation *user, StringRef reason);
  Value copyOf(uint32_t value, const Layout &layout, Operation *user, StringRef reason);
  Value reshard(OpBuilder &b, uint32_t number, Value value, const Layout &layout, StringRef reason,
                Operation *cause);
  ShardingAttr shardingFor(const Layout &layout);
  std::string reasonOfReduction(uint32_t value) const;
  std::string reasonOfUse(uint32_t value, const Layout &layout, Operation *user,
                          unsigned index) const;

  func::FuncOp function;
  std::string functionName;
  const ReshardProblemBuilder &builder;
  const ReshardProblem &problem;
  const ReshardSolution &solution;
  FlatSymbolRefAttr meshSym;
  const Mesh &mesh;
  std::vector<Value> made; ///< by value number, in the produced layout
  std::vector<Value> hubs; ///< null where not made yet
  llvm::DenseMap<uint32_t, SmallVector<Copy, 2>> copies;
  /// Of a partial value, the op whose sum it is waiting for.
  llvm::DenseMap<uint32_t, uint32_t> origins;
  SmallVector<std::pair<Layout, ShardingAttr>, 16> shardings;
  SmallVector<Operation *> dead;
};

} // namespace

ShardingAttr ReshardWriter::shardingFor(const Layout &layout) {
  for (const auto &[known, sharding] : shardings)
    if (known == layout)
      return sharding;
  shardings.push_back({layout, shardingOf(function.getContext(), meshSym, mesh, layout)});
  return shardings.back().second;
}

/// Block, instance and location are those of the op that causes the reshard.
Value ReshardWriter::reshard(OpBuilder &b, uint32_t number, Value value, const Layout &layout,
                             StringRef reason, Operation *cause) {
  auto op = ReshardOp::create(b, cause->getLoc(), value, shardingFor(layout));
  op->setDiscardableAttr(CleaveDialect::kReasonAttr, b.getStringAttr(reason));
  for (StringRef name : {CleaveDialect::kBlockAttr, CleaveDialect::kInstanceAttr})
    if (Attribute attribute = cause->getDiscardableAttr(name))
      op->setDiscardableAttr(name, attribute);
  if (builder.again.contains(number))
    op->setDiscardableAttr(kAgainAttr, b.getUnitAttr());
  ++numReshards;
  return op;
}

std::string ReshardWriter::reasonOfReduction(uint32_t value) const {
  auto origin = origins.find(value);
  if (origin == origins.end())
    return "reduces what comes in partial";
  uint32_t op = origin->second;
  const FactorRule &rule = problem.classes[problem.ops[op].opClass].rule;
  const FactorChoice &choice = solution.choiceOf(problem, op);
  std::string text = describeOp(builder.ops[op]);
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Reduction || choice.axes[i].empty())
      continue;
    static constexpr const char *kVerbs[] = {"sums over ", "takes the maximum over ",
                                             "takes the minimum over "};
    text += ": ";
    text += kVerbs[int(factor.reduction)] + describeFactor(rule, i) + ", sharded by " +
            plainAxes(mesh, choice.axes[i]);
    break;
  }
  return text;
}

/// Names the use and the first dimension that it needs otherwise.
std::string ReshardWriter::reasonOfUse(uint32_t value, const Layout &layout, Operation *user,
                                       unsigned index) const {
  std::string text = isa<func::ReturnOp>(user)
                         ? "result " + std::to_string(index) + " of @" + functionName
                         : describeOp(user) + ": operand " + std::to_string(index);
  const Layout &hub = solution.hub[value];
  for (auto [d, have, need] : llvm::enumerate(hub.dims, layout.dims)) {
    if (have == need)
      continue;
    text += " needs dimension " + std::to_string(d) + " (size " +
            std::to_string(problem.values[value].shape[d]) + ") " +
            (need.empty() ? std::string("whole") : "sharded by " + plainAxes(mesh, need));
    return text;
  }
  return text + " is added to a partial value";
}

Value ReshardWriter::hubOf(uint32_t value, Operation *user, StringRef reason) {
  Value &hub = hubs[value];
  if (hub)
    return hub;
  const Layout &layout = solution.hub[value];
  if (layout == solution.produced[value])
    return hub = made[value];
  bool reduces = layout.partial != solution.produced[value].partial;
  OpBuilder b(user);
  Operation *cause = user;
  if (Operation *producer = made[value].getDefiningOp(); producer && reduces) {
    b.setInsertionPointAfter(producer);
    cause = producer;
  }
  numReductions += reduces;
  return hub = reshard(b, value, made[value], layout,
                       reduces ? reasonOfReduction(value) : reason.str(), cause);
}

Value ReshardWriter::copyOf(uint32_t value, const Layout &layout, Operation *user,
                            StringRef reason) {
  for (const Copy &copy : copies[value])
    if (copy.layout == layout)
      return copy.value;
  OpBuilder b(user);
  Value result;
  if (problem.values[value].free && layout.partial.empty()) {
    if (layout == solution.produced[value])
      return made[value];
    Operation *clone = b.clone(*made[value].getDefiningOp());
    clone->setDiscardableAttr(CleaveDialect::kShardingsAttr, b.getArrayAttr({shardingFor(layout)}));
    result = clone->getResult(0);
  } else {
    Layout reached = layout;
    reached.partial = solution.hub[value].partial;
    reached.partialKind = solution.hub[value].partialKind;
    if (reached != layout) // Keep it on coordinate 0 of the further axes.
      result = reshard(b, value, copyOf(value, reached, user, reason), layout, reason, user);
    else if (Value hub = hubOf(value, user, reason); layout == solution.hub[value])
      return hub;
    else
      result = reshard(b, value, hub, layout, reason, user);
  }
  copies[value].push_back({layout, result});
  return result;
}

void ReshardWriter::writeOp(uint32_t number) {
  const ReshardProblem::Op &op = problem.ops[number];
  Operation *target = builder.ops[number];
  for (auto [i, value] : llvm::enumerate(op.operands)) {
    if (value == kNoValue)
      continue;
    const Layout &layout = solution.required[number][i];
    bool direct = layout == solution.hub[value];
    target->setOperand(i, copyOf(value, layout, target,
                                 direct && layout == solution.produced[value]
                                     ? std::string()
                                     : reasonOfUse(value, layout, target, i)));
  }
  SmallVector<Attribute> results;
  for (uint32_t value : op.results) {
    const Layout &layout = solution.produced[value];
    results.push_back(shardingFor(layout));
    if (layout.partial.empty())
      continue;
    uint32_t origin = number;
    if (partialAxes(problem.classes[op.opClass].rule, solution.choiceOf(problem, number).axes)
            .empty())
      for (uint32_t operand : op.operands)
        if (auto it = origins.find(operand); it != origins.end()) {
          origin = it->second;
          break;
        }
    origins[value] = origin;
  }
  target->setDiscardableAttr(CleaveDialect::kShardingsAttr,
                             ArrayAttr::get(target->getContext(), results));
}

void ReshardWriter::writeDemand(uint32_t number) {
  const ReshardProblem::Demand &demand = problem.demands[number];
  OpOperand &use = *builder.demandSites[number].use;
  Operation *user = use.getOwner();
  const Layout &layout = solution.demanded[number];
  Value value = copyOf(demand.value, layout, user,
                       reasonOfUse(demand.value, layout, user, use.getOperandNumber()));
  use.set(value);
  if (!isa<ShardingConstraintOp, ReshardOp>(user))
    return;
  // The value is in the layout asked for: the op has done its work.
  uint32_t result = builder.numbers.lookup(user->getResult(0));
  made[result] = value;
  if (auto origin = origins.find(demand.value); origin != origins.end() && !layout.partial.empty())
    origins[result] = origin->second;
  dead.push_back(user);
}

void ReshardWriter::write() {
  uint32_t op = 0, demand = 0;
  for (Operation &current : llvm::make_early_inc_range(function.front())) {
    if (op < builder.ops.size() && builder.ops[op] == &current)
      writeOp(op++);
    while (demand < problem.demands.size() &&
           builder.demandSites[demand].use->getOwner() == &current)
      writeDemand(demand++);
  }
  for (Operation *op : dead) {
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  }
  for (uint32_t value = 0; value < problem.values.size(); ++value)
    if (problem.values[value].free && made[value].use_empty())
      if (Operation *op = made[value].getDefiningOp())
        op->erase();
}

namespace {

struct InsertReshardsPass : cleave::impl::InsertReshardsPassBase<InsertReshardsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    FailureOr<FunctionMesh> on = findFunctionMesh(function);
    if (failed(on))
      return signalPassFailure();
    if (!on->mesh)
      return;
    const Mesh &mesh = *on->mesh;
    dropHints(function);
    ReshardProblemBuilder builder(function, on->symbol, mesh);
    if (failed(builder.build()))
      return signalPassFailure();
    if (std::string error = builder.problem.check(); !error.empty()) {
      function.emitError() << "cannot reshard @" << function.getName() << ": " << error;
      return signalPassFailure();
    }
    ReshardPlanner planner(mesh);
    ReshardSolution solution = solveReshards(builder.problem, planner);
    warnOfWholeFactors(builder, solution, mesh);
    setResultShardings(function, builder, on->symbol, mesh);
    ReshardWriter writer(function, builder, solution, on->symbol, mesh);
    writer.write();
    numClasses += builder.problem.classes.size();
    numReshards += writer.numReshards;
    numReductions += writer.numReductions;
  }

  /// Groups and barriers have spoken to propagation and are done.
  static void dropHints(func::FuncOp function) {
    for (Operation &op : llvm::make_early_inc_range(function.getBody().getOps())) {
      if (isa<ShardingGroupOp>(op)) {
        op.erase();
      } else if (auto barrier = dyn_cast<PropagationBarrierOp>(op)) {
        barrier.getResult().replaceAllUsesWith(barrier.getInput());
        barrier.erase();
      }
    }
  }

  static void warnOfWholeFactors(const ReshardProblemBuilder &builder,
                                 const ReshardSolution &solution, const Mesh &mesh) {
    SmallVector<unsigned> alike(builder.problem.classes.size());
    for (const ReshardProblem::Op &op : builder.problem.ops)
      ++alike[op.opClass];
    for (auto [i, choices] : llvm::enumerate(solution.choices)) {
      // Another view of what is whole anyway, of which everybody takes a part.
      const FactorChoice &best = choices.choices.front();
      bool isFree = best.resultBytes == 0 &&
                    llvm::all_of(best.operandBytes, [](double bytes) { return bytes == 0; });
      for (const WholeFactor &whole : choices.whole) {
        if (whole.reason == WholeReason::Uneven && isFree)
          continue;
        Operation *op = builder.classSamples[i];
        InFlightDiagnostic warning = op->emitWarning();
        warning << describeOp(op) << ": "
                << describeFactor(builder.problem.classes[i].rule, whole.factor)
                << " is made whole on every device of " << toString(mesh, whole.axes)
                << ", because ";
        switch (whole.reason) {
        case WholeReason::NeedReplication:
          warning << "the op works on all of it";
          break;
        case WholeReason::NoLocalForm:
          warning << "the op has no partitioned form that splits it";
          break;
        case WholeReason::Uneven:
          warning << "it is part of a merged or split dimension that does not divide";
          break;
        }
        if (alike[i] > 1)
          warning << " (and so for " << alike[i] - 1 << " more ops like this)";
      }
    }
  }

  /// A function result without a sharding gets that of the value returned.
  static void setResultShardings(func::FuncOp function, const ReshardProblemBuilder &builder,
                                 FlatSymbolRefAttr meshSym, const Mesh &mesh) {
    SmallVector<ShardingAttr> shardings = getResultShardings(function);
    for (auto [demand, site] : llvm::zip(builder.problem.demands, builder.demandSites)) {
      unsigned index = site.use->getOperandNumber();
      if (isa<func::ReturnOp>(site.use->getOwner()) && !shardings[index])
        shardings[index] = shardingOf(function.getContext(), meshSym, mesh, demand.layout);
    }
    cleave::setResultShardings(function, shardings);
  }
};

} // namespace
