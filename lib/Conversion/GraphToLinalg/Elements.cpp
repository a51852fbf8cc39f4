// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops on scalars.

#include "LinalgBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cleave {
namespace {

using Builder = ImplicitLocOpBuilder;
constexpr auto kContract = arith::FastMathFlags::contract;
/// Maxima need not tell +0 from -0, which costs instructions.
constexpr auto kNoSignedZeros = arith::FastMathFlags::nsz;

bool isFloat(Value value) { return isa<FloatType>(value.getType()); }
bool isPredicate(Value value) { return value.getType().isInteger(1); }

Value compareFloat(Builder &b, arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(b, predicate, x, y);
}
Value compareInt(Builder &b, arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b, predicate, x, y);
}
Value select(Builder &b, Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}

Value compare(Builder &b, graph::CompareDirection direction, Value x, Value y) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  bool isUnsigned = isPredicate(x);
  auto pick = [&](F onFloat, I onSigned, I onUnsigned) {
    return isFloat(x) ? compareFloat(b, onFloat, x, y)
                      : compareInt(b, isUnsigned ? onUnsigned : onSigned, x, y);
  };
  switch (direction) {
  case graph::CompareDirection::EQ:
    return pick(F::OEQ, I::eq, I::eq);
  case graph::CompareDirection::NE:
    return pick(F::UNE, I::ne, I::ne);
  case graph::CompareDirection::LT:
    return pick(F::OLT, I::slt, I::ult);
  case graph::CompareDirection::LE:
    return pick(F::OLE, I::sle, I::ule);
  case graph::CompareDirection::GT:
    return pick(F::OGT, I::sgt, I::ugt);
  case graph::CompareDirection::GE:
    return pick(F::OGE, I::sge, I::uge);
  }
  llvm_unreachable("all directions are handled");
}

/// Saturating, NaN to 0.
Value floatToInt(Builder &b, Value x, IntegerType type) {
  double limit = std::ldexp(1.0, static_cast<int>(type.getWidth()) - 1);
  Value high = scalarConstant(b, x.getType(), limit), low = scalarConstant(b, x.getType(), -limit);
  Value inside = arith::FPToSIOp::create(b, type, x);
  auto number = [&](APInt value) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  };
  unsigned width = type.getWidth();
  Value result = select(b, compareFloat(b, arith::CmpFPredicate::OGE, x, high),
                        number(APInt::getSignedMaxValue(width)), inside);
  result = select(b, compareFloat(b, arith::CmpFPredicate::OLT, x, low),
                  number(APInt::getSignedMinValue(width)), result);
  return select(b, compareFloat(b, arith::CmpFPredicate::UNO, x, x), number(APInt(width, 0)),
                result);
}

Value convert(Builder &b, Value x, Type type) {
  Type from = x.getType();
  if (from == type)
    return x;
  if (type.isInteger(1)) {
    Value zero = scalarConstant(b, from, 0);
    return isFloat(x) ? compareFloat(b, arith::CmpFPredicate::UNE, x, zero)
                      : compareInt(b, arith::CmpIPredicate::ne, x, zero);
  }
  if (isFloat(x) && isa<FloatType>(type))
    return fromCompute(b, toCompute(b, x), type);
  if (isFloat(x))
    return floatToInt(b, toCompute(b, x), cast<IntegerType>(type));
  if (isa<FloatType>(type)) {
    Type wide = accumulatorType(type);
    Value number = isPredicate(x) ? arith::UIToFPOp::create(b, wide, x).getResult()
                                  : arith::SIToFPOp::create(b, wide, x).getResult();
    return fromCompute(b, number, type);
  }
  unsigned before = from.getIntOrFloatBitWidth(), after = type.getIntOrFloatBitWidth();
  if (after < before)
    return arith::TruncIOp::create(b, type, x);
  if (isPredicate(x))
    return arith::ExtUIOp::create(b, type, x);
  return arith::ExtSIOp::create(b, type, x);
}

