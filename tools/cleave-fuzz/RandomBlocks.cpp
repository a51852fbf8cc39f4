// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Named ops, groups of ops as transformers have them, and indexing.

#include "ProgramGenerator.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::fuzz;
using namespace cleave::graph;

void Generator::addSoftmax() {
  auto [x, bound] = pickValue();
  Shape shape = shapeOf(x);
  if (shape.empty())
    return;
  SmallVector<int64_t> dims{random.below(shape.size())};
  Value top = p.reduce(ReduceKind::Max, x, dims);
  Value weights = p.exp(p.subtract(x, p.broadcastBack(top, shape, dims)));
  Value sums = p.reduce(ReduceKind::Sum, weights, dims);
  keep(p.divide(weights, p.broadcastBack(sums, shape, dims)), 1);
}

void Generator::addNorm() {
  auto [x, bound] = pickValue();
  Shape shape = shapeOf(x);
  if (shape.empty())
    return;
  Value weight = pickShape({shape.back()}).value;
  if (random.chance(50))
    return keep(p.make<RmsNormOp>(x, random.chance(80) ? weight : Value(), 1e-2), 100);
  Value bias = pickShape({shape.back()}).value;
  keep(p.make<LayerNormOp>(x, weight, random.chance(50) ? bias : Value(), 1e-2), 100);
}

void Generator::addEmbedding() {
  Shape ids = randomShape(random.between(1, 2));
  Value numbers = argument(ids, b.getI64Type()).value;
  Value table =
      random.chance(70) ? argument({random.between(2, 13), dimSize()}).value : pickRank(2).value;
  if (ShapedType::getNumElements(ids) * shapeOf(table).back() > kMaxElements)
    return;
  keep(p.make<EmbeddingOp>(numbers, table), kMaxBound);
}

void Generator::addLoss() {
  auto [x, bound] = pickValue();
  Shape shape = shapeOf(x);
  if (shape.empty())
    return;
  Value labels = argument(ArrayRef(shape).drop_back(), b.getI64Type()).value;
  auto loss = CrossEntropyOp::create(b, p.loc, x, labels, random.chance(50) ? 1 : -100);
  keep(p.convert(loss.getLoss(), floatType()), kMaxBound);
  keep(p.convert(loss.getCount(), floatType()), kMaxBound);
}

/// Norm, q, k, v, rotation, attention, output projection, residual.
void Generator::addAttentionBlock() {
  auto [x, bound] = pickRank(3);
  Shape shape = shapeOf(x);
  int64_t batch = shape[0], length = shape[1], embed = shape[2];
  int64_t kv = random.between(1, 3), groups = random.between(1, 3);
  int64_t headDim = 2 * random.between(1, 3), valueDim = random.between(1, 4);
  int64_t largest = std::max(groups * headDim, valueDim);
  if (batch * length * kv * largest > kMaxElements || embed * kv * largest > kMaxElements)
    return;
  Value y = p.make<RmsNormOp>(x, pickShape({embed}).value, 1e-2);
  Value q = product(y, pickShape({kv, groups, headDim, embed}).value, {2}, {3});
  Value k = product(y, pickShape({kv, headDim, embed}).value, {2}, {2});
  Value v = product(y, pickShape({kv, valueDim, embed}).value, {2}, {2});
  if (random.chance(50)) {
    int64_t rotary = headDim >= 4 && random.chance(30) ? headDim - 2 : headDim;
    Value positions = p.iota({length}, b.getI64Type(), 0);
    auto table = RopeTableOp::create(b, p.loc, positions, rotary, 100.0);
    q = p.make<RopeOp>(q, table.getCos(), table.getSin());
    k = p.make<RopeOp>(k, table.getCos(), table.getSin());
  }
  std::optional<int64_t> window;
  if (random.chance(30))
    window = random.between(1, 4);
  std::optional<double> softcap;
  if (random.chance(20))
    softcap = 5.0;
  // Scores are tamed, so that the softmax does not turn rounding into steps.
  Value o = p.make<AttentionOp>(p.tanh(q), p.tanh(k), v, 0.5, random.chance(70), window, softcap);
  if (random.chance(25)) {
    auto attention = o.getDefiningOp<AttentionOp>();
    attention.setDropoutAttr(randomDropout());
    Type scalar = b.getI64Type();
    attention.setSeedAndStep(argument({}, scalar).value, argument({}, scalar).value);
  }
  Value weight = pickShape({embed, kv, groups, valueDim}).value;
  Value out = product(o, weight, {2, 3, 4}, {1, 2, 3});
  keep(p.add(x, p.tanh(out)), bound + 1);
  keep(p.add(x, out), 1e9);
}

