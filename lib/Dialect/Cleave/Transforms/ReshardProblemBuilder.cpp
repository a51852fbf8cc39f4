// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ReshardProblemBuilder.h"

#include "cleave/Dialect/Cleave/IR/SourceName.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace cleave;

FailureOr<Layout> ReshardProblemBuilder::layoutOfSharding(ShardingAttr sharding, unsigned rank) {
  if (!sharding)
    return Layout::replicated(rank);
  auto [entry, isNew] = layouts.try_emplace(sharding);
  if (isNew) {
    FailureOr<Layout> layout = layoutOf(sharding, mesh);
    if (failed(layout))
      return failure();
    entry->second = *layout;
  }
  return entry->second;
}

/// True if the op maps this operand to its only result element by element.
static bool isElementwiseIn(Operation *op, unsigned operand) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  std::optional<FactorRule> rule = shardingRuleOf(op);
  return rule && isa<RankedTensorType>(op->getOperand(operand).getType()) &&
         rule->operands[operand] == rule->results.front();
}

/// Finds values that nothing but a constraint, a reshard or the return uses, perhaps by way of
/// elementwise ops: they are wanted in the layout that this asks for, and what propagation gave to
/// them in between is of no interest.
void ReshardProblemBuilder::redirect() {
  for (Operation &op : llvm::reverse(function.front())) {
    for (Value value : op.getResults()) {
      if (!isa<RankedTensorType>(value.getType()) || !value.hasOneUse())
        continue;
      OpOperand &use = *value.use_begin();
      Operation *user = use.getOwner();
      ShardingAttr wanted;
      if (auto constraint = dyn_cast<ShardingConstraintOp>(user))
        wanted = constraint.getSharding();
      else if (auto reshard = dyn_cast<ReshardOp>(user))
        wanted = reshard.getSharding();
      else if (isa<func::ReturnOp>(user))
        wanted = getResultSharding(function, use.getOperandNumber());
      else if (user->getNumResults() == 1 && redirected.contains(user->getResult(0)) &&
               isElementwiseIn(user, use.getOperandNumber()))
        wanted = redirected.lookup(user->getResult(0));
      if (wanted && wanted.getUnreducedAxes().empty() && wanted != getSharding(value))
        redirected[value] = wanted;
    }
  }
}

ShardingAttr ReshardProblemBuilder::plannedSharding(Value value) const {
  auto other = redirected.find(value);
  return other == redirected.end() ? getSharding(value) : other->second;
}

/// How often an op is done: what depends on the number of a repetition, for each of them.
int64_t ReshardProblemBuilder::runsOf(Operation *op) {
  if (isa<graph::SumRepetitionsOp>(op))
    return 1;
  int64_t runs = 1;
  if (auto repetition = dyn_cast<graph::RepetitionOp>(op))
    runs = repetition.getCount();
  for (Value operand : op->getOperands()) {
    auto number = numbers.find(operand);
    runs = std::max(runs, number == numbers.end() ? indexRuns.lookup(operand)
                                                  : problem.values[number->second].runs);
  }
  for (Value result : op->getResults())
    if (runs > 1 && result.getType().isIndex())
      indexRuns[result] = runs;
  return runs;
}

FailureOr<uint32_t> ReshardProblemBuilder::addValue(Value value, ShardingAttr sharding) {
  auto type = cast<RankedTensorType>(value.getType());
  FailureOr<Layout> layout = layoutOfSharding(sharding, type.getRank());
  if (failed(layout) || layout->rank() != size_t(type.getRank()))
    return emitError(value.getLoc())
           << "sharding " << sharding << " does not fit the mesh or the value's type " << type;
  uint32_t number = values.size();
  numbers[value] = number;
  values.push_back(value);
  shardings.push_back(sharding);
  unsigned bits = type.getElementTypeBitWidth();
  problem.values.push_back({llvm::to_vector<4>(type.getShape()), int64_t(bits + 7) / 8, *layout});
  return number;
}

/// Made anew in any layout: a constant that every device can make its part of.
bool ReshardProblemBuilder::isFree(Operation *op, const FactorRule &rule) const {
  return op->getNumOperands() == 0 && op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         isMemoryEffectFree(op) &&
         llvm::all_of(rule.factors,
                      [](const Factor &factor) {
                        return factor.kind == FactorKind::PassThrough && !factor.viaDecomposition;
                      }) &&
         llvm::all_of(rule.results.front(), [](const DimFactors &dim) { return dim.size() == 1; });
}

