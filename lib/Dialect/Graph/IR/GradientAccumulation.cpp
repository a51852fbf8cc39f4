// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reverse accumulation of gradients.

#include "cleave/Dialect/Graph/IR/GradientAccumulation.h"

#include "PaddedParts.h"
#include "cleave/Dialect/Cleave/IR/SourceName.h"
#include "cleave/Dialect/Cleave/IR/StateOfValue.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
FloatType floatTypeOf(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? dyn_cast<FloatType>(tensor.getElementType()) : FloatType();
}

/// The ops that a builder inserts, in order.
struct InsertionRecorder : OpBuilder::Listener {
  explicit InsertionRecorder(OpBuilder &builder)
      : builder(builder), previous(builder.getListener()) {
    builder.setListener(this);
  }
  ~InsertionRecorder() override { builder.setListener(previous); }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint point) override {
    ops.push_back(op);
    if (previous)
      previous->notifyOperationInserted(op, point);
  }
  OpBuilder &builder;
  OpBuilder::Listener *previous;
  SmallVector<Operation *> ops;
};

/// Adds the gradients by `sources`, which are operands of the op, to `into`.
LogicalResult accumulateThroughDecomposition(DecomposableOpInterface op, OpBuilder &builder,
                                             ArrayRef<Value> sources,
                                             ArrayRef<Value> resultGradients,
                                             function_ref<void(Value, Value)> into) {
  SmallVector<Operation *> ops;
  FailureOr<SmallVector<Value>> results = failure();
  {
    InsertionRecorder recorder(builder);
    results = op.decompose(builder);
    ops = std::move(recorder.ops);
  }
  if (failed(results))
    return failure();
  GradientAccumulation inner(builder, ops, sources);
  for (auto [result, gradient] : llvm::zip(*results, resultGradients))
    if (gradient)
      inner.add(result, gradient);
  if (failed(inner.run()))
    return failure();
  for (Value source : sources)
    if (Value gradient = inner.gradientOf(source))
      into(source, gradient);
  return success();
}
} // namespace

GradientAccumulation::GradientAccumulation(OpBuilder &builder, ArrayRef<Operation *> ops,
                                           ArrayRef<Value> sources)
    : builder(builder), ops(ops.begin(), ops.end()), sources(sources.begin(), sources.end()),
      dependent(sources.begin(), sources.end()) {
  for (Operation *op : ops) {
    if (llvm::none_of(op->getOperands(), [&](Value v) { return dependent.contains(v); }))
      continue;
    for (Value result : op->getResults())
      if (floatTypeOf(result))
        dependent.insert(result);
  }
}

void GradientAccumulation::saveForGradient(Value &loss) {
  OpBuilder::InsertionGuard guard(builder);
  for (Operation *&op : ops) {
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable || llvm::none_of(op->getOperands(), [&](Value operand) {
          return dependent.contains(operand);
        }))
      continue;
    builder.setInsertionPoint(op);
    for (Value result : op->getResults())
      dependent.erase(result);
    std::optional<unsigned> lossResult;
    if (loss.getDefiningOp() == op)
      lossResult = cast<OpResult>(loss).getResultNumber();
    op = differentiable.saveForGradient(builder);
    if (lossResult)
      loss = op->getResult(*lossResult);
    for (Value result : op->getResults())
      if (floatTypeOf(result))
        dependent.insert(result);
  }
}

void GradientAccumulation::add(Value value, Value gradient) {
  Value &sum = gradients[value];
  if (!sum) {
    sum = gradient;
    return;
  }
  PrimitiveBuilder b(builder, gradient.getLoc());
  // Both in the wider of the two types.
  FloatType mine = floatTypeOf(sum), other = floatTypeOf(gradient);
  if (mine != other) {
    Type wider = mine.getWidth() > other.getWidth()   ? mine
                 : mine.getWidth() < other.getWidth() ? other
                                                      : computeType(mine);
    sum = b.convert(sum, wider);
    gradient = b.convert(gradient, wider);
  }
  sum = b.add(sum, gradient);
}

LogicalResult GradientAccumulation::run(const Hooks &hooks) {
  // A source's gradient is complete when its first user has been differentiated.
  DenseMap<Operation *, SmallVector<Value, 1>> completedBy;
  DenseSet<Value> unused(sources.begin(), sources.end());
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (unused.erase(operand))
        completedBy[op].push_back(operand);
  auto complete = [&](Value value) {
    Value gradient = gradientOf(value);
    if (gradient)
      gradients[value] = gradient = concatenatePaddedParts(builder, gradient);
    if (gradient && dependent.contains(value) && hooks.complete)
      hooks.complete(value, gradient);
    return gradient;
  };
  for (Operation *op : llvm::reverse(ops)) {
    SmallVector<Value> resultGradients;
    for (Value result : op->getResults())
      resultGradients.push_back(complete(result));
    bool needsRun = llvm::any_of(op->getResults(),
                                 [&](Value v) { return gradientOf(v) && dependsOnSource(v); });
    if (needsRun) {
      if (hooks.enter)
        hooks.enter(op);
      if (failed(runOp(op, resultGradients)))
        return failure();
    }
    if (auto sourcesOfOp = completedBy.find(op); sourcesOfOp != completedBy.end())
      for (Value source : sourcesOfOp->second)
        complete(source);
  }
  return success();
}

LogicalResult GradientAccumulation::runOp(Operation *op, ArrayRef<Value> resultGradients) {
  SmallVector<Value> gradients(resultGradients);
  // Only a conversion looks at how wide a gradient is, and what moves a parameter's elements does
  // not mind.
  bool keepsWide = isa<ReshapeOp, SliceOp, TransposeOp>(op) && stateArgumentOf(op->getResult(0));
  if (!isa<ConvertOp>(op) && !keepsWide) {
    PrimitiveBuilder b(builder, op->getLoc());
    for (auto [gradient, result] : llvm::zip(gradients, op->getResults()))
      if (gradient)
        gradient = b.convert(gradient, floatTypeOf(result));
  }
  if (auto differentiable = dyn_cast<DifferentiableOpInterface>(op)) {
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!dependent.contains(operand))
        continue;
      FailureOr<Value> gradient = differentiable.operandGradient(builder, i, gradients);
      if (failed(gradient))
        return failure();
      if (*gradient)
        add(operand, *gradient);
    }
    return success();
  }
  auto decomposable = dyn_cast<DecomposableOpInterface>(op);
  if (!decomposable)
    return op->emitError() << describeOp(op)
                           << " has no derivative; let the loss depend on parameters through graph "
                              "ops and sharding constraints only";
  llvm::SetVector<Value> inner;
  for (Value operand : op->getOperands())
    if (dependent.contains(operand))
      inner.insert(operand);
  return accumulateThroughDecomposition(
      decomposable, builder, inner.getArrayRef(), gradients,
      [&](Value operand, Value gradient) { add(operand, gradient); });
}

FailureOr<Value> graph::gradientThroughDecomposition(DecomposableOpInterface op, OpBuilder &builder,
                                                     unsigned operand,
                                                     ArrayRef<Value> resultGradients) {
  Value found, source = op->getOperand(operand);
  // Gradients by the value in its other places are asked for apart.
  if (llvm::count(op->getOperands(), source) > 1)
    return op->emitError() << describeOp(op) << " has one value as two operands, and no derivative "
                           << "of its own by operand " << operand
                           << "; decompose it before differentiation";
  if (failed(accumulateThroughDecomposition(op, builder, {source}, resultGradients,
                                            [&](Value, Value gradient) { found = gradient; })))
    return failure();
  return found;
}
