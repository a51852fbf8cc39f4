// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Derivatives of ops that only move elements.

#include "GradientType.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

FailureOr<Value> BroadcastOp::operandGradient(OpBuilder &builder, unsigned,
                                              ArrayRef<Value> gradients) {
  // The sum over all that an element was repeated to.
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType from = getOperand().getType(), to = getResult().getType();
  SmallVector<bool> keeps(to.getRank());
  for (auto [d, dim] : llvm::enumerate(getDims()))
    keeps[dim] = from.getDimSize(d) == to.getDimSize(dim);
  SmallVector<int64_t> summed;
  for (auto [d, keep] : llvm::enumerate(keeps))
    if (!keep)
      summed.push_back(d);
  // Of a parameter, as a bias, in the type in which it is stored.
  Value gradient = b.convert(gradients[0], gradientElementType(getOperand()));
  Value sum = summed.empty() ? gradient : b.reduce(ReduceKind::Sum, gradient, summed);
  // Dimensions of size 1 come back.
  return b.shapeOf(sum) == from.getShape() ? sum : b.make<ReshapeOp>(sum, from.getShape());
}

FailureOr<Value> ReshapeOp::operandGradient(OpBuilder &builder, unsigned,
                                            ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  return b.make<ReshapeOp>(gradients[0], getOperand().getType().getShape());
}

FailureOr<Value> TransposeOp::operandGradient(OpBuilder &builder, unsigned,
                                              ArrayRef<Value> gradients) {
  SmallVector<int64_t> inverse(getPerm().size());
  for (auto [d, from] : llvm::enumerate(getPerm()))
    inverse[from] = d;
  return PrimitiveBuilder(builder, getLoc())
      .make<TransposeOp>(gradients[0], ArrayRef<int64_t>(inverse));
}

FailureOr<Value> SliceOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  // Zeros around and between what was taken.
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType from = getOperand().getType(), to = getResult().getType();
  SmallVector<int64_t> low, high, interior;
  for (int64_t d = 0; d < from.getRank(); ++d) {
    int64_t count = to.getDimSize(d), stride = getStrides()[d];
    int64_t start = count > 0 ? getStarts()[d] : 0;
    int64_t end = count > 0 ? start + (count - 1) * stride + 1 : 0;
    low.push_back(start);
    high.push_back(from.getDimSize(d) - end);
    interior.push_back(count > 1 ? stride - 1 : 0);
  }
  Value zero = b.splat({}, b.typeOf(gradients[0]).getElementType(), 0.0);
  return b.make<PadOp>(gradients[0], zero, ArrayRef<int64_t>(low), ArrayRef<int64_t>(high),
                       ArrayRef<int64_t>(interior));
}

FailureOr<Value> PadOp::operandGradient(OpBuilder &builder, unsigned operand,
                                        ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType from = getOperand().getType();
  if (operand == 1) {
    // The sum over all that is padding.
    Type i1 = builder.getI1Type();
    Value isOperand = b.make<PadOp>(b.splat(from.getShape(), i1, 1.0), b.splat({}, i1, 0.0),
                                    getLow(), getHigh(), getInterior());
    Value padding = b.select(isOperand, b.splatLike(gradients[0], 0.0), gradients[0]);
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, from.getRank()));
    return b.reduce(ReduceKind::Sum, padding, dims);
  }
  // Elements that negative padding removed come back as zeros; then the operand's are taken.
  SmallVector<int64_t> low, high, starts, limits, strides;
  bool removes = false;
  for (int64_t d = 0; d < from.getRank(); ++d) {
    int64_t count = from.getDimSize(d), stride = getInterior()[d] + 1;
    low.push_back(std::max<int64_t>(0, -getLow()[d]));
    high.push_back(std::max<int64_t>(0, -getHigh()[d]));
    removes |= low.back() > 0 || high.back() > 0;
    starts.push_back(std::max<int64_t>(0, getLow()[d]));
    limits.push_back(count > 0 ? starts.back() + (count - 1) * stride + 1 : starts.back());
    strides.push_back(stride);
  }
  Value gradient = gradients[0];
  if (removes)
    gradient = b.make<PadOp>(gradient, b.splat({}, b.typeOf(gradient).getElementType(), 0.0),
                             ArrayRef<int64_t>(low), ArrayRef<int64_t>(high));
  return b.make<SliceOp>(gradient, ArrayRef<int64_t>(starts), ArrayRef<int64_t>(limits),
                         ArrayRef<int64_t>(strides));
}

FailureOr<Value> ConcatenateOp::operandGradient(OpBuilder &builder, unsigned operand,
                                                ArrayRef<Value> gradients) {
  int64_t dim = getDim(), start = 0;
  auto sizeOf = [&](unsigned input) {
    return PrimitiveBuilder::typeOf(getInputs()[input]).getDimSize(dim);
  };
  for (unsigned i = 0; i < operand; ++i)
    start += sizeOf(i);
  return PrimitiveBuilder(builder, getLoc())
      .make<SliceOp>(gradients[0], dim, start, start + sizeOf(operand));
}