/// A rule that keeps everything whole, for an op that has none.
static FactorRule wholeRule(Operation *op) {
  FactorRule rule;
  auto tensor = [&](Value value) {
    TensorFactors dims;
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (int64_t size : type.getShape())
        dims.push_back({rule.addFactor(size, FactorKind::NeedReplication)});
    return dims;
  };
  for (Value operand : op->getOperands())
    rule.operands.push_back(tensor(operand));
  for (Value result : op->getResults())
    rule.results.push_back(tensor(result));
  return rule;
}

/// Ops with equal keys have equal rules, shapes and planned layouts.
struct ReshardProblemBuilder::ClassKey {
  SmallVector<ShardingAttr, 6> shardings; ///< operands, then results
  SmallVector<bool, 4> free;

  ClassKey(Operation *op, const ReshardProblemBuilder &builder) {
    auto add = [&](Value value) {
      auto number = builder.numbers.find(value);
      bool isTensor = number != builder.numbers.end();
      shardings.push_back(isTensor ? builder.shardings[number->second] : ShardingAttr());
      free.push_back(isTensor && builder.problem.values[number->second].free);
    };
    // A result's own `free` is decided by the class.
    for (Value operand : op->getOperands())
      add(operand);
    for (Value result : op->getResults()) {
      add(result);
      free.back() = false;
    }
  }
  bool operator==(const ClassKey &other) const {
    return shardings == other.shardings && free == other.free;
  }
  uint64_t hash(Operation *op) const {
    return llvm::hash_combine(
        op->getName(), op->hashProperties(),
        llvm::hash_combine_range(op->getOperandTypes().begin(), op->getOperandTypes().end()),
        llvm::hash_combine_range(op->getResultTypes().begin(), op->getResultTypes().end()),
        llvm::hash_combine_range(shardings.begin(), shardings.end()));
  }
};

static bool isAlike(Operation *a, Operation *b) {
  StringRef rule = CleaveDialect::kShardingRuleAttr;
  return a->getName() == b->getName() &&
         a->getName().compareOpProperties(a->getPropertiesStorage(), b->getPropertiesStorage()) &&
         a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes() &&
         a->getDiscardableAttr(rule) == b->getDiscardableAttr(rule);
}

FailureOr<uint32_t> ReshardProblemBuilder::classOf(Operation *op) {
  ClassKey key(op, *this);
  auto &bucket = classBuckets[key.hash(op) >> 1];
  for (uint32_t candidate : bucket)
    if (isAlike(classSamples[candidate], op) && ClassKey(classSamples[candidate], *this) == key)
      return candidate;

  ReshardProblem::OpClass c;
  if (std::optional<FactorRule> rule = shardingRuleOf(op))
    c.rule = std::move(*rule);
  else
    c.rule = wholeRule(op);
  auto shapes = [](ValueRange list) {
    SmallVector<SmallVector<int64_t>> result;
    for (Value value : list) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      result.push_back(type ? llvm::to_vector(type.getShape()) : SmallVector<int64_t>());
    }
    return result;
  };
  std::string error = checkRule(c.rule, shapes(op->getOperands()), shapes(op->getResults()));
  if (!error.empty())
    return op->emitError() << describeOp(op) << " has a malformed sharding rule: " << error;
  for (Value operand : op->getOperands()) {
    auto number = numbers.find(operand);
    if (number == numbers.end()) {
      c.operands.push_back({{}, 1, Layout(), false});
      continue;
    }
    const ReshardProblem::Value &value = problem.values[number->second];
    Layout planned = value.planned;
    planned.partial.clear();
    c.operands.push_back({value.shape, value.elementBytes, planned, value.free});
  }
  for (Value result : op->getResults()) {
    auto number = numbers.find(result);
    if (number == numbers.end()) {
      c.results.push_back({{}, 1, Layout(), false});
      continue;
    }
    const ReshardProblem::Value &value = problem.values[number->second];
    c.results.push_back({value.shape, value.elementBytes, value.planned, false});
  }
  bucket.push_back(problem.classes.size());
  problem.classes.push_back(std::move(c));
  classSamples.push_back(op);
  return bucket.back();
}

