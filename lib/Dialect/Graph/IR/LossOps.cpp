// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cross_entropy.

#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include <numeric>

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

void CrossEntropyOp::build(OpBuilder &builder, OperationState &state, Value logits, Value labels,
                           int64_t ignoreIndex) {
  Type type = RankedTensorType::get({}, computeType(tensorType(logits).getElementType()));
  build(builder, state, type, type, logits, labels, builder.getI64IntegerAttr(ignoreIndex));
}

LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = getLogits().getType(), labels = getLabels().getType();
  if (logits.getRank() < 1 || logits.getShape().drop_back() != labels.getShape())
    return emitOpError() << "expected labels to have the shape of the logits without the last "
                            "dimension, found "
                         << typeText(logits) << " and " << typeText(labels);
  Type elementType = computeType(logits.getElementType());
  if (failed(verifyResult(*this, 0, {}, elementType)))
    return failure();
  return verifyResult(*this, 1, {}, elementType);
}

FactorRule CrossEntropyOp::getShardingRule() {
  // A mean is no sum of its parts, and neither is a log of a sum: sharded, the decomposition is
  // used.
  RuleBuilder builder(*this);
  unsigned rank = builder.rule.operands[0].size();
  for (unsigned d = 0; d < rank; ++d) {
    uint16_t factor = builder.factor(builder.operandSize(0, d), FactorKind::Reduction);
    builder.rule.factors[factor].viaDecomposition = true;
    builder.operandDim(0, d, factor);
    if (d + 1 < rank)
      builder.operandDim(1, d, factor);
  }
  return builder.rule;
}

FailureOr<SmallVector<Value>> CrossEntropyOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType type = getLogits().getType();
  Type compute = computeType(type.getElementType());
  Type labelType = getLabels().getType().getElementType();
  SmallVector<int64_t> shape(type.getShape());
  int64_t vocabulary = shape.size() - 1;
  SmallVector<int64_t> rows(vocabulary);
  std::iota(rows.begin(), rows.end(), 0);

  Value logits = b.convert(getLogits(), compute);
  Value top = b.reduce(ReduceKind::Max, logits, {vocabulary});
  Value exponentials = b.exp(b.subtract(logits, b.broadcastBack(top, shape, {vocabulary})));
  Value logSum = b.add(b.log(b.reduce(ReduceKind::Sum, exponentials, {vocabulary})), top);

  Value isTarget = b.compare(CompareDirection::EQ, b.iota(shape, labelType, vocabulary),
                             b.broadcastBack(getLabels(), shape, {vocabulary}));
  Value target =
      b.reduce(ReduceKind::Sum, b.select(isTarget, logits, b.splatLike(logits, 0.0)), {vocabulary});

  Value losses = b.subtract(logSum, target);
  // The accessor of the signless attribute is unsigned.
  auto ignoreIndex = static_cast<int64_t>(getIgnoreIndex());
  Value ignored = b.splat(b.shapeOf(getLabels()), labelType, static_cast<double>(ignoreIndex));
  Value counts = b.compare(CompareDirection::NE, getLabels(), ignored);
  losses = b.select(counts, losses, b.splatLike(losses, 0.0));
  Value sum = b.reduce(ReduceKind::Sum, losses, rows);
  Value count = b.reduce(ReduceKind::Sum, b.convert(counts, compute), rows);
  return SmallVector<Value>{b.divide(sum, count), count};
}
