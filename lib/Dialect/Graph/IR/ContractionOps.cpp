// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products and reductions.

#include "Assembly.h"
#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphContractionOps.cpp.inc"

void GraphDialect::registerContractionOps() {
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Graph/IR/GraphContractionOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// DotGeneralOp
//===----------------------------------------------------------------------===//

namespace {
SmallVector<int64_t> freeDims(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contract, d))
      dims.push_back(d);
  return dims;
}

/// Batch dimensions that do not exist count as size 1; the verifier reports them.
SmallVector<int64_t> dotShape(RankedTensorType lhs, RankedTensorType rhs,
                              ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                              ArrayRef<int64_t> lhsContract, ArrayRef<int64_t> rhsContract) {
  SmallVector<int64_t> shape;
  for (int64_t d : lhsBatch)
    shape.push_back(d >= 0 && d < lhs.getRank() ? lhs.getDimSize(d) : 1);
  for (int64_t d : freeDims(lhs.getRank(), lhsBatch, lhsContract))
    shape.push_back(lhs.getDimSize(d));
  for (int64_t d : freeDims(rhs.getRank(), rhsBatch, rhsContract))
    shape.push_back(rhs.getDimSize(d));
  return shape;
}

bool isAtLeastAsWide(Type to, Type from) {
  auto toFloat = dyn_cast<FloatType>(to), fromFloat = dyn_cast<FloatType>(from);
  if (toFloat && fromFloat)
    return APFloat::isRepresentableBy(fromFloat.getFloatSemantics(), toFloat.getFloatSemantics());
  return !toFloat && !fromFloat && to.getIntOrFloatBitWidth() >= from.getIntOrFloatBitWidth();
}
} // namespace

void DotGeneralOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs,
                         ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                         ArrayRef<int64_t> lhsContract, ArrayRef<int64_t> rhsContract,
                         Type elementType) {
  if (!elementType)
    elementType = tensorType(lhs).getElementType();
  SmallVector<int64_t> shape =
      dotShape(tensorType(lhs), tensorType(rhs), lhsBatch, rhsBatch, lhsContract, rhsContract);
  build(builder, state, RankedTensorType::get(shape, elementType), lhs, rhs, lhsBatch, rhsBatch,
        lhsContract, rhsContract);
}

SmallVector<int64_t> DotGeneralOp::getLhsFree() {
  return freeDims(getLhs().getType().getRank(), getLhsBatch(), getLhsContract());
}

SmallVector<int64_t> DotGeneralOp::getRhsFree() {
  return freeDims(getRhs().getType().getRank(), getRhsBatch(), getRhsContract());
}

LogicalResult DotGeneralOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  SmallVector<int64_t> lhsUsed(getLhsBatch()), rhsUsed(getRhsBatch());
  llvm::append_range(lhsUsed, getLhsContract());
  llvm::append_range(rhsUsed, getRhsContract());
  if (failed(verifyDims(*this, "the left operand's batch and contracting dimensions", lhsUsed,
                        lhs.getRank())) ||
      failed(verifyDims(*this, "the right operand's batch and contracting dimensions", rhsUsed,
                        rhs.getRank())))
    return failure();
  auto verifyPairs = [&](StringRef kind, ArrayRef<int64_t> left,
                         ArrayRef<int64_t> right) -> LogicalResult {
    if (left.size() != right.size())
      return emitOpError() << "expected as many " << kind << " dimensions on both sides, found "
                           << listText(left) << " and " << listText(right);
    for (auto [l, r] : llvm::zip(left, right))
      if (lhs.getDimSize(l) != rhs.getDimSize(r))
        return emitOpError() << "expected " << kind << " dimensions of equal size, found "
                             << lhs.getDimSize(l) << " in dimension " << l << " of "
                             << typeText(lhs) << " and " << rhs.getDimSize(r) << " in dimension "
                             << r << " of " << typeText(rhs);
    return success();
  };
  if (failed(verifyPairs("batch", getLhsBatch(), getRhsBatch())) ||
      failed(verifyPairs("contracting", getLhsContract(), getRhsContract())))
    return failure();
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError() << "expected operands of one element type, found " << lhs.getElementType()
                         << " and " << rhs.getElementType() << "; use graph.convert";
  Type elementType = getResult().getType().getElementType();
  if (!isAtLeastAsWide(elementType, lhs.getElementType()))
    return emitOpError() << "expected a result element type that holds the operands', "
                         << lhs.getElementType() << ", found " << elementType
                         << "; use graph.convert on the result";
  return verifyResult(
      *this, 0,
      dotShape(lhs, rhs, getLhsBatch(), getRhsBatch(), getLhsContract(), getRhsContract()),
      elementType);
}

FactorRule DotGeneralOp::getShardingRule() {
  RuleBuilder builder(*this);
  builder.rule.separatelyLinear = 0b11;
  unsigned d = 0;
  for (auto [l, r] : llvm::zip(getLhsBatch(), getRhsBatch())) {
    uint16_t factor = builder.pass(0, l, 0, d++);
    builder.operandDim(1, r, factor);
  }
  for (int64_t l : getLhsFree())
    builder.pass(0, l, 0, d++);
  for (int64_t r : getRhsFree())
    builder.pass(1, r, 0, d++);
  for (auto [l, r] : llvm::zip(getLhsContract(), getRhsContract())) {
    uint16_t factor = builder.factor(builder.operandSize(0, l), FactorKind::Reduction);
    builder.operandDim(0, l, factor);
    builder.operandDim(1, r, factor);
  }
  return builder.rule;
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

namespace {
SmallVector<int64_t> reducedShape(RankedTensorType type, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (!llvm::is_contained(dims, d))
      shape.push_back(type.getDimSize(d));
  return shape;
}
} // namespace

void ReduceOp::build(OpBuilder &builder, OperationState &state, ReduceKind kind, Value operand,
                     ArrayRef<int64_t> dims) {
  RankedTensorType type = tensorType(operand);
  build(builder, state, RankedTensorType::get(reducedShape(type, dims), type.getElementType()),
        kind, operand, dims);
}

LogicalResult ReduceOp::verify() {
  RankedTensorType type = getOperand().getType();
  if (failed(verifyDims(*this, "dims", getDims(), type.getRank())))
    return failure();
  return verifyResult(*this, 0, reducedShape(type, getDims()), type.getElementType());
}

FactorRule ReduceOp::getShardingRule() {
  RuleBuilder builder(*this);
  if (getKind() == ReduceKind::Sum)
    builder.rule.jointlyLinear = 1;
  unsigned resultDimension = 0;
  for (unsigned d = 0; d < builder.rule.operands[0].size(); ++d) {
    if (!llvm::is_contained(getDims(), int64_t(d))) {
      builder.pass(0, d, 0, resultDimension++);
      continue;
    }
    // A product of partial products is no kind of partial value.
    FactorKind kind =
        getKind() == ReduceKind::Prod ? FactorKind::NeedReplication : FactorKind::Reduction;
    uint16_t index = builder.factor(builder.operandSize(0, d), kind);
    builder.operandDim(0, d, index);
    builder.rule.factors[index].reduction = getKind() == ReduceKind::Max   ? Reduction::Max
                                            : getKind() == ReduceKind::Min ? Reduction::Min
                                                                           : Reduction::Sum;
  }
  return builder.rule;
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  if (getDims().empty() && getOperand().getType() == getResult().getType())
    return getOperand();
  return {};
}
