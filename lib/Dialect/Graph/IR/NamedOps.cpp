// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Registration of the named ops, and embedding.

#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphNamedOps.cpp.inc"

void GraphDialect::registerNamedOps() {
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Graph/IR/GraphNamedOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// EmbeddingOp
//===----------------------------------------------------------------------===//

namespace {
SmallVector<int64_t> embeddingShape(RankedTensorType ids, RankedTensorType table) {
  SmallVector<int64_t> shape(ids.getShape());
  shape.push_back(table.getRank() == 2 ? table.getDimSize(1) : 1);
  return shape;
}
} // namespace

void EmbeddingOp::build(OpBuilder &builder, OperationState &state, Value ids, Value table) {
  RankedTensorType tableType = tensorType(table);
  build(
      builder, state,
      RankedTensorType::get(embeddingShape(tensorType(ids), tableType), tableType.getElementType()),
      ids, table, Value());
}

LogicalResult EmbeddingOp::verify() {
  RankedTensorType table = getTable().getType();
  if (table.getRank() != 2)
    return emitOpError() << "expected a table of rank 2, [vocabulary, embedding], found "
                         << typeText(table);
  return verifyResult(*this, 0, embeddingShape(getIds().getType(), table), table.getElementType());
}

FactorRule EmbeddingOp::getShardingRule() {
  RuleBuilder builder(*this);
  unsigned idsRank = builder.rule.operands[0].size();
  for (unsigned d = 0; d < idsRank; ++d)
    builder.pass(0, d, 0, d);
  builder.pass(1, 1, 0, idsRank);
  // Each shard of the vocabulary gives zero for ids of other shards. Ids never lead to padded rows.
  uint16_t vocabulary = builder.factor(builder.operandSize(1, 0), FactorKind::Reduction);
  builder.rule.factors[vocabulary].padSafe = true;
  builder.operandDim(1, 0, vocabulary);
  builder.rule.separatelyLinear = 0b10;
  return builder.rule;
}

FailureOr<SmallVector<Value>> EmbeddingOp::partition(OpBuilder &builder, ValueRange localOperands,
                                                     const PartitionInfo &info) {
  const AxisList &axes = info.operandLayouts[1].dims[0];
  Value offset = localOperands.size() > 2 ? localOperands[2] : Value();
  if (!axes.empty()) {
    int64_t rows = tensorType(localOperands[1]).getDimSize(0);
    Value shard = info.shardOffset(builder, getLoc(), axes, rows);
    offset = offset ? arith::AddIOp::create(builder, getLoc(), offset, shard).getResult() : shard;
  }
  FailureOr<SmallVector<Value>> results = cloneWithLocalTypes(*this, builder, localOperands, info);
  if (succeeded(results) && offset)
    results->front().getDefiningOp<EmbeddingOp>().getOffsetMutable().assign(offset);
  return results;
}

FailureOr<SmallVector<Value>> EmbeddingOp::decompose(OpBuilder &builder) {
  // A product with one-hot rows: 1 where the id is the row's number.
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType ids = getIds().getType(), table = getTable().getType();
  int64_t idsRank = ids.getRank();
  SmallVector<int64_t> shape(ids.getShape());
  shape.push_back(table.getDimSize(0));
  Value rows = b.iota(shape, ids.getElementType(), idsRank, getOffset());
  Value isRow = b.compare(CompareDirection::EQ, b.broadcastBack(getIds(), shape, {idsRank}), rows);
  Value oneHot = b.convert(isRow, table.getElementType());
  return SmallVector<Value>{b.make<DotGeneralOp>(oneHot, getTable(), ArrayRef<int64_t>{},
                                                 ArrayRef<int64_t>{}, ArrayRef<int64_t>{idsRank},
                                                 ArrayRef<int64_t>{0})};
}
