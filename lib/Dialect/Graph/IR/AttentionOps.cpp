// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// attention and attention_grad.

#include "Dropout.h"
#include "SavingForm.h"
#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GradientAccumulation.h"
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
  build(builder, state, RankedTensorType::get(shape, tensorType(q).getElementType()),
        /*lse=*/Type(), q, k, v, /*query_offset=*/Value(), /*seed=*/Value(), /*step=*/Value(),
        /*dropout_offset=*/Value(), builder.getF64FloatAttr(scale),
        causal ? builder.getUnitAttr() : UnitAttr(),
        window ? builder.getI64IntegerAttr(*window) : IntegerAttr(),
        softcap ? builder.getF64FloatAttr(*softcap) : FloatAttr(), /*dropout=*/DropoutAttr());
}

namespace {
/// The shape of the logarithms of sums: [batch, kv_heads, q_groups, queries].
SmallVector<int64_t> lseShape(RankedTensorType q) {
  return {q.getDimSize(0), q.getDimSize(2), q.getDimSize(3), q.getDimSize(1)};
}

/// Rows of keys start at multiples of it, so that kernels draw for whole blocks of keys.
constexpr int64_t kKeysAligned = 64;

template <typename Op> LogicalResult verifyDropout(Op op) {
  std::optional<DropoutAttr> dropout = op.getDropout();
  if (!dropout) {
    if (op.getSeed() || op.getStep() || op.getDropoutOffset())
      return op.emitOpError("has a seed, a step or an offset of dropout, and no dropout");
    return success();
  }
  if (!dropout->getStrides().empty() && dropout->getStrides().size() != 4)
    return op.emitOpError() << "expected four strides of dropout, of batch, query, kv_head and "
                               "q_group, found "
                            << dropout->getStrides().size();
  SmallVector<int64_t> numbers(dropout->getStrides());
  numbers.push_back(dropout->getStart());
  for (int64_t number : numbers)
    if (number % kKeysAligned)
      return op.emitOpError() << "expected start and strides of dropout to be multiples of "
                              << kKeysAligned << ", found " << number;
  return verifySeedAndStep(op, op.getSeed(), op.getStep());
}

template <typename Op> SmallVector<int64_t> dropoutStrides(Op op) {
  if (ArrayRef<int64_t> strides = op.getDropoutAttr().getStrides(); !strides.empty())
    return SmallVector<int64_t>(strides);
  RankedTensorType q = op.getQ().getType();
  int64_t query = llvm::alignTo(op.getK().getType().getDimSize(1), kKeysAligned);
  int64_t group = query * q.getDimSize(1), head = group * q.getDimSize(3);
  return {head * q.getDimSize(2), query, head, group};
}

/// What attention and its gradient have in common.
template <typename Op> LogicalResult verifyAttention(Op op) {
  RankedTensorType q = op.getQ().getType(), k = op.getK().getType(), v = op.getV().getType();
  if (q.getRank() != 5)
    return op.emitOpError()
           << "expected q of rank 5, [batch, queries, kv_heads, q_groups, head_dim], found "
           << typeText(q);
  if (k.getRank() != 4 || v.getRank() != 4)
    return op.emitOpError() << "expected k and v of rank 4, [batch, keys, kv_heads, head_dim], "
                               "found "
                            << typeText(k) << " and " << typeText(v);
  Type elementType = q.getElementType();
  int64_t keys = k.getDimSize(1);
  if (failed(verifyOperand(op, "k", op.getK(),
                           {q.getDimSize(0), keys, q.getDimSize(2), q.getDimSize(4)},
                           elementType)) ||
      failed(verifyOperand(op, "v", op.getV(),
                           {q.getDimSize(0), keys, q.getDimSize(2), v.getDimSize(3)}, elementType)))
    return failure();
  if (!op.getScale().isFinite())
    return op.emitOpError() << "expected a finite scale, found " << op.getScale().convertToDouble();
  if (op.getWindow() && static_cast<int64_t>(*op.getWindow()) < 1)
    return op.emitOpError() << "expected a window of at least 1, found "
                            << static_cast<int64_t>(*op.getWindow())
                            << "; leave it out to see all keys";
  if (op.getSoftcap() && !(op.getSoftcap()->isFinite() && op.getSoftcap()->convertToDouble() > 0.0))
    return op.emitOpError() << "expected a finite softcap above 0, found "
                            << op.getSoftcap()->convertToDouble() << "; leave it out for none";
  return verifyDropout(op);
}

/// The shape of attention's result.
SmallVector<int64_t> resultShape(RankedTensorType q, RankedTensorType v) {
  SmallVector<int64_t> shape(q.getShape());
  shape.back() = v.getDimSize(3);
  return shape;
}
} // namespace

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  RankedTensorType q = getQ().getType();
  if (getLse() && failed(verifyResult(*this, 1, lseShape(q), computeType(q.getElementType()))))
    return failure();
  return verifyResult(*this, 0, resultShape(q, getV().getType()), q.getElementType());
}

