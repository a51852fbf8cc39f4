// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// rms_norm and layer_norm.

#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
LogicalResult verifyNorm(Operation *op, const APFloat &eps) {
  RankedTensorType type = tensorType(op->getOperand(0));
  if (type.getRank() < 1)
    return op->emitOpError() << "expected an operand of rank 1 or more, found " << typeText(type);
  if (!eps.isFinite() || eps.isNegative())
    return op->emitOpError() << "expected a finite eps of at least 0, found "
                             << eps.convertToDouble();
  int64_t features = type.getShape().back();
  for (Value parameter : op->getOperands().drop_front())
    if (failed(verifyOperand(op, "a weight or bias", parameter, {features}, type.getElementType())))
      return failure();
  return verifyResult(op, 0, type.getShape(), type.getElementType());
}

/// All dimensions but the last pass through. With the last one sharded the sums over it need a
/// reduction inside, which the decomposition has.
FactorRule normRule(Operation *op) {
  RuleBuilder builder(op);
  unsigned last = builder.rule.operands[0].size() - 1;
  for (unsigned d = 0; d < last; ++d)
    builder.pass(0, d, 0, d);
  uint16_t features = builder.replicated(builder.resultSize(0, last));
  builder.rule.factors[features].viaDecomposition = true;
  builder.operandDim(0, last, features);
  builder.resultDim(0, last, features);
  for (unsigned i = 1; i < op->getNumOperands(); ++i)
    builder.operandDim(i, 0, features);
  return builder.rule;
}

/// Means over the last dimension, repeated along it.
Value meanOfLast(PrimitiveBuilder &b, Value x) {
  SmallVector<int64_t> shape(b.shapeOf(x));
  int64_t last = shape.size() - 1;
  Value sum = b.reduce(ReduceKind::Sum, x, {last});
  Value mean = b.multiply(sum, 1.0 / static_cast<double>(shape[last]));
  return b.broadcastBack(mean, shape, {last});
}

Value alongLast(PrimitiveBuilder &b, Value parameter, Value like) {
  ArrayRef<int64_t> shape = b.shapeOf(like);
  Value x = b.convert(parameter, b.typeOf(like).getElementType());
  return b.broadcast(x, shape, {static_cast<int64_t>(shape.size()) - 1});
}
} // namespace

LogicalResult RmsNormOp::verify() { return verifyNorm(*this, getEps()); }
FactorRule RmsNormOp::getShardingRule() { return normRule(*this); }

FailureOr<SmallVector<Value>> RmsNormOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  Type elementType = getOperand().getType().getElementType();
  Value x = b.convert(getOperand(), computeType(elementType));
  Value meanSquare = meanOfLast(b, b.multiply(x, x));
  Value result = b.multiply(x, b.rsqrt(b.add(meanSquare, getEps().convertToDouble())));
  if (getWeight())
    result = b.multiply(result, alongLast(b, getWeight(), result));
  return SmallVector<Value>{b.convert(result, elementType)};
}

LogicalResult LayerNormOp::verify() { return verifyNorm(*this, getEps()); }
FactorRule LayerNormOp::getShardingRule() { return normRule(*this); }

FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  Type elementType = getOperand().getType().getElementType();
  Value x = b.convert(getOperand(), computeType(elementType));
  Value centered = b.subtract(x, meanOfLast(b, x));
  Value variance = meanOfLast(b, b.multiply(centered, centered));
  Value result = b.multiply(centered, b.rsqrt(b.add(variance, getEps().convertToDouble())));
  if (getWeight())
    result = b.multiply(result, alongLast(b, getWeight(), result));
  if (getBias())
    result = b.add(result, alongLast(b, getBias(), result));
  return SmallVector<Value>{b.convert(result, elementType)};
}
