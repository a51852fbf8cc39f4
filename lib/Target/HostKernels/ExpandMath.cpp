// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Transcendental functions and bf16 conversions as straight-line arithmetic, which LLVM's loop
// vectorizer takes like any other. The polynomials are minimax fits (Remez exchange) of relative
// error below 3e-8; each function is within 2 units in the last place of f32 (see the unit test).

#include "HostKernelPasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

using namespace mlir;

namespace cleave {
namespace {

/// Arithmetic on f32 and i32 scalars. Multiplications and additions may contract to fma; nothing is
/// reassociated, on which the rounding tricks below rely.
class Arithmetic {
public:
  Arithmetic(OpBuilder &builder, Location loc)
      : b_(loc, builder), f32_(builder.getF32Type()), i32_(builder.getI32Type()) {}

  Value f(float value) { return arith::ConstantFloatOp::create(b_, f32_, APFloat(value)); }
  Value i(int32_t value) { return arith::ConstantIntOp::create(b_, value, 32); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b_, x, y, contract); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b_, x, y, contract); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b_, x, y, contract); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b_, x, y, contract); }
  Value neg(Value x) { return arith::NegFOp::create(b_, x); }
  Value abs(Value x) { return math::AbsFOp::create(b_, x); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b_, x, y, z); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b_, c, x, y); }
  Value lt(Value x, Value y) { return arith::CmpFOp::create(b_, arith::CmpFPredicate::OLT, x, y); }
  Value gt(Value x, Value y) { return arith::CmpFOp::create(b_, arith::CmpFPredicate::OGT, x, y); }
  Value eq(Value x, Value y) { return arith::CmpFOp::create(b_, arith::CmpFPredicate::OEQ, x, y); }
  Value isNan(Value x) { return arith::CmpFOp::create(b_, arith::CmpFPredicate::UNO, x, x); }
  Value bits(Value x) { return arith::BitcastOp::create(b_, i32_, x); }
  Value real(Value x) { return arith::BitcastOp::create(b_, f32_, x); }
  Value iadd(Value x, Value y) { return arith::AddIOp::create(b_, x, y); }
  Value isub(Value x, Value y) { return arith::SubIOp::create(b_, x, y); }
  Value iand(Value x, Value y) { return arith::AndIOp::create(b_, x, y); }
  Value ior(Value x, Value y) { return arith::OrIOp::create(b_, x, y); }
  Value shl(Value x, int32_t n) { return arith::ShLIOp::create(b_, x, i(n)); }
  Value shr(Value x, int32_t n) { return arith::ShRSIOp::create(b_, x, i(n)); }
  Value shru(Value x, int32_t n) { return arith::ShRUIOp::create(b_, x, i(n)); }
  Value toFloat(Value x) { return arith::SIToFPOp::create(b_, f32_, x); }
  /// Horner's rule; coefficients from the constant term up.
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = f(coefficients.back());
    for (float c : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, f(c));
    return sum;
  }
  ImplicitLocOpBuilder &builder() { return b_; }

  Value exp(Value x);
  Value log(Value x);
  Value log1p(Value x);
  Value expm1(Value x);
  Value tanh(Value x);
  Value erf(Value x);
  Value extendBF16(Value x);
  Value truncateToBF16(Value x);

  static constexpr float infinity = std::numeric_limits<float>::infinity();
  static constexpr float quietNan = std::numeric_limits<float>::quiet_NaN();

private:
  static constexpr arith::FastMathFlags contract = arith::FastMathFlags::contract;
  ImplicitLocOpBuilder b_;
  FloatType f32_;
  IntegerType i32_;
};

/// ln 2 in two parts: the first has few enough bits that n * high is exact for |n| < 2^9.
constexpr float kLn2High = 0.693145752f, kLn2Low = 1.42860677e-6f;