void Generator::addMlpBlock() {
  auto [x, bound] = pickRank(3);
  int64_t embed = shapeOf(x)[2], hidden = dimSize();
  if (sizeOf(x) / embed * hidden > kMaxElements)
    return;
  Value y = p.make<RmsNormOp>(x, pickShape({embed}).value, 1e-2);
  Value gate = product(y, pickShape({hidden, embed}).value, {2}, {1});
  Value up = product(y, pickShape({hidden, embed}).value, {2}, {1});
  Value down =
      product(p.multiply(p.make<SiluOp>(gate), up), pickShape({embed, hidden}).value, {2}, {1});
  keep(p.add(x, down), 1e9);
}

/// Products summed over one dimension, added to each other and to a whole value: where partial sums
/// flow.
void Generator::addSumOfProducts() {
  Shape shape{dimSize(), dimSize()};
  int64_t inner = dimSize();
  Value sum;
  int64_t count = random.between(2, 3);
  Known left = pickShape({shape[0], inner});
  for (int64_t i = 0; i < count; ++i) {
    Known right = pickShape({inner, shape[1]});
    Value part = product(left.value, right.value, {1}, {0});
    sum = !sum ? part : random.chance(80) ? p.add(sum, part) : p.subtract(sum, part);
    if (random.chance(30))
      sum = p.multiply(sum, 0.25);
    if (random.chance(30))
      sum = p.add(sum, pickShape(shape).value);
    if (random.chance(20))
      left = pickShape({shape[0], inner});
  }
  if (random.chance(20))
    sum = p.multiply(sum, sum);
  keep(sum, 1e9);
}

/// Ops that read or write at positions from data, some of them out of range.
void Generator::addIndexing() {
  auto [x, bound] = pickValue();
  Shape shape = shapeOf(x);
  if (shape.empty())
    return;
  Type i64 = b.getI64Type();
  int64_t axis = random.below(shape.size());
  auto gathered = [&](ArrayRef<int64_t> ids) {
    Shape result(shape);
    result.erase(result.begin() + axis);
    result.insert(result.begin() + axis, ids.begin(), ids.end());
    return result;
  };
  auto starts = [&] {
    SmallVector<Value> list;
    for (size_t d = 0; d < shape.size(); ++d)
      list.push_back(argument({}, i64).value);
    return list;
  };
  auto part = [&] {
    Shape sizes(shape);
    for (int64_t &n : sizes)
      if (random.chance(40))
        n = random.between(1, n);
    return sizes;
  };
  int kind = random.below(5);
  if (kind <= 1) {
    Shape ids = randomShape(random.between(0, 2));
    Shape result = gathered(ids);
    if (result.size() > kMaxRank || ShapedType::getNumElements(result) > kMaxElements)
      return;
    Value numbers = argument(ids, i64).value;
    if (kind == 0)
      return keep(p.make<GatherOp>(x, numbers, axis), bound);
    auto [updates, boundOfUpdates] = pickShape(result);
    Value into = random.chance(50) ? p.splatLike(x, 0.0) : x;
    double count = double(ShapedType::getNumElements(ids));
    return keep(p.make<ScatterAddOp>(into, numbers, updates, axis), bound + count * boundOfUpdates);
  }
  if (kind == 2 && options.isEntry)
    return; // No kernel does it yet.
  if (kind == 2) {
    auto top = TopKOp::create(b, p.loc, x, random.between(1, shape.back()));
    return keep(top.getValues(), bound);
  }
  Shape sizes = part();
  if (kind == 3)
    return keep(p.make<DynamicSliceOp>(x, starts(), ArrayRef<int64_t>(sizes)), bound);
  auto [update, boundOfUpdate] = pickShape(sizes);
  keep(p.make<DynamicUpdateSliceOp>(x, update, starts()), std::max(bound, boundOfUpdate));
}
