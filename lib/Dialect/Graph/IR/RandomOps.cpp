// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// rng and dropout: Philox4x32-10.

#include "Dropout.h"
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

//===----------------------------------------------------------------------===//
// DropoutOp
//===----------------------------------------------------------------------===//

SmallVector<int64_t> DropoutOp::getPositionStrides() {
  if (ArrayRef<int64_t> strides = getDropout().getStrides(); !strides.empty())
    return SmallVector<int64_t>(strides);
  ArrayRef<int64_t> shape = getOperand().getType().getShape();
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t d = int64_t(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

LogicalResult DropoutOp::verify() {
  RankedTensorType type = getOperand().getType();
  ArrayRef<int64_t> strides = getDropout().getStrides();
  if (!strides.empty() && int64_t(strides.size()) != type.getRank())
    return emitOpError() << "expected one stride of positions a dimension of " << typeText(type)
                         << ", found " << strides.size();
  if (failed(verifySeedAndStep(*this, getSeed(), getStep())))
    return failure();
  return verifyResult(*this, 0, type.getShape(), type.getElementType());
}

FactorRule DropoutOp::getShardingRule() {
  // A partial sum could pass, but its elements are fewer once it is reduced.
  RuleBuilder builder(*this);
  for (unsigned d = 0; d < builder.rule.results[0].size(); ++d)
    builder.pass(0, d, 0, d);
  builder.rule.opPriority = 1;
  return builder.rule;
}

FailureOr<SmallVector<Value>> DropoutOp::partition(OpBuilder &builder, ValueRange localOperands,
                                                   const PartitionInfo &info) {
  SmallVector<int64_t> strides = getPositionStrides();
  Value before = localOperand(getODSOperands(3), localOperands);
  Value offset = localPositionOffset(builder, getLoc(), before, strides, info.resultLayouts[0],
                                     info.localResultTypes[0].getShape(), info);
  FailureOr<SmallVector<Value>> results = cloneWithLocalTypes(*this, builder, localOperands, info);
  if (failed(results) || offset == before)
    return results;
  auto local = results->front().getDefiningOp<DropoutOp>();
  local.getOffsetMutable().assign(offset);
  local.setDropoutAttr(getDropout().withPositions(getDropout().getStart(), strides));
  return results;
}

FailureOr<Value> DropoutOp::operandGradient(OpBuilder &builder, unsigned,
                                            ArrayRef<Value> gradients) {
  return DropoutOp::create(builder, getLoc(), gradients[0].getType(), gradients[0], getSeed(),
                           getStep(), getOffset(), getSite(), getDropout())
      .getResult();
}

bool DropoutOp::lacksSeed() { return !getSeed(); }

void DropoutOp::setSeedAndStep(Value seed, Value step) {
  getSeedMutable().assign(seed);
  getStepMutable().assign(step);
}

void DropoutOp::removeRandomness() {
  getResult().replaceAllUsesWith(getOperand());
  erase();
}

void DropoutOp::setMicrobatch(OpBuilder &builder, OpFoldResult index, int64_t count) {
  setDropoutAttr(dropoutOfMicrobatch(builder, getLoc(), getDropout(), getPositionStrides(), index,
                                     count, getOffsetMutable()));
}

FailureOr<SmallVector<Value>> DropoutOp::decompose(OpBuilder &builder) {
  if (!getSeed())
    return SmallVector<Value>{getOperand()};
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType type = getOperand().getType();
  ArrayRef<int64_t> shape = type.getShape();
  Type i64 = builder.getI64Type();
  WordBuilder w(b, shape);
  auto ofIndex = [&](Value index) {
    return w.spread(b.make<ReshapeOp>(b.iota({1}, i64, 0, index), ArrayRef<int64_t>{}));
  };

  Value position = b.splat(shape, i64, static_cast<double>(getDropout().getStart()));
  for (auto [d, stride] : llvm::enumerate(getPositionStrides()))
    position = b.add(position, b.multiply(b.iota(shape, i64, d), static_cast<double>(stride)));
  if (getOffset())
    position = b.add(position, ofIndex(getOffset()));
  Value counter = b.add(b.multiply(b.make<ShiftRightLogicalOp>(position, w.constant(6)), 16.0),
                        b.make<AndOp>(position, w.constant(15)));
  Value site = w.constant(getDropout().getSite());
  if (getSite())
    site = w.low(b.add(site, ofIndex(getSite())));
  Value seed = w.spread(getSeed()), step = w.spread(getStep());
  std::array<Value, 4> words =
      philox(w, {w.low(counter), w.high(counter), site, w.low(step)}, {w.low(seed), w.high(seed)});
  Value which = b.make<AndOp>(b.make<ShiftRightLogicalOp>(position, w.constant(4)), w.constant(3));
  Value word = words[3];
  for (int i = 2; i >= 0; --i)
    word = b.select(b.compare(CompareDirection::EQ, which, double(i)), words[i], word);

  Value kept = b.compare(CompareDirection::GE, word, double(getDropout().getThreshold()));
  Type compute = computeType(type.getElementType());
  Value scaled = b.multiply(b.convert(getOperand(), compute), getDropout().getScale());
  Value result = b.select(kept, scaled, b.splatLike(scaled, 0.0));
  return SmallVector<Value>{b.convert(result, type.getElementType())};
}