Value Arithmetic::exp(Value x) {
  // x = n ln2 + r with |r| <= ln2 / 2, e^x = 2^n e^r. Adding 1.5 * 2^23 rounds to an integer and
  // leaves it in the low bits. Results below 2^-125 are flushed to zero.
  Value magic = f(12582912.0f);
  Value low = f(-87.4f), high = f(89.0f);
  Value inside = select(lt(x, low), low, select(gt(x, high), high, x));
  Value rounded = fma(inside, f(1.44269504f), magic);
  Value exponent = isub(bits(rounded), bits(magic));
  Value n = sub(rounded, magic);
  Value r = fma(n, f(-kLn2Low), fma(n, f(-kLn2High), inside));
  Value p = polynomial(r, {4.999999404e-01f, 1.666651517e-01f, 4.166845605e-02f, 8.369418792e-03f,
                           1.381314476e-03f});
  Value value = add(fma(p, mul(r, r), r), f(1.0f));
  // 2^n as 2 * 2^(n - 1): n reaches 128.
  Value scale = real(shl(iadd(exponent, i(126)), 23));
  return mul(mul(value, scale), f(2.0f));
}

Value Arithmetic::log(Value x) {
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)); subnormals are scaled up first.
  Value tiny = lt(x, f(std::numeric_limits<float>::min()));
  Value scaled = select(tiny, mul(x, f(8388608.0f)), x);
  Value shifted = isub(bits(scaled), i(0x3f3504f3));
  Value exponent = toFloat(shr(shifted, 23));
  exponent = sub(exponent, select(tiny, f(23.0f), f(0.0f)));
  Value m = real(iadd(iand(shifted, i(0x007fffff)), i(0x3f3504f3)));
  Value t = sub(m, f(1.0f));
  Value p = polynomial(t, {3.333331048e-01f, -2.499998659e-01f, 2.000222653e-01f, -1.666925251e-01f,
                           1.421866417e-01f, -1.238433495e-01f, 1.187292561e-01f, -1.178986430e-01f,
                           6.915540993e-02f});
  Value square = mul(t, t);
  Value tail = fma(exponent, f(kLn2Low), mul(mul(p, t), square));
  tail = fma(square, f(-0.5f), tail);
  Value value = fma(exponent, f(kLn2High), add(t, tail));
  value = select(eq(x, f(infinity)), x, value);
  value = select(eq(x, f(0.0f)), f(-infinity), value);
  value = select(lt(x, f(0.0f)), f(quietNan), value);
  return select(isNan(x), x, value);
}

Value Arithmetic::log1p(Value x) {
  // log(u) x / (u - 1) with u = 1 + x rounded: the rounding of u cancels.
  Value one = f(1.0f);
  Value u = arith::AddFOp::create(b_, x, one);
  Value rest = arith::SubFOp::create(b_, u, one);
  Value value = div(mul(log(u), x), rest);
  value = select(eq(u, one), x, value);
  return select(eq(u, f(infinity)), u, value);
}

Value Arithmetic::expm1(Value x) {
  // (u - 1) x / log(u) with u = e^x rounded, for the same reason.
  Value one = f(1.0f);
  Value u = exp(x);
  Value rest = arith::SubFOp::create(b_, u, one);
  Value value = div(mul(rest, x), log(u));
  value = select(eq(u, one), x, value);
  value = select(eq(rest, f(-1.0f)), f(-1.0f), value);
  return select(eq(u, f(infinity)), u, value);
}

Value Arithmetic::tanh(Value x) {
  Value one = f(1.0f), two = f(2.0f);
  Value magnitude = abs(x);
  Value square = mul(x, x);
  Value p = polynomial(square, {-3.333328366e-01f, 1.333149076e-01f, -5.374349654e-02f,
                                2.065058798e-02f, -5.717045162e-03f});
  Value near = fma(mul(p, square), x, x);
  Value far = sub(one, div(two, add(exp(mul(two, magnitude)), one)));
  Value sign = iand(bits(x), i(std::numeric_limits<int32_t>::min()));
  far = real(ior(bits(far), sign));
  return select(lt(magnitude, f(0.625f)), near, far);
}

