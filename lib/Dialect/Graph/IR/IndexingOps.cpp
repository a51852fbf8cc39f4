// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ops that pick elements by numbers in tensors.

#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphIndexingOps.cpp.inc"

void GraphDialect::registerIndexingOps() {
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Graph/IR/GraphIndexingOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// GatherOp
//===----------------------------------------------------------------------===//

namespace {
/// The operand's shape with the dimension `axis` replaced by those of `indices`.
SmallVector<int64_t> gatheredShape(RankedTensorType operand, RankedTensorType indices,
                                   int64_t axis) {
  SmallVector<int64_t> shape(operand.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, operand.getShape().drop_front(axis + 1));
  return shape;
}
} // namespace

void GatherOp::build(OpBuilder &builder, OperationState &state, Value operand, Value indices,
                     int64_t axis) {
  RankedTensorType type = tensorType(operand);
  SmallVector<int64_t> shape;
  if (axis >= 0 && axis < type.getRank())
    shape = gatheredShape(type, tensorType(indices), axis);
  build(builder, state, RankedTensorType::get(shape, type.getElementType()), operand, indices,
        axis);
}

LogicalResult GatherOp::verify() {
  RankedTensorType type = getOperand().getType();
  int64_t axis = getAxis();
  if (failed(verifyDims(*this, "axis", {axis}, type.getRank())))
    return failure();
  return verifyResult(*this, 0, gatheredShape(type, getIndices().getType(), axis),
                      type.getElementType());
}

FactorRule GatherOp::getShardingRule() {
  RuleBuilder builder(*this);
  unsigned axis = getAxis(), rank = builder.rule.operands[0].size();
  unsigned indexRank = builder.rule.operands[1].size();
  for (unsigned d = 0; d < rank; ++d)
    if (d != axis)
      builder.pass(0, d, 0, d < axis ? d : d + indexRank - 1);
  for (unsigned d = 0; d < indexRank; ++d)
    builder.pass(1, d, 0, axis + d);
  builder.operandDim(0, axis, builder.replicated(builder.operandSize(0, axis)));
  builder.rule.separatelyLinear = 0b1;
  return builder.rule;
}

//===----------------------------------------------------------------------===//
// ScatterAddOp
//===----------------------------------------------------------------------===//

LogicalResult ScatterAddOp::verify() {
  RankedTensorType type = getOperand().getType();
  int64_t axis = getAxis();
  if (failed(verifyDims(*this, "axis", {axis}, type.getRank())) ||
      failed(verifyOperand(*this, "updates", getUpdates(),
                           gatheredShape(type, getIndices().getType(), axis),
                           type.getElementType())))
    return failure();
  return verifyResult(*this, 0, type.getShape(), type.getElementType());
}

FactorRule ScatterAddOp::getShardingRule() {
  RuleBuilder builder(*this);
  unsigned axis = getAxis(), rank = builder.rule.operands[0].size();
  unsigned indexRank = builder.rule.operands[1].size();
  for (unsigned d = 0; d < rank; ++d)
    if (d != axis)
      builder.operandDim(2, d < axis ? d : d + indexRank - 1, builder.pass(0, d, 0, d));
  // Updates spread over devices give partial sums, each with the operand in it once too often
  // unless the operand is zero.
  bool isZero = isZeroConstant(getOperand());
  for (unsigned d = 0; d < indexRank; ++d) {
    uint16_t factor = builder.factor(builder.operandSize(1, d),
                                     isZero ? FactorKind::Reduction : FactorKind::NeedReplication);
    builder.operandDim(1, d, factor);
    builder.operandDim(2, axis + d, factor);
  }
  uint16_t rows = builder.replicated(builder.operandSize(0, axis));
  builder.operandDim(0, axis, rows);
  builder.resultDim(0, axis, rows);
  builder.rule.jointlyLinear = 0b101;
  return builder.rule;
}

//===----------------------------------------------------------------------===//
// TopKOp
//===----------------------------------------------------------------------===//

void TopKOp::build(OpBuilder &builder, OperationState &state, Value operand, int64_t k,
                   Type indexType) {
  RankedTensorType type = tensorType(operand);
  SmallVector<int64_t> shape(type.getShape());
  if (!shape.empty())
    shape.back() = k;
  build(builder, state, RankedTensorType::get(shape, type.getElementType()),
        RankedTensorType::get(shape, indexType ? indexType : builder.getI64Type()), operand);
}

LogicalResult TopKOp::verify() {
  RankedTensorType type = getOperand().getType(), values = getValues().getType();
  if (type.getRank() < 1 || values.getRank() != type.getRank())
    return emitOpError() << "expected an operand of rank 1 or more and values of its rank, found "
                         << typeText(type) << " and " << typeText(values);
  int64_t k = values.getShape().back();
  if (k > type.getShape().back())
    return emitOpError() << "expected at most " << type.getShape().back()
                         << " values, the size of the operand's last dimension, found " << k;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = k;
  if (failed(verifyResult(*this, 0, shape, type.getElementType())))
    return failure();
  return verifyResult(*this, 1, shape, getIndices().getType().getElementType());
}

FactorRule TopKOp::getShardingRule() {
  RuleBuilder builder(*this);
  unsigned last = builder.rule.operands[0].size() - 1;
  for (unsigned d = 0; d < last; ++d)
    builder.resultDim(1, d, builder.pass(0, d, 0, d));
  builder.operandDim(0, last, builder.replicated(builder.operandSize(0, last)));
  uint16_t k = builder.replicated(builder.resultSize(0, last));
  builder.resultDim(0, last, k);
  builder.resultDim(1, last, k);
  return builder.rule;
}

//===----------------------------------------------------------------------===//
// DynamicSliceOp and DynamicUpdateSliceOp
//===----------------------------------------------------------------------===//

namespace {
LogicalResult verifyStarts(Operation *op, ValueRange starts, RankedTensorType whole,
                           RankedTensorType part) {
  if (int64_t(starts.size()) != whole.getRank())
    return op->emitOpError() << "expected one start index for each of the operand's "
                             << whole.getRank() << " dimensions, found " << starts.size();
  for (Value start : starts)
    if (tensorType(start).getRank() != 0)
      return op->emitOpError() << "expected start indices that are scalars, found "
                               << typeText(tensorType(start));
  if (part.getRank() != whole.getRank() || part.getElementType() != whole.getElementType())
    return op->emitOpError() << "expected a part of the rank and element type of "
                             << typeText(whole) << ", found " << typeText(part);
  for (auto [d, size] : llvm::enumerate(part.getShape()))
    if (size > whole.getDimSize(d))
      return op->emitOpError() << "expected a part of at most " << whole.getDimSize(d)
                               << " elements in dimension " << d << ", found " << size;
  return success();
}
} // namespace

void DynamicSliceOp::build(OpBuilder &builder, OperationState &state, Value operand,
                           ValueRange starts, ArrayRef<int64_t> sizes) {
  build(builder, state, RankedTensorType::get(sizes, tensorType(operand).getElementType()), operand,
        starts);
}

LogicalResult DynamicSliceOp::verify() {
  return verifyStarts(*this, getStarts(), getOperand().getType(), getResult().getType());
}

// In a dimension that is taken whole the start is 0 by clamping, also on a device's part.
FactorRule DynamicSliceOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (unsigned d = 0; d < builder.rule.results[0].size(); ++d) {
    int64_t size = builder.operandSize(0, d), taken = builder.resultSize(0, d);
    if (size == taken) {
      builder.pass(0, d, 0, d);
      continue;
    }
    builder.operandDim(0, d, builder.replicated(size));
    builder.resultDim(0, d, builder.replicated(taken));
  }
  builder.rule.separatelyLinear = 0b1;
  return builder.rule;
}

LogicalResult DynamicUpdateSliceOp::verify() {
  RankedTensorType type = getOperand().getType();
  if (failed(verifyStarts(*this, getStarts(), type, getUpdate().getType())))
    return failure();
  return verifyResult(*this, 0, type.getShape(), type.getElementType());
}

FactorRule DynamicUpdateSliceOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (unsigned d = 0; d < builder.rule.results[0].size(); ++d) {
    int64_t size = builder.operandSize(0, d), updated = builder.operandSize(1, d);
    if (size == updated) {
      builder.operandDim(1, d, builder.pass(0, d, 0, d));
      continue;
    }
    uint16_t factor = builder.replicated(size);
    builder.operandDim(0, d, factor);
    builder.resultDim(0, d, factor);
    builder.operandDim(1, d, builder.replicated(updated));
  }
  builder.rule.jointlyLinear = 0b11;
  return builder.rule;
}