LogicalResult ReshardProblemBuilder::addOp(Operation *op) {
  if (op->getNumRegions() != 0)
    return op->emitError() << describeOp(op)
                           << " has a region; sharding of ops with regions is not supported yet";
  ReshardProblem::Op entry;
  entry.addsUp = isa<graph::SumRepetitionsOp>(op);
  for (Value operand : op->getOperands()) {
    auto number = numbers.find(operand);
    entry.operands.push_back(number == numbers.end() ? kNoValue : number->second);
  }
  bool anyTensor = llvm::any_of(entry.operands, [](uint32_t n) { return n != kNoValue; });
  int64_t runs = runsOf(op);
  for (Value result : op->getResults()) {
    if (!isa<RankedTensorType>(result.getType())) {
      if (anyTensor)
        return op->emitError() << describeOp(op) << " takes a tensor and gives a "
                               << result.getType() << ", which no device can be asked for";
      continue;
    }
    ShardingAttr given = getSharding(result);
    FailureOr<uint32_t> number = addValue(result, plannedSharding(result));
    if (failed(number))
      return failure();
    if (given && !given.getUnreducedAxes().empty())
      return op->emitError() << describeOp(op) << " is given a sharding with unreduced axes; only "
                             << "this pass decides where values stay partial, remove them";
    problem.values[*number].runs = runs;
    entry.results.push_back(*number);
    anyTensor = true;
  }
  if (!anyTensor)
    return success(); // Index arithmetic: every device does it.
  FailureOr<uint32_t> opClass = classOf(op);
  if (failed(opClass))
    return failure();
  entry.opClass = *opClass;
  if (entry.results.size() == 1)
    problem.values[entry.results.front()].free = isFree(op, problem.classes[*opClass].rule);
  problem.ops.push_back(std::move(entry));
  ops.push_back(op);
  return success();
}

/// Constraints, reshards and collectives that are in the IR already: a use in a fixed layout, and a
/// value in the layout they give.
LogicalResult ReshardProblemBuilder::addFixed(Operation *op) {
  OpOperand &use = op->getOpOperand(0);
  uint32_t number = numbers.lookup(use.get());
  Value result = op->getResult(0);
  FailureOr<uint32_t> resultNumber = addValue(result, getSharding(result));
  if (failed(resultNumber))
    return failure();
  Layout layout = isa<CollectiveOpInterface>(op) ? problem.values[number].planned
                                                 : problem.values[*resultNumber].planned;
  problem.values[*resultNumber].runs = problem.values[number].runs;
  if (op->hasAttr(kAgainAttr))
    again.insert(*resultNumber);
  bool passes = isa<ShardingConstraintOp>(op) && op->hasAttr(kBackwardAttr);
  problem.demands.push_back(
      {number, layout, uint32_t(problem.ops.size()), passes ? *resultNumber : kNoValue});
  demandSites.push_back({&use});
  return success();
}

LogicalResult ReshardProblemBuilder::addReturn(func::ReturnOp op) {
  for (OpOperand &use : op->getOpOperands()) {
    auto number = numbers.find(use.get());
    if (number == numbers.end())
      continue;
    unsigned index = use.getOperandNumber();
    Layout layout = problem.values[number->second].planned;
    layout.partial.clear();
    layout.partialKind = Reduction::Sum;
    if (ShardingAttr sharding = getResultSharding(function, index)) {
      FailureOr<Layout> given = layoutOfSharding(sharding, layout.rank());
      if (failed(given) || given->rank() != layout.rank())
        return function.emitError() << "sharding " << sharding << " of result " << index
                                    << " does not fit the mesh or the result's type";
      layout = *given;
    }
    if (!layout.partial.empty() && function->hasAttr(CleaveDialect::kEntryAttr))
      return function.emitError() << "result " << index << " of entry @" << function.getName()
                                  << " is unreduced; an entry's results must be whole";
    problem.demands.push_back({number->second, layout, uint32_t(problem.ops.size())});
    demandSites.push_back({&use});
  }
  return success();
}

LogicalResult ReshardProblemBuilder::build() {
  if (!function.getBody().hasOneBlock())
    return function.emitError() << "function @" << function.getName()
                                << " has several blocks; only straight-line functions are sharded";
  redirect();
  for (BlockArgument argument : function.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      if (failed(addValue(argument, getSharding(argument))))
        return failure();
  for (Operation &op : function.front()) {
    LogicalResult added = llvm::TypeSwitch<Operation *, LogicalResult>(&op)
                              .Case<ShardingConstraintOp, ReshardOp, CollectiveOpInterface>(
                                  [&](Operation *fixed) { return addFixed(fixed); })
                              .Case([&](func::ReturnOp ret) { return addReturn(ret); })
                              .Case([&](ManualComputationOp manual) {
                                return manual.emitError()
                                       << "cleave.manual_computation cannot be partitioned yet; "
                                       << "write its body with global shapes and shardings";
                              })
                              .Default([&](Operation *other) { return addOp(other); });
    if (failed(added))
      return failure();
  }
  return success();
}