/// Quotient and remainder without the machine's traps: by zero, and the smallest number by -1.
Value divideInt(Builder &b, Value x, Value y, bool remainder) {
  Value zero = scalarConstant(b, x.getType(), 0), one = scalarConstant(b, x.getType(), 1);
  Value minusOne = scalarConstant(b, x.getType(), -1);
  Value byZero = compareInt(b, arith::CmpIPredicate::eq, y, zero);
  Value byMinusOne = compareInt(b, arith::CmpIPredicate::eq, y, minusOne);
  Value safe = select(b, arith::OrIOp::create(b, byZero, byMinusOne), one, y);
  if (remainder) {
    Value result = arith::RemSIOp::create(b, x, safe);
    result = select(b, byMinusOne, zero, result);
    return select(b, byZero, x, result);
  }
  Value result = arith::DivSIOp::create(b, x, safe);
  result = select(b, byMinusOne, arith::SubIOp::create(b, zero, x), result);
  return select(b, byZero, minusOne, result);
}

Value shift(Builder &b, Value x, Value y, bool left) {
  unsigned width = x.getType().getIntOrFloatBitWidth();
  Value zero = scalarConstant(b, x.getType(), 0);
  if (width == 1) // only a shift by 0 keeps anything
    return arith::AndIOp::create(b, x,
                                 arith::XOrIOp::create(b, y, scalarConstant(b, y.getType(), 1)));
  Value inside = compareInt(b, arith::CmpIPredicate::ult, y, scalarConstant(b, y.getType(), width));
  Value amount = select(b, inside, y, zero);
  Value shifted = left ? arith::ShLIOp::create(b, x, amount).getResult()
                       : arith::ShRUIOp::create(b, x, amount).getResult();
  return select(b, inside, shifted, zero);
}

Value sign(Builder &b, Value x) {
  Value zero = scalarConstant(b, x.getType(), 0), one = scalarConstant(b, x.getType(), 1);
  Value minusOne = scalarConstant(b, x.getType(), -1);
  if (!isFloat(x)) {
    Value result = select(b, compareInt(b, arith::CmpIPredicate::sgt, x, zero), one, zero);
    return select(b, compareInt(b, arith::CmpIPredicate::slt, x, zero), minusOne, result);
  }
  // Zeros and NaN stay what they are.
  Value result = select(b, compareFloat(b, arith::CmpFPredicate::OGT, x, zero), one, x);
  return select(b, compareFloat(b, arith::CmpFPredicate::OLT, x, zero), minusOne, result);
}

Value maximum(Builder &b, Value x, Value y) {
  if (isFloat(x))
    return arith::MaximumFOp::create(b, x, y, kNoSignedZeros);
  return arith::MaxSIOp::create(b, x, y);
}

Value minimum(Builder &b, Value x, Value y) {
  if (isFloat(x))
    return arith::MinimumFOp::create(b, x, y, kNoSignedZeros);
  return arith::MinSIOp::create(b, x, y);
}

Value logistic(Builder &b, Value x) {
  Value one = scalarConstant(b, x.getType(), 1);
  Value exponential = math::ExpOp::create(b, arith::NegFOp::create(b, x));
  return arith::DivFOp::create(b, one, arith::AddFOp::create(b, one, exponential, kContract));
}

