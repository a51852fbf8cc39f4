// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// attention.

#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include <limits>

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value q, Value k, Value v,
                        double scale, bool causal, std::optional<int64_t> window,
                        std::optional<double> softcap) {
  SmallVector<int64_t> shape(tensorType(q).getShape());
  if (!shape.empty() && tensorType(v).getRank() > 0)
    shape.back() = tensorType(v).getShape().back();
  build(builder, state, RankedTensorType::get(shape, tensorType(q).getElementType()), q, k, v,
        Value(), builder.getF64FloatAttr(scale), causal ? builder.getUnitAttr() : UnitAttr(),
        window ? builder.getI64IntegerAttr(*window) : IntegerAttr(),
        softcap ? builder.getF64FloatAttr(*softcap) : FloatAttr());
}

LogicalResult AttentionOp::verify() {
  RankedTensorType q = getQ().getType(), k = getK().getType(), v = getV().getType();
  if (q.getRank() != 5)
    return emitOpError() << "expected q of rank 5, [batch, queries, kv_heads, q_groups, head_dim], "
                            "found "
                         << typeText(q);
  if (k.getRank() != 4 || v.getRank() != 4)
    return emitOpError() << "expected k and v of rank 4, [batch, keys, kv_heads, head_dim], found "
                         << typeText(k) << " and " << typeText(v);
  Type elementType = q.getElementType();
  int64_t keys = k.getDimSize(1);
  if (failed(verifyOperand(*this, "k", getK(),
                           {q.getDimSize(0), keys, q.getDimSize(2), q.getDimSize(4)},
                           elementType)) ||
      failed(verifyOperand(*this, "v", getV(),
                           {q.getDimSize(0), keys, q.getDimSize(2), v.getDimSize(3)}, elementType)))
    return failure();
  if (!getScale().isFinite())
    return emitOpError() << "expected a finite scale, found " << getScale().convertToDouble();
  if (getWindow() && static_cast<int64_t>(*getWindow()) < 1)
    return emitOpError() << "expected a window of at least 1, found "
                         << static_cast<int64_t>(*getWindow()) << "; leave it out to see all keys";
  if (getSoftcap() && !(getSoftcap()->isFinite() && getSoftcap()->convertToDouble() > 0.0))
    return emitOpError() << "expected a finite softcap above 0, found "
                         << getSoftcap()->convertToDouble() << "; leave it out for none";
  return verifyResult(
      *this, 0,
      {q.getDimSize(0), q.getDimSize(1), q.getDimSize(2), q.getDimSize(3), v.getDimSize(3)},
      elementType);
}

FactorRule AttentionOp::getShardingRule() {
  RuleBuilder builder(*this);
  uint16_t batch = builder.pass(0, 0, 0, 0);
  builder.pass(0, 1, 0, 1);
  uint16_t kvHeads = builder.pass(0, 2, 0, 2);
  builder.pass(0, 3, 0, 3);
  uint16_t headDim = builder.replicated(builder.operandSize(0, 4));
  uint16_t keys = builder.replicated(builder.operandSize(1, 1));
  uint16_t valueDim = builder.replicated(builder.resultSize(0, 4));
  builder.operandDim(0, 4, headDim);
  builder.resultDim(0, 4, valueDim);
  for (unsigned operand : {1u, 2u}) {
    builder.operandDim(operand, 0, batch);
    builder.operandDim(operand, 1, keys);
    builder.operandDim(operand, 2, kvHeads);
  }
  builder.operandDim(1, 3, headDim);
  builder.operandDim(2, 3, valueDim);
  builder.rule.separatelyLinear = 0b100;
  return builder.rule;
}

FailureOr<SmallVector<Value>> AttentionOp::partition(OpBuilder &builder, ValueRange localOperands,
                                                     const PartitionInfo &info) {
  const AxisList &axes = info.resultLayouts[0].dims[1];
  Value offset = localOperands.size() > 3 ? localOperands[3] : Value();
  if (!axes.empty()) {
    int64_t rows = info.localResultTypes[0].getDimSize(1);
    Value shard = info.shardOffset(builder, getLoc(), axes, rows);
    offset = offset ? arith::AddIOp::create(builder, getLoc(), offset, shard).getResult() : shard;
  }
  FailureOr<SmallVector<Value>> results = cloneWithLocalTypes(*this, builder, localOperands, info);
  if (succeeded(results) && offset)
    results->front().getDefiningOp<AttentionOp>().getQueryOffsetMutable().assign(offset);
  return results;
}

FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType q = getQ().getType();
  Type elementType = q.getElementType(), compute = computeType(elementType);
  Type i64 = builder.getI64Type();

  // Scores are [batch, kv_heads, queries, q_groups, keys].
  using List = ArrayRef<int64_t>;
  Value scores =
      b.make<DotGeneralOp>(getQ(), getK(), List{0, 2}, List{0, 2}, List{4}, List{3}, compute);
  scores = b.multiply(scores, getScale().convertToDouble());
  if (getSoftcap()) {
    double cap = getSoftcap()->convertToDouble();
    scores = b.multiply(b.tanh(b.multiply(scores, 1.0 / cap)), cap);
  }
  SmallVector<int64_t> shape(b.shapeOf(scores));
  constexpr int64_t kQueries = 2, kKeys = 4;
  if (getCausal() || getWindow()) {
    // The distance from key to query, on [queries, keys].
    SmallVector<int64_t> square{shape[kQueries], shape[kKeys]};
    Value distance = b.subtract(b.iota(square, i64, 0, getQueryOffset()), b.iota(square, i64, 1));
    Value visible;
    if (getCausal())
      visible = b.compare(CompareDirection::GE, distance, 0.0);
    if (getWindow()) {
      Value near = b.compare(CompareDirection::LT, distance, static_cast<double>(*getWindow()));
      visible = visible ? b.logicalAnd(visible, near) : near;
    }
    scores = b.select(b.broadcast(visible, shape, {kQueries, kKeys}), scores,
                      b.splatLike(scores, -std::numeric_limits<double>::infinity()));
  }
  // A row without visible keys has maximum -inf; a finite bound keeps its exponentials at 0.
  Value top = b.reduce(ReduceKind::Max, scores, {kKeys});
  top = b.maximum(top, b.splatLike(top, std::numeric_limits<float>::lowest()));
  Value weights = b.exp(b.subtract(scores, b.broadcastBack(top, shape, {kKeys})));
  Value sums = b.reduce(ReduceKind::Sum, weights, {kKeys});
  Value isEmpty = b.compare(CompareDirection::EQ, sums, 0.0);
  sums = b.select(isEmpty, b.splatLike(sums, 1.0), sums);
  weights = b.divide(weights, b.broadcastBack(sums, shape, {kKeys}));

  // [batch, kv_heads, queries, q_groups, head_dim], then queries before heads.
  Value values = b.make<DotGeneralOp>(weights, b.convert(getV(), compute), List{0, 1}, List{0, 2},
                                      List{4}, List{1}, compute);
  Value result = b.make<TransposeOp>(values, List{0, 2, 1, 3, 4});
  return SmallVector<Value>{b.convert(result, elementType)};
}
