// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// adamw, sgd and global_norm.

#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphOptimizerOps.cpp.inc"

void GraphDialect::registerOptimizerOps() {
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Graph/IR/GraphOptimizerOps.cpp.inc"
      >();
}

namespace {
/// The numbers are scalars of one type, f32 or f64, in which the op computes. Absent ones are null.
LogicalResult verifyNumbers(Operation *op, ArrayRef<std::pair<StringRef, Value>> numbers) {
  Type compute = tensorType(numbers.front().second).getElementType();
  if (!compute.isF32() && !compute.isF64())
    return op->emitOpError() << "expected " << numbers.front().first
                             << " of element type f32 or f64, found " << compute;
  for (auto [name, value] : numbers)
    if (value && failed(verifyOperand(op, name, value, {}, compute)))
      return failure();
  return success();
}

/// All tensors of a parameter's state have its shape; those kept between steps are in the type that
/// the op computes in.
LogicalResult verifyState(Operation *op, Value parameter, Value gradient,
                          ArrayRef<std::pair<StringRef, Value>> kept, Type compute) {
  ArrayRef<int64_t> shape = tensorType(parameter).getShape();
  if (failed(
          verifyOperand(op, "a gradient", gradient, shape, tensorType(gradient).getElementType())))
    return failure();
  for (auto [name, value] : kept)
    if (failed(verifyOperand(op, name, value, shape, compute)))
      return failure();
  return success();
}

LogicalResult verifyApply(Operation *op, Value apply) {
  return apply ? verifyOperand(op, "apply", apply, {}, IntegerType::get(op->getContext(), 1))
               : success();
}

/// Operands and results that have dimensions share them.
FactorRule optimizerRule(Operation *op) {
  RuleBuilder builder(op);
  for (unsigned d = 0; d < builder.rule.results[0].size(); ++d) {
    uint16_t factor = builder.factor(builder.resultSize(0, d));
    for (auto [i, operand] : llvm::enumerate(builder.rule.operands))
      if (!operand.empty())
        builder.operandDim(i, d, factor);
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      builder.resultDim(i, d, factor);
  }
  return builder.rule;
}

/// The decompositions' way with numbers: scalars that are repeated where a tensor needs them.
struct OptimizerBuilder : PrimitiveBuilder {
  OptimizerBuilder(OpBuilder &builder, Operation *op, Value parameter)
      : PrimitiveBuilder(builder, op->getLoc()), shape(shapeOf(parameter)) {}
  Value everywhere(Value number) { return shape.empty() ? number : broadcast(number, shape, {}); }
  Value scale(Value number, Value x) { return multiply(everywhere(number), x); }
  /// The new values, or where `apply` is false the old ones.
  SmallVector<Value> applied(Value apply, SmallVector<Value> updated, ArrayRef<Value> old) {
    if (apply)
      for (auto [value, before] : llvm::zip_equal(updated, old))
        value = select(everywhere(apply), value, before);
    return updated;
  }
  Value oneMinus(Value number) { return subtract(splatLike(number, 1.0), number); }
  SmallVector<int64_t> shape;
};
} // namespace

//===----------------------------------------------------------------------===//
// AdamWOp
//===----------------------------------------------------------------------===//

LogicalResult AdamWOp::verify() {
  Type compute = getLearningRate().getType().getElementType();
  if (failed(verifyNumbers(*this, {{"a learning rate", getLearningRate()},
                                   {"beta1", getBeta1()},
                                   {"beta2", getBeta2()},
                                   {"epsilon", getEpsilon()},
                                   {"a weight decay", getWeightDecay()}})) ||
      failed(verifyOperand(*this, "a step", getStep(), {}, getStep().getType().getElementType())) ||
      failed(verifyState(
          *this, getParameter(), getGradient(),
          {{"a first moment", getFirstMoment()}, {"a second moment", getSecondMoment()}}, compute)))
    return failure();
  RankedTensorType type = getParameter().getType();
  if (failed(verifyApply(*this, getApply())) ||
      failed(verifyResult(*this, 0, type.getShape(), type.getElementType())) ||
      failed(verifyResult(*this, 1, type.getShape(), compute)))
    return failure();
  return verifyResult(*this, 2, type.getShape(), compute);
}

FactorRule AdamWOp::getShardingRule() { return optimizerRule(*this); }