FactorRule AttentionOp::getShardingRule() {
  RuleBuilder builder(*this);
  uint16_t batch = builder.pass(0, 0, 0, 0), queries = builder.pass(0, 1, 0, 1);
  uint16_t kvHeads = builder.pass(0, 2, 0, 2), groups = builder.pass(0, 3, 0, 3);
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
  if (getLse())
    for (auto [d, factor] : llvm::enumerate(SmallVector<uint16_t>{batch, kvHeads, groups, queries}))
      builder.resultDim(1, d, factor);
  // The logarithm of the sums depends on queries and keys only.
  if (!getLse())
    builder.rule.separatelyLinear = 0b100;
  return builder.rule;
}

namespace {
/// The number of the first query of a device's part.
Value localQueryOffset(OpBuilder &builder, Operation *op, Value offset, const AxisList &axes,
                       int64_t localQueries, const PartitionInfo &info) {
  if (axes.empty())
    return offset;
  Value shard = info.shardOffset(builder, op->getLoc(), axes, localQueries);
  return offset ? arith::AddIOp::create(builder, op->getLoc(), offset, shard).getResult() : shard;
}
} // namespace

/// The local form of attention or its gradient: a device's part knows where its queries and its
/// dropped weights stand in the whole.
template <typename Op>
static FailureOr<SmallVector<Value>>
partitionAttention(Op op, OpBuilder &builder, ValueRange localOperands, const PartitionInfo &info) {
  const Layout &layout = info.resultLayouts[0];
  ArrayRef<int64_t> localShape = info.localResultTypes[0].getShape();
  auto before = [&](Value operand) -> Value {
    return operand ? localOperands[llvm::find(op->getOperands(), operand).getIndex()] : Value();
  };
  Value query = localQueryOffset(builder, op, before(op.getQueryOffset()), layout.dims[1],
                                 localShape[1], info);
  Value position;
  if (op.getSeed())
    position = localPositionOffset(builder, op.getLoc(), before(op.getDropoutOffset()),
                                   dropoutStrides(op), layout, localShape, info);
  FailureOr<SmallVector<Value>> results = cloneWithLocalTypes(op, builder, localOperands, info);
  if (failed(results))
    return failure();
  auto local = results->front().getDefiningOp<Op>();
  if (query)
    local.getQueryOffsetMutable().assign(query);
  if (op.getSeed()) {
    if (position)
      local.getDropoutOffsetMutable().assign(position);
    DropoutAttr dropout = op.getDropoutAttr();
    local.setDropoutAttr(dropout.withPositions(dropout.getStart(), dropoutStrides(op)));
  }
  return results;
}

FailureOr<SmallVector<Value>> AttentionOp::partition(OpBuilder &builder, ValueRange localOperands,
                                                     const PartitionInfo &info) {
  return partitionAttention(*this, builder, localOperands, info);
}

//===----------------------------------------------------------------------===//
// Decompositions
//===----------------------------------------------------------------------===//

namespace {
using List = ArrayRef<int64_t>;

/// Scores and what is visible, on [batch, kv_heads, queries, q_groups, keys].
class Scores {
public:
  static constexpr int64_t kQueries = 2, kKeys = 4;

  template <typename Op>
  Scores(PrimitiveBuilder &b, Op op)
      : b(b), compute(computeType(op.getQ().getType().getElementType())) {
    scores = b.make<DotGeneralOp>(op.getQ(), op.getK(), List{0, 2}, List{0, 2}, List{4}, List{3},
                                  compute);
    scores = b.multiply(scores, op.getScale().convertToDouble());
    if (op.getSoftcap()) {
      double cap = op.getSoftcap()->convertToDouble();
      saturation = b.tanh(b.multiply(scores, 1.0 / cap));
      scores = b.multiply(saturation, cap);
    }
    shape.assign(b.shapeOf(scores).begin(), b.shapeOf(scores).end());
    std::optional<int64_t> window;
    if (op.getWindow())
      window = static_cast<int64_t>(*op.getWindow());
    makeVisible(op.getQueryOffset(), op.getCausal(), window);
  }

