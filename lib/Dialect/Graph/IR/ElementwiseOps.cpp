// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops.

#include "Assembly.h"
#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphElementwiseOps.cpp.inc"

void GraphDialect::registerElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Graph/IR/GraphElementwiseOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// ConvertOp
//===----------------------------------------------------------------------===//

void ConvertOp::build(OpBuilder &builder, OperationState &state, Value operand, Type elementType) {
  build(builder, state, tensorType(operand).clone(elementType), operand);
}

LogicalResult ConvertOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getResult().getType();
  if (from.getShape() != to.getShape())
    return emitOpError() << "expected the operand to have the result's shape, " << typeText(to)
                         << ", found " << typeText(from) << "; convert changes element types only";
  return success();
}

FactorRule ConvertOp::getShardingRule() {
  // Rounding is not linear, widening is.
  auto from = dyn_cast<FloatType>(getOperand().getType().getElementType());
  auto to = dyn_cast<FloatType>(getResult().getType().getElementType());
  bool isWidening =
      from && to && APFloat::isRepresentableBy(from.getFloatSemantics(), to.getFloatSemantics());
  return elementwiseRule(getOperation(), isWidening ? 1 : 0, 0);
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getResult().getType())
    return getOperand();
  return {};
}

//===----------------------------------------------------------------------===//
// CompareOp
//===----------------------------------------------------------------------===//

void CompareOp::build(OpBuilder &builder, OperationState &state, CompareDirection direction,
                      Value lhs, Value rhs) {
  build(builder, state, tensorType(lhs).clone(builder.getI1Type()), direction, lhs, rhs);
}

LogicalResult CompareOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  if (lhs.getShape() != rhs.getShape() || lhs.getElementType() != rhs.getElementType())
    return emitOpError() << "expected operands of one type, found " << typeText(lhs) << " and "
                         << typeText(rhs) << "; broadcast or convert one of them";
  return verifyResult(*this, 0, lhs.getShape(), IntegerType::get(getContext(), 1));
}

FactorRule CompareOp::getShardingRule() { return elementwiseRule(getOperation(), 0, 0); }

//===----------------------------------------------------------------------===//
// SelectOp
//===----------------------------------------------------------------------===//

LogicalResult SelectOp::verify() {
  RankedTensorType result = getResult().getType();
  if (failed(verifyOperand(*this, "a predicate", getPredicate(), result.getShape(),
                           IntegerType::get(getContext(), 1))))
    return failure();
  for (Value value : {Value(getOnTrue()), Value(getOnFalse())})
    if (failed(verifyOperand(*this, "a branch", value, result.getShape(), result.getElementType())))
      return failure();
  return success();
}

FactorRule SelectOp::getShardingRule() { return elementwiseRule(getOperation(), 0b110, 0); }

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse() && getOnTrue().getType() == getResult().getType())
    return getOnTrue();
  auto predicate = dyn_cast_or_null<DenseElementsAttr>(adaptor.getPredicate());
  if (!predicate || !predicate.isSplat())
    return {};
  Value taken = predicate.getSplatValue<bool>() ? getOnTrue() : getOnFalse();
  return taken.getType() == getResult().getType() ? OpFoldResult(taken) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> ReluOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  return SmallVector<Value>{b.maximum(getOperand(), b.splatLike(getOperand(), 0.0))};
}

FailureOr<SmallVector<Value>> SiluOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  Type elementType = getOperand().getType().getElementType();
  Value x = b.convert(getOperand(), computeType(elementType));
  return SmallVector<Value>{b.convert(b.multiply(x, b.make<LogisticOp>(x)), elementType)};
}

FailureOr<SmallVector<Value>> GeluOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  Type elementType = getOperand().getType().getElementType();
  Value x = b.convert(getOperand(), computeType(elementType));
  Value shape; // The factor 1 + erf or 1 + tanh.
  if (getApproximate() == GeluApproximation::None) {
    shape = b.make<ErfOp>(b.multiply(x, std::sqrt(0.5)));
  } else {
    Value cube = b.multiply(b.multiply(x, x), x);
    Value inner = b.add(x, b.multiply(cube, 0.044715));
    shape = b.tanh(b.multiply(inner, std::sqrt(2.0 / std::numbers::pi)));
  }
  Value result = b.multiply(b.multiply(x, 0.5), b.add(shape, 1.0));
  return SmallVector<Value>{b.convert(result, elementType)};
}