FailureOr<SmallVector<Value>> AdamWOp::decompose(OpBuilder &builder) {
  OptimizerBuilder b(builder, *this, getParameter());
  Type compute = getLearningRate().getType().getElementType();
  Value p = b.convert(getParameter(), compute), g = b.convert(getGradient(), compute);
  Value first = b.add(b.scale(getBeta1(), getFirstMoment()), b.scale(b.oneMinus(getBeta1()), g));
  Value second = b.add(b.scale(getBeta2(), getSecondMoment()),
                       b.scale(b.oneMinus(getBeta2()), b.multiply(g, g)));
  Value step = b.convert(getStep(), compute);
  Value correction1 = b.oneMinus(b.make<PowerOp>(getBeta1(), step));
  Value correction2 = b.oneMinus(b.make<PowerOp>(getBeta2(), step));
  Value root = b.make<SqrtOp>(b.divide(second, b.everywhere(correction2)));
  Value denominator = b.add(root, b.everywhere(getEpsilon()));
  Value rate = b.divide(getLearningRate(), correction1);
  Value change = b.divide(b.scale(rate, first), denominator);
  if (getWeightDecay()) {
    Value kept = b.oneMinus(b.multiply(getLearningRate(), getWeightDecay()));
    p = b.scale(kept, p);
  }
  p = b.convert(b.subtract(p, change), getParameter().getType().getElementType());
  return b.applied(getApply(), {p, first, second}, getUpdated());
}

//===----------------------------------------------------------------------===//
// SgdOp
//===----------------------------------------------------------------------===//

LogicalResult SgdOp::verify() {
  bool hasVelocity = bool(getVelocity());
  if (hasVelocity != bool(getMomentum()) || hasVelocity != bool(getNewVelocity()))
    return emitOpError() << "expected velocity, momentum and a second result together, found "
                         << (hasVelocity ? "a velocity" : "no velocity") << ", "
                         << (getMomentum() ? "a momentum" : "no momentum") << " and "
                         << getNumResults() << " results";
  Type compute = getLearningRate().getType().getElementType();
  SmallVector<std::pair<StringRef, Value>> kept;
  if (hasVelocity)
    kept.push_back({"a velocity", getVelocity()});
  if (failed(verifyNumbers(*this, {{"a learning rate", getLearningRate()},
                                   {"a momentum", getMomentum()},
                                   {"a weight decay", getWeightDecay()}})) ||
      failed(verifyState(*this, getParameter(), getGradient(), kept, compute)))
    return failure();
  RankedTensorType type = getParameter().getType();
  if (failed(verifyApply(*this, getApply())))
    return failure();
  if (hasVelocity && failed(verifyResult(*this, 1, type.getShape(), compute)))
    return failure();
  return verifyResult(*this, 0, type.getShape(), type.getElementType());
}

FactorRule SgdOp::getShardingRule() { return optimizerRule(*this); }

FailureOr<SmallVector<Value>> SgdOp::decompose(OpBuilder &builder) {
  OptimizerBuilder b(builder, *this, getParameter());
  Type compute = getLearningRate().getType().getElementType();
  Value p = b.convert(getParameter(), compute), direction = b.convert(getGradient(), compute);
  if (getWeightDecay())
    direction = b.add(direction, b.scale(getWeightDecay(), p));
  if (getVelocity())
    direction = b.add(b.scale(getMomentum(), getVelocity()), direction);
  p = b.subtract(p, b.scale(getLearningRate(), direction));
  SmallVector<Value> results{b.convert(p, getParameter().getType().getElementType())};
  if (getVelocity())
    results.push_back(direction);
  return b.applied(getApply(), results, getUpdated());
}

//===----------------------------------------------------------------------===//
// GlobalNormOp
//===----------------------------------------------------------------------===//

void GlobalNormOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs) {
  bool isWide =
      llvm::any_of(inputs, [](Value input) { return tensorType(input).getElementType().isF64(); });
  Type compute = isWide ? Type(builder.getF64Type()) : Type(builder.getF32Type());
  build(builder, state, RankedTensorType::get({}, compute), inputs);
}

LogicalResult GlobalNormOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "expected at least one operand, found none";
  Type compute = getResult().getType().getElementType();
  if (!compute.isF32() && !compute.isF64())
    return emitOpError() << "expected a result of element type f32 or f64, found " << compute;
  return verifyResult(*this, 0, {}, compute);
}

FactorRule GlobalNormOp::getShardingRule() {
  // The root of a sum is no sum of roots: sharded, the decomposition is used.
  RuleBuilder builder(*this);
  for (auto [i, operand] : llvm::enumerate(builder.rule.operands))
    for (unsigned d = 0; d < operand.size(); ++d) {
      uint16_t factor = builder.factor(builder.operandSize(i, d), FactorKind::Reduction);
      builder.rule.factors[factor].viaDecomposition = true;
      builder.operandDim(i, d, factor);
    }
  return builder.rule;
}

Value GlobalNormOp::sumOfSquares(OpBuilder &builder, Location loc, Value x, Type compute) {
  PrimitiveBuilder b(builder, loc);
  x = b.convert(x, compute);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, b.typeOf(x).getRank()));
  Value squares = b.multiply(x, x);
  return dims.empty() ? squares : b.reduce(ReduceKind::Sum, squares, dims);
}

FailureOr<SmallVector<Value>> GlobalNormOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  Type compute = getResult().getType().getElementType();
  Value sum;
  for (Value input : getInputs()) {
    Value squares = sumOfSquares(builder, getLoc(), input, compute);
    sum = sum ? b.add(sum, squares) : squares;
  }
  return SmallVector<Value>{b.make<SqrtOp>(sum)};
}