Value Arithmetic::erf(Value x) {
  Value magnitude = abs(x);
  Value square = mul(x, x);
  Value p = polynomial(square, {1.283791512e-01f, -3.761246204e-01f, 1.128146648e-01f,
                                -2.675333433e-02f, 4.973117262e-03f, -5.886776489e-04f});
  Value near = fma(p, x, x);
  // erfc(t) = exp(-t q(t)); beyond 4, erf is 1 in f32.
  Value limit = f(4.0f);
  Value t = select(gt(magnitude, limit), limit, magnitude);
  Value q =
      polynomial(t, {1.128544927e+00f, 6.356565356e-01f, 1.052029058e-01f, -2.261199988e-02f,
                     2.892294433e-03f, -3.606239989e-05f, -4.820270624e-05f, 5.150920060e-06f});
  Value far = sub(f(1.0f), exp(neg(mul(t, q))));
  Value sign = iand(bits(x), i(std::numeric_limits<int32_t>::min()));
  far = real(ior(bits(far), sign));
  return select(lt(magnitude, f(0.95f)), near, far);
}

Value Arithmetic::extendBF16(Value x) {
  Value half = arith::BitcastOp::create(b_, b_.getI16Type(), x);
  return real(shl(arith::ExtUIOp::create(b_, i32_, half), 16));
}

Value Arithmetic::truncateToBF16(Value x) {
  // Round to nearest even on the upper half of the bits.
  Value whole = bits(x);
  Value even = iand(shru(whole, 16), i(1));
  Value rounded = shru(iadd(whole, iadd(even, i(0x7fff))), 16);
  Value quiet = ior(shru(whole, 16), i(0x40));
  Value upper = select(isNan(x), quiet, rounded);
  Value half = arith::TruncIOp::create(b_, b_.getI16Type(), upper);
  return arith::BitcastOp::create(b_, b_.getBF16Type(), half);
}

Value expand(Operation *op, Arithmetic &a) {
  Type type = op->getResult(0).getType();
  if (auto extend = dyn_cast<arith::ExtFOp>(op); extend && extend.getIn().getType().isBF16()) {
    Value wide = a.extendBF16(extend.getIn());
    return type.isF32() ? wide : arith::ExtFOp::create(a.builder(), type, wide).getResult();
  }
  if (auto truncate = dyn_cast<arith::TruncFOp>(op); truncate && type.isBF16()) {
    Value from = truncate.getIn();
    if (!from.getType().isF32())
      from = arith::TruncFOp::create(a.builder(), a.builder().getF32Type(), from);
    return a.truncateToBF16(from);
  }
  // Between f16 and f64 by way of f32, to which processors have instructions.
  Type f32 = a.builder().getF32Type();
  if (auto extend = dyn_cast<arith::ExtFOp>(op);
      extend && type.isF64() && extend.getIn().getType().isF16()) {
    Value wide = arith::ExtFOp::create(a.builder(), f32, extend.getIn());
    return arith::ExtFOp::create(a.builder(), type, wide);
  }
  if (auto truncate = dyn_cast<arith::TruncFOp>(op);
      truncate && type.isF16() && truncate.getIn().getType().isF64()) {
    Value narrow = arith::TruncFOp::create(a.builder(), f32, truncate.getIn());
    return arith::TruncFOp::create(a.builder(), type, narrow);
  }
  if (!type.isF32() || op->getNumOperands() != 1)
    return nullptr;
  Value x = op->getOperand(0);
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return a.exp(x); })
      .Case([&](math::LogOp) { return a.log(x); })
      .Case([&](math::Log1pOp) { return a.log1p(x); })
      .Case([&](math::ExpM1Op) { return a.expm1(x); })
      .Case([&](math::TanhOp) { return a.tanh(x); })
      .Case([&](math::ErfOp) { return a.erf(x); })
      .Default([](Operation *) { return nullptr; });
}

} // namespace

void expandMath(func::FuncOp kernel) {
  SmallVector<Operation *> work;
  kernel.walk([&](Operation *op) {
    if (op->getNumResults() == 1 &&
        isa_and_present<math::MathDialect, arith::ArithDialect>(op->getDialect()))
      work.push_back(op);
  });
  for (Operation *op : work) {
    OpBuilder builder(op);
    Arithmetic arithmetic(builder, op->getLoc());
    if (Value value = expand(op, arithmetic)) {
      op->replaceAllUsesWith(ValueRange(value));
      op->erase();
    }
  }
}

} // namespace cleave
