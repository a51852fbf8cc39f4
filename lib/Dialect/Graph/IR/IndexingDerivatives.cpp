// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Derivatives of ops that pick elements by numbers in tensors. By these numbers there are none.

#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

FailureOr<Value> GatherOp::operandGradient(OpBuilder &builder, unsigned,
                                           ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  Value zeros = b.splatLike(getOperand(), 0.0);
  return b.make<ScatterAddOp>(zeros, getIndices(), gradients[0], getAxis());
}

FailureOr<Value> ScatterAddOp::operandGradient(OpBuilder &builder, unsigned operand,
                                               ArrayRef<Value> gradients) {
  if (operand == 0)
    return gradients[0];
  return PrimitiveBuilder(builder, getLoc()).make<GatherOp>(gradients[0], getIndices(), getAxis());
}

FailureOr<Value> TopKOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  // Each gradient goes to the place that its value came from.
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType type = getOperand().getType();
  int64_t last = type.getRank() - 1;
  SmallVector<int64_t> shape(getValues().getType().getShape());
  shape.push_back(type.getDimSize(last));
  Type indexType = getIndices().getType().getElementType();
  Value isPlace = b.compare(CompareDirection::EQ, b.iota(shape, indexType, last + 1),
                            b.broadcastBack(getIndices(), shape, {last + 1}));
  Value gradient = b.broadcastBack(gradients[0], shape, {last + 1});
  return b.reduce(ReduceKind::Sum, b.select(isPlace, gradient, b.splatLike(gradient, 0.0)), {last});
}

FailureOr<Value> DynamicSliceOp::operandGradient(OpBuilder &builder, unsigned,
                                                 ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  return b.make<DynamicUpdateSliceOp>(b.splatLike(getOperand(), 0.0), gradients[0], getStarts());
}

FailureOr<Value> DynamicUpdateSliceOp::operandGradient(OpBuilder &builder, unsigned operand,
                                                       ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  if (operand == 0)
    return b.make<DynamicUpdateSliceOp>(gradients[0], b.splatLike(getUpdate(), 0.0), getStarts());
  return b.make<DynamicSliceOp>(gradients[0], getStarts(), getUpdate().getType().getShape());
}
