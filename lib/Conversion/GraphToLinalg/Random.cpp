// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Dropout: each element draws by its own position, so that a loop over them is made of integer
// products and shifts alone.

#include "LinalgBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <array>

using namespace mlir;

namespace cleave {
namespace {

/// Arithmetic on 32-bit words in 64 bits, of which the upper half is 0: vector units multiply such
/// words.
class Words {
public:
  explicit Words(ImplicitLocOpBuilder &b) : b(b) {}

  Value number(int64_t value) { return arith::ConstantIntOp::create(b, value, 64); }
  Value low(Value x) { return arith::AndIOp::create(b, x, number(0xffffffff)); }
  Value high(Value x) { return arith::ShRUIOp::create(b, x, number(32)); }
  Value mixed(Value x, Value y, Value z) {
    return arith::XOrIOp::create(b, arith::XOrIOp::create(b, x, y), z);
  }
  Value plus(Value x, int64_t y) { return low(arith::AddIOp::create(b, x, number(y))); }
  Value times(Value x, int64_t y) { return arith::MulIOp::create(b, x, number(y)); }

  std::array<Value, 4> philox(std::array<Value, 4> counter, std::array<Value, 2> key) {
    for (int round = 0; round < 10; ++round) {
      if (round > 0)
        key = {plus(key[0], 0x9E3779B9), plus(key[1], 0xBB67AE85)};
      Value first = times(counter[0], 0xD2511F53), second = times(counter[2], 0xCD9E8D57);
      counter = {mixed(high(second), counter[1], key[0]), low(second),
                 mixed(high(first), counter[3], key[1]), low(first)};
    }
    return counter;
  }

private:
  ImplicitLocOpBuilder &b;
};

} // namespace

Value LinalgBuilder::dropout(graph::DropoutOp op, ValueRange operands) {
  RankedTensorType type = op.getResult().getType();
  type = RankedTensorType::get(type.getShape(), type.getElementType());
  if (!op.getSeed())
    return operands[0];
  unsigned rank = type.getRank(), next = 3;
  Value offset = op.getOffset() ? operands[next++] : Value();
  Value site = op.getSite() ? operands[next] : Value();
  graph::DropoutAttr dropout = op.getDropout();
  SmallVector<int64_t> strides = op.getPositionStrides();
  AffineMap scalar = AffineMap::get(rank, 0, {}, b.getContext());
  auto body = [&](ImplicitLocOpBuilder &e, ValueRange v) -> Value {
    Words w(e);
    auto toI64 = [&](Value index) -> Value {
      return arith::IndexCastOp::create(e, e.getI64Type(), index);
    };
    // Outer dimensions first: what a row shares is computed once.
    Value position = w.number(dropout.getStart());
    if (offset)
      position = arith::AddIOp::create(e, position, toI64(offset));
    for (auto [d, stride] : llvm::enumerate(strides)) {
      Value along = w.times(toI64(linalg::IndexOp::create(e, d)), stride);
      position = arith::AddIOp::create(e, position, along);
    }
    Value block = arith::ShRUIOp::create(e, position, w.number(6));
    Value counter = arith::OrIOp::create(e, arith::ShLIOp::create(e, block, w.number(4)),
                                         arith::AndIOp::create(e, position, w.number(15)));
    Value place = w.number(dropout.getSite());
    if (site)
      place = w.low(arith::AddIOp::create(e, place, toI64(site)));
    std::array<Value, 4> words = w.philox({w.low(counter), w.high(counter), place, w.low(v[2])},
                                          {w.low(v[1]), w.high(v[1])});
    Value which =
        arith::AndIOp::create(e, arith::ShRUIOp::create(e, position, w.number(4)), w.number(3));
    Value word = words[3];
    for (int i = 2; i >= 0; --i) {
      Value isThis = arith::CmpIOp::create(e, arith::CmpIPredicate::eq, which, w.number(i));
      word = arith::SelectOp::create(e, isThis, words[i], word);
    }
    Value kept = arith::CmpIOp::create(e, arith::CmpIPredicate::uge, word,
                                       w.number(int64_t(dropout.getThreshold())));
    Value x = toCompute(e, v[0]);
    Value scaled = arith::MulFOp::create(e, x, scalarConstant(e, x.getType(), dropout.getScale()));
    Value zero = scalarConstant(e, x.getType(), 0);
    Value result = arith::SelectOp::create(e, kept, scaled, zero);
    return fromCompute(e, result, type.getElementType());
  };
  return parallel(type, operands.take_front(3), {identity(rank), scalar, scalar}, body);
}

} // namespace cleave
