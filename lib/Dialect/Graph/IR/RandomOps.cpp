// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// rng: Philox4x32-10.

#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include <array>
#include <numbers>

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

LogicalResult RngOp::verify() {
  for (Value value : {Value(getSeed()), Value(getStep())})
    if (failed(
            verifyOperand(*this, "a seed or step", value, {}, IntegerType::get(getContext(), 64))))
      return failure();
  int64_t site = static_cast<int64_t>(getSite());
  if (site < 0 || site > 0xffffffff)
    return emitOpError() << "expected a site of 32 bits, found " << site;
  return success();
}

FactorRule RngOp::getShardingRule() {
  // The counter is the index in the global tensor, which the decomposition makes of iotas.
  RuleBuilder builder(*this);
  for (unsigned d = 0; d < builder.rule.results[0].size(); ++d) {
    uint16_t factor = builder.factor(builder.resultSize(0, d));
    builder.rule.factors[factor].viaDecomposition = true;
    builder.resultDim(0, d, factor);
  }
  return builder.rule;
}

namespace {
/// Arithmetic on 32-bit words held in i64 elements.
class WordBuilder {
public:
  WordBuilder(PrimitiveBuilder &b, ArrayRef<int64_t> shape) : b(b), shape(shape) {}

  Value constant(uint32_t word) {
    return b.splat(shape, b.builder.getI64Type(), static_cast<double>(word));
  }
  Value low(Value x) { return b.make<AndOp>(x, constant(0xffffffff)); }
  Value high(Value x) { return b.make<ShiftRightLogicalOp>(x, constant(32)); }
  Value exclusiveOr(Value x, Value y) { return b.make<XorOp>(x, y); }
  Value plus(Value x, uint32_t y) { return low(b.add(x, constant(y))); }
  /// All 64 bits of the product.
  Value times(Value x, uint32_t y) { return b.multiply(x, constant(y)); }
  Value spread(Value scalar) { return b.broadcast(scalar, shape, {}); }

private:
  PrimitiveBuilder &b;
  ArrayRef<int64_t> shape;
};

/// The words that ten rounds make of a counter.
std::array<Value, 4> philox(WordBuilder &w, std::array<Value, 4> counter,
                            std::array<Value, 2> key) {
  for (int round = 0; round < 10; ++round) {
    if (round > 0)
      key = {w.plus(key[0], 0x9E3779B9), w.plus(key[1], 0xBB67AE85)};
    Value first = w.times(counter[0], 0xD2511F53), second = w.times(counter[2], 0xCD9E8D57);
    counter = {w.exclusiveOr(w.exclusiveOr(w.high(second), counter[1]), key[0]), w.low(second),
               w.exclusiveOr(w.exclusiveOr(w.high(first), counter[3]), key[1]), w.low(first)};
  }
  return counter;
}
} // namespace

FailureOr<SmallVector<Value>> RngOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType type = getResult().getType();
  ArrayRef<int64_t> shape = type.getShape();
  Type i64 = builder.getI64Type();
  WordBuilder w(b, shape);

  Value index = b.splat(shape, i64, 0);
  int64_t stride = 1;
  for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
    Value along = b.iota(shape, i64, d);
    index = b.add(index, b.multiply(along, static_cast<double>(stride)));
    stride *= shape[d];
  }
  Value seed = w.spread(getSeed()), step = w.spread(getStep());
  std::array<Value, 4> words =
      philox(w, {w.low(index), w.high(index), w.constant(getSite()), w.low(step)},
             {w.low(seed), w.high(seed)});

  // The upper 24 bits of a word as a number in [0, 1), exact in f32.
  Type compute = computeType(type.getElementType());
  auto unit = [&](Value word, uint32_t plus) {
    Value bits = b.make<ShiftRightLogicalOp>(word, w.constant(8));
    return b.multiply(b.convert(w.plus(bits, plus), compute), 0x1p-24);
  };
  Value result;
  if (getDistribution() == RandomDistribution::Uniform) {
    result = unit(words[0], 0);
  } else {
    Value radius = b.make<SqrtOp>(b.multiply(b.log(unit(words[0], 1)), -2.0));
    Value angle = b.multiply(unit(words[1], 0), 2.0 * std::numbers::pi);
    result = b.multiply(radius, b.make<CosOp>(angle));
  }
  return SmallVector<Value>{b.convert(result, type.getElementType())};
}
