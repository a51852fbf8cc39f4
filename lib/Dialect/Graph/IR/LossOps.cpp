// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cross_entropy.

#include "SavingForm.h"
#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GradientAccumulation.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

void CrossEntropyOp::build(OpBuilder &builder, OperationState &state, Value logits, Value labels,
                           int64_t ignoreIndex) {
  Type type = RankedTensorType::get({}, computeType(tensorType(logits).getElementType()));
  build(builder, state, type, type, /*lse=*/Type(), logits, labels, /*normalizer=*/Value(),
        builder.getI64IntegerAttr(ignoreIndex));
}

LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = getLogits().getType(), labels = getLabels().getType();
  if (logits.getRank() < 1 || logits.getShape().drop_back() != labels.getShape())
    return emitOpError() << "expected labels to have the shape of the logits without the last "
                            "dimension, found "
                         << typeText(logits) << " and " << typeText(labels);
  Type elementType = computeType(logits.getElementType());
  if (getNormalizer() &&
      failed(verifyOperand(*this, "a normalizer", getNormalizer(), {}, elementType)))
    return failure();
  if (failed(verifyResult(*this, 0, {}, elementType)))
    return failure();
  if (failed(verifyResult(*this, 1, {}, elementType)))
    return failure();
  return getLse() ? verifyResult(*this, 2, labels.getShape(), elementType) : success();
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
    if (d + 1 == rank)
      continue;
    builder.operandDim(1, d, factor);
    if (getLse())
      builder.resultDim(2, d, factor);
  }
  return builder.rule;
}

namespace {
/// What the loss and its gradient have in common.
struct CrossEntropyParts {
  CrossEntropyParts(PrimitiveBuilder &b, CrossEntropyOp op);
  /// One number a row, along the vocabulary.
  Value alongVocabulary(Value row) { return b.broadcastBack(row, shape, {vocabulary}); }
  /// The log of the sum of the exponentials of each row.
  Value logSum();
  /// Of each logit: it is the label's.
  Value isTarget(Value labels);

  PrimitiveBuilder &b;
  SmallVector<int64_t> shape, rows; ///< `rows`: all dimensions but the vocabulary
  int64_t vocabulary;
  Value logits;
};

CrossEntropyParts::CrossEntropyParts(PrimitiveBuilder &b, CrossEntropyOp op) : b(b) {
  RankedTensorType type = op.getLogits().getType();
  shape.assign(type.getShape().begin(), type.getShape().end());
  vocabulary = static_cast<int64_t>(shape.size()) - 1;
  llvm::append_range(rows, llvm::seq<int64_t>(0, vocabulary));
  logits = b.convert(op.getLogits(), computeType(type.getElementType()));
}

Value CrossEntropyParts::isTarget(Value labels) {
  Type labelType = b.typeOf(labels).getElementType();
  return b.compare(CompareDirection::EQ, b.iota(shape, labelType, vocabulary),
                   alongVocabulary(labels));
}

Value CrossEntropyParts::logSum() {
  Value top = b.reduce(ReduceKind::Max, logits, {vocabulary});
  Value exponentials = b.exp(b.subtract(logits, alongVocabulary(top)));
  return b.add(b.log(b.reduce(ReduceKind::Sum, exponentials, {vocabulary})), top);
}

/// Of each row: its label is not ignored.
Value isCounted(PrimitiveBuilder &b, Value labels, int64_t ignoreIndex) {
  RankedTensorType type = b.typeOf(labels);
  Value ignored = b.splat(type.getShape(), type.getElementType(), static_cast<double>(ignoreIndex));
  return b.compare(CompareDirection::NE, labels, ignored);
}

/// The number of rows that are counted.
Value countOf(PrimitiveBuilder &b, Value counted, Type compute) {
  auto rows = llvm::to_vector(llvm::seq<int64_t>(0, b.typeOf(counted).getRank()));
  return b.reduce(ReduceKind::Sum, b.convert(counted, compute), rows);
}
} // namespace

Value CrossEntropyOp::countLabels(OpBuilder &builder, Value labels) {
  PrimitiveBuilder b(builder, getLoc());
  // The accessor of the signless attribute is unsigned.
  Value counted = isCounted(b, labels, static_cast<int64_t>(getIgnoreIndex()));
  return countOf(b, counted, getCount().getType().getElementType());
}

FailureOr<SmallVector<Value>> CrossEntropyOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  CrossEntropyParts parts(b, *this);
  Value logSum = parts.logSum();
  Value zeros = b.splatLike(parts.logits, 0.0);
  Value target =
      b.reduce(ReduceKind::Sum, b.select(parts.isTarget(getLabels()), parts.logits, zeros),
               {parts.vocabulary});
  Value losses = b.subtract(logSum, target);
  Value counted = isCounted(b, getLabels(), static_cast<int64_t>(getIgnoreIndex()));
  losses = b.select(counted, losses, b.splatLike(losses, 0.0));
  Value sum = b.reduce(ReduceKind::Sum, losses, parts.rows);
  Value count = countOf(b, counted, getCount().getType().getElementType());
  SmallVector<Value> results{b.divide(sum, getNormalizer() ? Value(getNormalizer()) : count),
                             count};
  if (getLse())
    results.push_back(logSum);
  return results;
}

Operation *CrossEntropyOp::saveForGradient(OpBuilder &builder) {
  if (getLse())
    return *this;
  Type lse =
      RankedTensorType::get(getLabels().getType().getShape(), getLoss().getType().getElementType());
  auto saving =
      CrossEntropyOp::create(builder, getLoc(), getLoss().getType(), getCount().getType(), lse,
                             getLogits(), getLabels(), getNormalizer(), getIgnoreIndexAttr());
  replaceBySavingForm(*this, saving);
  return saving;
}

FailureOr<Value> CrossEntropyOp::operandGradient(OpBuilder &builder, unsigned operand,
                                                 ArrayRef<Value> gradients) {
  if (gradients.size() > 2 && gradients[2])
    return gradientThroughDecomposition(cast<DecomposableOpInterface>(getOperation()), builder,
                                        operand, gradients);
  // The count is a step function of the labels.
  if (!gradients[0])
    return Value();
  PrimitiveBuilder b(builder, getLoc());
  Value normalizer = getNormalizer() ? Value(getNormalizer()) : Value(getCount());
  Value scale = b.divide(gradients[0], normalizer);
  if (operand != 0)
    return b.negate(b.multiply(scale, getLoss()));
  // (softmax - one-hot) * scale, and zero in ignored rows.
  CrossEntropyParts parts(b, *this);
  Value logSum = getLse() ? Value(getLse()) : parts.logSum();
  Value rowScale = b.broadcast(scale, b.shapeOf(logSum), {});
  Value counted = isCounted(b, getLabels(), static_cast<int64_t>(getIgnoreIndex()));
  rowScale = b.select(counted, rowScale, b.splatLike(rowScale, 0.0));
  Value softmax = b.multiply(b.exp(b.subtract(parts.logits, parts.alongVocabulary(logSum))),
                             parts.alongVocabulary(rowScale));
  Value oneHot = b.select(parts.isTarget(getLabels()), parts.alongVocabulary(rowScale),
                          b.splatLike(parts.logits, 0.0));
  return b.convert(b.subtract(softmax, oneHot), getLogits().getType().getElementType());
}