/// The op on operands of a compute type.
Value compute(Builder &b, Operation *op, ValueRange v) {
  bool onFloat = isFloat(v[0]);
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::NegateOp) -> Value {
        if (onFloat)
          return arith::NegFOp::create(b, v[0]);
        return arith::SubIOp::create(b, scalarConstant(b, v[0].getType(), 0), v[0]);
      })
      .Case([&](graph::AbsOp) -> Value {
        if (onFloat)
          return math::AbsFOp::create(b, v[0]);
        return math::AbsIOp::create(b, v[0]);
      })
      .Case([&](graph::SignOp) { return sign(b, v[0]); })
      .Case([&](graph::ExpOp) { return math::ExpOp::create(b, v[0]); })
      .Case([&](graph::Expm1Op) { return math::ExpM1Op::create(b, v[0]); })
      .Case([&](graph::LogOp) { return math::LogOp::create(b, v[0]); })
      .Case([&](graph::Log1pOp) { return math::Log1pOp::create(b, v[0]); })
      .Case([&](graph::SqrtOp) { return math::SqrtOp::create(b, v[0]); })
      .Case([&](graph::RsqrtOp) { return math::RsqrtOp::create(b, v[0]); })
      .Case([&](graph::TanhOp) { return math::TanhOp::create(b, v[0]); })
      .Case([&](graph::LogisticOp) { return logistic(b, v[0]); })
      .Case([&](graph::SinOp) { return math::SinOp::create(b, v[0]); })
      .Case([&](graph::CosOp) { return math::CosOp::create(b, v[0]); })
      .Case([&](graph::ErfOp) { return math::ErfOp::create(b, v[0]); })
      .Case([&](graph::FloorOp) { return math::FloorOp::create(b, v[0]); })
      .Case([&](graph::CeilOp) { return math::CeilOp::create(b, v[0]); })
      .Case([&](graph::NotOp) -> Value {
        return arith::XOrIOp::create(b, v[0], scalarConstant(b, v[0].getType(), -1));
      })
      .Case([&](graph::AddOp) -> Value {
        if (onFloat)
          return arith::AddFOp::create(b, v[0], v[1], kContract);
        return arith::AddIOp::create(b, v[0], v[1]);
      })
      .Case([&](graph::SubtractOp) -> Value {
        if (onFloat)
          return arith::SubFOp::create(b, v[0], v[1], kContract);
        return arith::SubIOp::create(b, v[0], v[1]);
      })
      .Case([&](graph::MultiplyOp) -> Value {
        if (onFloat)
          return arith::MulFOp::create(b, v[0], v[1], kContract);
        return arith::MulIOp::create(b, v[0], v[1]);
      })
      .Case([&](graph::DivideOp) -> Value {
        if (onFloat)
          return arith::DivFOp::create(b, v[0], v[1]);
        return divideInt(b, v[0], v[1], /*remainder=*/false);
      })
      .Case([&](graph::RemainderOp) -> Value {
        if (onFloat)
          return arith::RemFOp::create(b, v[0], v[1]);
        return divideInt(b, v[0], v[1], /*remainder=*/true);
      })
      .Case([&](graph::PowerOp) { return math::PowFOp::create(b, v[0], v[1]); })
      .Case([&](graph::MaximumOp) { return maximum(b, v[0], v[1]); })
      .Case([&](graph::MinimumOp) { return minimum(b, v[0], v[1]); })
      .Case([&](graph::AndOp) { return arith::AndIOp::create(b, v[0], v[1]); })
      .Case([&](graph::OrOp) { return arith::OrIOp::create(b, v[0], v[1]); })
      .Case([&](graph::XorOp) { return arith::XOrIOp::create(b, v[0], v[1]); })
      .Case([&](graph::ShiftLeftOp) { return shift(b, v[0], v[1], /*left=*/true); })
      .Case([&](graph::ShiftRightLogicalOp) { return shift(b, v[0], v[1], /*left=*/false); })
      .Case([&](graph::ClampOp) { return minimum(b, maximum(b, v[1], v[0]), v[2]); })
      .Default([](Operation *) { return nullptr; });
}

} // namespace

Type accumulatorType(Type elementType) {
  if (elementType.isF16() || elementType.isBF16())
    return Float32Type::get(elementType.getContext());
  return elementType;
}

Value scalarConstant(ImplicitLocOpBuilder &b, Type type, double value) {
  if (auto real = dyn_cast<FloatType>(type)) {
    bool lossy;
    APFloat number(value);
    number.convert(real.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
    return arith::ConstantOp::create(b, b.getFloatAttr(real, number));
  }
  APInt number(64, static_cast<uint64_t>(static_cast<int64_t>(value)));
  return arith::ConstantOp::create(
      b, b.getIntegerAttr(type, number.trunc(type.getIntOrFloatBitWidth())));
}

Value toCompute(ImplicitLocOpBuilder &b, Value value) {
  Type type = accumulatorType(value.getType());
  return type == value.getType() ? value : arith::ExtFOp::create(b, type, value).getResult();
}

Value fromCompute(ImplicitLocOpBuilder &b, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (value.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, type, value);
  return arith::TruncFOp::create(b, type, value);
}

Value elementOf(ImplicitLocOpBuilder &b, Operation *op, ValueRange operands) {
  Type type = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  if (isa<graph::ConvertOp>(op))
    return convert(b, operands[0], type);
  if (isa<graph::SelectOp>(op))
    return select(b, operands[0], operands[1], operands[2]);
  SmallVector<Value> wide =
      llvm::map_to_vector(operands, [&](Value value) { return toCompute(b, value); });
  if (auto comparison = dyn_cast<graph::CompareOp>(op))
    return compare(b, comparison.getDirection(), wide[0], wide[1]);
  if (operands.empty())
    return nullptr;
  Value result = compute(b, op, wide);
  return result ? fromCompute(b, result, type) : nullptr;
}

} // namespace cleave
