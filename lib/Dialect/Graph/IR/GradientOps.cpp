// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Registration of the ops that are gradients, and embedding_grad.

#include "GradientType.h"
#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphGradientOps.cpp.inc"

void GraphDialect::registerGradientOps() {
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Graph/IR/GraphGradientOps.cpp.inc"
      >();
}

FailureOr<Value> EmbeddingOp::operandGradient(OpBuilder &builder, unsigned,
                                              ArrayRef<Value> gradients) {
  Type type = getTable().getType().clone(gradientElementType(getTable()));
  return EmbeddingGradOp::create(builder, getLoc(), type, getIds(), gradients[0], getOffset())
      .getResult();
}

LogicalResult EmbeddingGradOp::verify() {
  RankedTensorType ids = getIds().getType(), gradient = getGradient().getType();
  RankedTensorType result = getResult().getType();
  if (gradient.getRank() < 1 || gradient.getShape().drop_back() != ids.getShape())
    return emitOpError() << "expected ids to have the shape of the gradient without the last "
                            "dimension, found "
                         << typeText(ids) << " and " << typeText(gradient);
  if (result.getRank() != 2)
    return emitOpError() << "expected a result of rank 2, [vocabulary, embedding], found "
                         << typeText(result);
  Type narrow = gradient.getElementType(), wide = computeType(narrow);
  Type elementType = result.getElementType();
  if (elementType != narrow && elementType != wide)
    return emitOpError() << "expected a result of the gradient's element type, " << narrow
                         << ", or of " << wide << ", in which the sums are held, found "
                         << elementType;
  return verifyResult(*this, 0, {result.getDimSize(0), gradient.getShape().back()}, elementType);
}

FactorRule EmbeddingGradOp::getShardingRule() {
  RuleBuilder builder(*this);
  unsigned idsRank = builder.rule.operands[0].size();
  for (unsigned d = 0; d < idsRank; ++d) {
    uint16_t row = builder.factor(builder.operandSize(0, d), FactorKind::Reduction);
    builder.operandDim(0, d, row);
    builder.operandDim(1, d, row);
  }
  builder.resultDim(0, 0, builder.factor(builder.resultSize(0, 0)));
  builder.pass(1, idsRank, 0, 1);
  builder.rule.separatelyLinear = 0b10;
  return builder.rule;
}

FailureOr<SmallVector<Value>> EmbeddingGradOp::partition(OpBuilder &builder,
                                                         ValueRange localOperands,
                                                         const PartitionInfo &info) {
  const AxisList &axes = info.resultLayouts[0].dims[0];
  Value offset = localOperands.size() > 2 ? localOperands[2] : Value();
  if (!axes.empty()) {
    int64_t rows = info.localResultTypes[0].getDimSize(0);
    Value shard = info.shardOffset(builder, getLoc(), axes, rows);
    offset = offset ? arith::AddIOp::create(builder, getLoc(), offset, shard).getResult() : shard;
  }
  FailureOr<SmallVector<Value>> results = cloneWithLocalTypes(*this, builder, localOperands, info);
  if (succeeded(results) && offset)
    results->front().getDefiningOp<EmbeddingGradOp>().getOffsetMutable().assign(offset);
  return results;
}

FailureOr<SmallVector<Value>> EmbeddingGradOp::decompose(OpBuilder &builder) {
  // Each row adds its gradients up, in a type that holds the sums.
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType result = getResult().getType();
  Type wide = computeType(result.getElementType());
  Value rows = getIds();
  if (getOffset()) {
    Type number = getIds().getType().getElementType();
    auto scalar = RankedTensorType::get({}, number);
    Value first = b.make<ReshapeOp>(scalar, b.iota({1}, number, 0, getOffset()));
    rows = b.subtract(rows, b.broadcast(first, b.shapeOf(rows), {}));
  }
  Value zeros = b.splat(result.getShape(), wide, 0);
  Value sums = b.make<ScatterAddOp>(zeros, rows, b.convert(getGradient(), wide), 0);
  return SmallVector<Value>{b.convert(sums, result.getElementType())};
}

FailureOr<Value> EmbeddingGradOp::operandGradient(OpBuilder &builder, unsigned,
                                                  ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType type = getGradient().getType();
  Value table = b.convert(gradients[0], type.getElementType());
  return EmbeddingOp::create(builder, getLoc(), type, getIds(), table, getOffset()).getResult();
}