  /// `value` for visible keys, `other` for those that are not.
  Value whereVisible(Value value, double other) {
    return visible ? b.select(visible, value, b.splatLike(value, other)) : value;
  }
  Value alongKeys(Value row) { return b.broadcastBack(row, shape, {kKeys}); }
  /// Weights, or gradients by them, with some dropped.
  template <typename Op> Value drop(Op op, Value weights) {
    if (!op.getSeed())
      return weights;
    SmallVector<int64_t> of = dropoutStrides(op);
    DropoutAttr dropout = op.getDropoutAttr();
    return b.make<DropoutOp>(
        weights, op.getSeed(), op.getStep(), op.getDropoutOffset(),
        dropout.withPositions(dropout.getStart(), {of[0], of[2], of[1], of[3], 1}));
  }
  /// Makes the softmax: its numerators, their sums, and the largest score of each row.
  void normalize();

  PrimitiveBuilder &b;
  Type compute;
  SmallVector<int64_t> shape;
  Value scores;     ///< those of invisible keys mean nothing
  Value saturation; ///< with a soft cap: scores / cap
  Value visible;    ///< null: all keys are
  Value weights, sums, top;

private:
  void makeVisible(Value queryOffset, bool causal, std::optional<int64_t> window);
};

void Scores::makeVisible(Value queryOffset, bool causal, std::optional<int64_t> window) {
  if (!causal && !window)
    return;
  // The distance from key to query, on [queries, keys].
  SmallVector<int64_t> square{shape[kQueries], shape[kKeys]};
  Type i64 = b.builder.getI64Type();
  Value distance = b.subtract(b.iota(square, i64, 0, queryOffset), b.iota(square, i64, 1));
  if (causal)
    visible = b.compare(CompareDirection::GE, distance, 0.0);
  if (window) {
    Value near = b.compare(CompareDirection::LT, distance, static_cast<double>(*window));
    visible = visible ? b.logicalAnd(visible, near) : near;
  }
  visible = b.broadcast(visible, shape, {kQueries, kKeys});
}

void Scores::normalize() {
  Value seen = whereVisible(scores, -std::numeric_limits<double>::infinity());
  // A row without visible keys has maximum -inf; a finite bound keeps its exponentials at 0.
  top = b.reduce(ReduceKind::Max, seen, {kKeys});
  top = b.maximum(top, b.splatLike(top, std::numeric_limits<float>::lowest()));
  weights = b.exp(b.subtract(seen, alongKeys(top)));
  sums = b.reduce(ReduceKind::Sum, weights, {kKeys});
}
} // namespace

FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  Type elementType = getQ().getType().getElementType();
  Scores s(b, *this);
  s.normalize();
  Value isEmpty = b.compare(CompareDirection::EQ, s.sums, 0.0);
  Value sums = b.select(isEmpty, b.splatLike(s.sums, 1.0), s.sums);
  Value weights = s.drop(*this, b.divide(s.weights, s.alongKeys(sums)));

  // [batch, kv_heads, queries, q_groups, head_dim], then queries before heads.
  Value values = b.make<DotGeneralOp>(weights, b.convert(getV(), s.compute), List{0, 1}, List{0, 2},
                                      List{4}, List{1}, s.compute);
  Value result = b.make<TransposeOp>(values, List{0, 2, 1, 3, 4});
  SmallVector<Value> results{b.convert(result, elementType)};
  if (getLse()) {
    // The logarithm of no sum is -inf.
    Value lse = b.add(b.log(s.sums), s.top);
    results.push_back(b.make<TransposeOp>(lse, List{0, 1, 3, 2}));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

SmallVector<int64_t> AttentionOp::getDropoutStrides() { return dropoutStrides(*this); }
SmallVector<int64_t> AttentionGradOp::getDropoutStrides() { return dropoutStrides(*this); }

namespace {
template <typename Op> void setSeedAndStepOf(Op op, Value seed, Value step) {
  op.getSeedMutable().assign(seed);
  op.getStepMutable().assign(step);
}

template <typename Op> void removeDropoutOf(Op op) {
  op.getSeedMutable().clear();
  op.getStepMutable().clear();
  op.getDropoutOffsetMutable().clear();
  op.removeDropoutAttr();
}

template <typename Op>
void setMicrobatchOf(Op op, OpBuilder &builder, OpFoldResult index, int64_t count) {
  if (DropoutAttr dropout = op.getDropoutAttr())
    op.setDropoutAttr(dropoutOfMicrobatch(builder, op.getLoc(), dropout, dropoutStrides(op), index,
                                          count, op.getDropoutOffsetMutable()));
}
} // namespace

bool AttentionOp::lacksSeed() { return getDropout() && !getSeed(); }
bool AttentionGradOp::lacksSeed() { return getDropout() && !getSeed(); }
void AttentionOp::setSeedAndStep(Value seed, Value step) { setSeedAndStepOf(*this, seed, step); }
void AttentionGradOp::setSeedAndStep(Value seed, Value step) {
  setSeedAndStepOf(*this, seed, step);
}
void AttentionOp::removeRandomness() { removeDropoutOf(*this); }
void AttentionGradOp::removeRandomness() { removeDropoutOf(*this); }
void AttentionOp::setMicrobatch(OpBuilder &builder, OpFoldResult index, int64_t count) {
  setMicrobatchOf(*this, builder, index, count);
}
void AttentionGradOp::setMicrobatch(OpBuilder &builder, OpFoldResult index, int64_t count) {
  setMicrobatchOf(*this, builder, index, count);
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

Operation *AttentionOp::saveForGradient(OpBuilder &builder) {
  if (getLse())
    return *this;
  RankedTensorType q = getQ().getType();
  Type lse = RankedTensorType::get(lseShape(q), computeType(q.getElementType()));
  auto saving = AttentionOp::create(builder, getLoc(), getResult().getType(), lse, getQ(), getK(),
                                    getV(), getQueryOffset(), getSeed(), getStep(),
                                    getDropoutOffset(), getScaleAttr(), getCausalAttr(),
                                    getWindowAttr(), getSoftcapAttr(), getDropoutAttr());
  replaceBySavingForm(*this, saving);
  return saving;
}

FailureOr<Value> AttentionOp::operandGradient(OpBuilder &builder, unsigned operand,
                                              ArrayRef<Value> gradients) {
  if (gradients.size() > 1 && gradients[1])
    return gradientThroughDecomposition(cast<DecomposableOpInterface>(getOperation()), builder,
                                        operand, gradients);
  // One op gives all three.
  for (Operation *user : gradients[0].getUsers())
    if (auto made = dyn_cast<AttentionGradOp>(user);
        made && made.getResult() == getResult() && made.getResultGradient() == gradients[0])
      return made->getResult(operand);
  return AttentionGradOp::create(builder, getLoc(), *this, gradients[0])->getResult(operand);
}

//===----------------------------------------------------------------------===//
// AttentionGradOp
//===----------------------------------------------------------------------===//

void AttentionGradOp::build(OpBuilder &builder, OperationState &state, AttentionOp attention,
                            Value resultGradient) {
  build(builder, state, attention.getQ().getType(), attention.getK().getType(),
        attention.getV().getType(), attention.getQ(), attention.getK(), attention.getV(),
        attention.getResult(), resultGradient, attention.getLse(), attention.getQueryOffset(),
        attention.getSeed(), attention.getStep(), attention.getDropoutOffset(),
        attention.getScaleAttr(), attention.getCausalAttr(), attention.getWindowAttr(),
        attention.getSoftcapAttr(), attention.getDropoutAttr());
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  RankedTensorType q = getQ().getType(), k = getK().getType(), v = getV().getType();
  Type elementType = q.getElementType();
  SmallVector<int64_t> shape = resultShape(q, v);
  if (failed(verifyOperand(*this, "a result of attention", getResult(), shape, elementType)) ||
      failed(
          verifyOperand(*this, "a result's gradient", getResultGradient(), shape, elementType)) ||
      (getLse() &&
       failed(verifyOperand(*this, "lse", getLse(), lseShape(q), computeType(elementType)))))
    return failure();
  for (auto [i, type] : llvm::enumerate(SmallVector<RankedTensorType>{q, k, v}))
    if (failed(verifyResult(*this, i, type.getShape(), elementType)))
      return failure();
  return success();
}

FactorRule AttentionGradOp::getShardingRule() {
  enum { kQ, kK, kV, kResult, kResultGradient, kLse };
  RuleBuilder builder(*this);
  // The gradients of keys and values sum over the queries that share them.
  uint16_t batch = builder.factor(builder.operandSize(kQ, 0));
  uint16_t queries = builder.factor(builder.operandSize(kQ, 1), FactorKind::Reduction);
  uint16_t kvHeads = builder.factor(builder.operandSize(kQ, 2));
  uint16_t groups = builder.factor(builder.operandSize(kQ, 3), FactorKind::Reduction);
  uint16_t headDim = builder.replicated(builder.operandSize(kQ, 4));
  uint16_t keys = builder.replicated(builder.operandSize(kK, 1));
  uint16_t valueDim = builder.replicated(builder.operandSize(kV, 3));
  using Dims = SmallVector<uint16_t, 5>;
  auto set = [](TensorFactors &tensor, const Dims &dims) {
    for (auto [dim, factor] : llvm::zip(tensor, dims))
      dim.push_back(factor);
  };
  FactorRule &rule = builder.rule;
  Dims q{batch, queries, kvHeads, groups, headDim}, k{batch, keys, kvHeads, headDim};
  Dims v{batch, keys, kvHeads, valueDim}, result{batch, queries, kvHeads, groups, valueDim};
  set(rule.operands[kQ], q);
  set(rule.operands[kK], k);
  set(rule.operands[kV], v);
  set(rule.operands[kResult], result);
  set(rule.operands[kResultGradient], result);
  if (getLse())
    set(rule.operands[kLse], {batch, kvHeads, groups, queries});
  set(rule.results[kQ], q);
  set(rule.results[kK], k);
  set(rule.results[kV], v);
  return rule;
}

FailureOr<SmallVector<Value>> AttentionGradOp::partition(OpBuilder &builder,
                                                         ValueRange localOperands,
                                                         const PartitionInfo &info) {
  return partitionAttention(*this, builder, localOperands, info);
}

FailureOr<SmallVector<Value>> AttentionGradOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  Type elementType = getQ().getType().getElementType();
  Scores s(b, *this);
  Value lse;
  if (getLse()) {
    lse = b.make<TransposeOp>(getLse(), List{0, 1, 3, 2});
  } else {
    s.normalize();
    lse = b.add(b.log(s.sums), s.top);
  }
  // Rows without visible keys have an lse of -inf, and no weight that is not masked.
  Value weights = s.whereVisible(b.exp(b.subtract(s.scores, s.alongKeys(lse))), 0.0);

  // [batch, queries, kv_heads, q_groups, value_dim] all.
  Value result = b.convert(getResult(), s.compute);
  Value gradient = b.convert(getResultGradient(), s.compute);
  Value q = b.convert(getQ(), s.compute), k = b.convert(getK(), s.compute);
  Value v = b.convert(getV(), s.compute);
  // A row's sum of result * gradient, on [batch, queries, kv_heads, q_groups], to the scores'
  // order.
  Value along = b.reduce(ReduceKind::Sum, b.multiply(result, gradient), {4});
  along = b.make<TransposeOp>(along, List{0, 2, 1, 3});
  Value weightGradient =
      b.make<DotGeneralOp>(gradient, v, List{0, 2}, List{0, 2}, List{4}, List{3});
  weightGradient = s.drop(*this, weightGradient);
  Value scoreGradient = b.multiply(weights, b.subtract(weightGradient, s.alongKeys(along)));
  if (s.saturation) {
    Value slope =
        b.subtract(b.splatLike(s.saturation, 1.0), b.multiply(s.saturation, s.saturation));
    scoreGradient = b.multiply(scoreGradient, slope);
  }
  scoreGradient = b.multiply(scoreGradient, getScale().convertToDouble());

  // [batch, kv_heads, queries, q_groups, head_dim] and twice [batch, kv_heads, keys, head_dim],
  // then positions before heads.
  Value dq = b.make<DotGeneralOp>(scoreGradient, k, List{0, 1}, List{0, 2}, List{4}, List{1});
  Value dk = b.make<DotGeneralOp>(scoreGradient, q, List{0, 1}, List{0, 2}, List{2, 3}, List{1, 3});
  Value dv = b.make<DotGeneralOp>(s.drop(*this, weights), gradient, List{0, 1}, List{0, 2},
                                  List{2, 3}, List{1, 3});
  return SmallVector<Value>{b.convert(b.make<TransposeOp>(dq, List{0, 2, 1, 3, 4}), elementType),
                            b.convert(b.make<TransposeOp>(dk, List{0, 2, 1, 3}), elementType),
                            b.convert(b.make<TransposeOp>(dv, List{0, 2, 1, 3}), elementType)};
}
