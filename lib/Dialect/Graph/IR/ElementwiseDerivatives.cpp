// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Derivatives of elementwise ops.

#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
/// The gradient times a slope, which `slope` makes of a value of the op: everything is computed in
/// the compute type and rounded once.
Value chain(OpBuilder &builder, Location loc, Value gradient, Value of,
            function_ref<Value(PrimitiveBuilder &, Value)> slope) {
  PrimitiveBuilder b(builder, loc);
  Type elementType = b.typeOf(gradient).getElementType(), compute = computeType(elementType);
  Value product = b.multiply(b.convert(gradient, compute), slope(b, b.convert(of, compute)));
  return b.convert(product, elementType);
}

/// 1 - x.
Value oneMinus(PrimitiveBuilder &b, Value x) { return b.subtract(b.splatLike(x, 1.0), x); }

/// The gradient where a predicate holds, and zero elsewhere.
Value where(PrimitiveBuilder &b, Value predicate, Value gradient) {
  return b.select(predicate, gradient, b.splatLike(gradient, 0.0));
}
} // namespace

//===----------------------------------------------------------------------===//
// Functions of one operand
//===----------------------------------------------------------------------===//

FailureOr<Value> NegateOp::operandGradient(OpBuilder &builder, unsigned,
                                           ArrayRef<Value> gradients) {
  return PrimitiveBuilder(builder, getLoc()).negate(gradients[0]);
}

FailureOr<Value> AbsOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  return b.multiply(gradients[0], b.make<SignOp>(getOperand()));
}

// Steps: the slope is zero wherever there is one.
FailureOr<Value> SignOp::operandGradient(OpBuilder &, unsigned, ArrayRef<Value>) { return Value(); }
FailureOr<Value> FloorOp::operandGradient(OpBuilder &, unsigned, ArrayRef<Value>) {
  return Value();
}
FailureOr<Value> CeilOp::operandGradient(OpBuilder &, unsigned, ArrayRef<Value>) { return Value(); }

FailureOr<Value> ExpOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  return PrimitiveBuilder(builder, getLoc()).multiply(gradients[0], getResult());
}

FailureOr<Value> Expm1Op::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  return chain(builder, getLoc(), gradients[0], getOperand(),
               [](PrimitiveBuilder &b, Value x) { return b.exp(x); });
}

FailureOr<Value> LogOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  return PrimitiveBuilder(builder, getLoc()).divide(gradients[0], getOperand());
}

FailureOr<Value> Log1pOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  return chain(builder, getLoc(), gradients[0], getOperand(), [](PrimitiveBuilder &b, Value x) {
    return b.divide(b.splatLike(x, 1.0), b.add(x, 1.0));
  });
}

FailureOr<Value> SqrtOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  return chain(builder, getLoc(), gradients[0], getResult(), [](PrimitiveBuilder &b, Value root) {
    return b.divide(b.splatLike(root, 0.5), root);
  });
}

FailureOr<Value> RsqrtOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  return chain(builder, getLoc(), gradients[0], getResult(), [](PrimitiveBuilder &b, Value root) {
    return b.multiply(b.multiply(b.multiply(root, root), root), -0.5);
  });
}

FailureOr<Value> TanhOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  return chain(builder, getLoc(), gradients[0], getResult(),
               [](PrimitiveBuilder &b, Value y) { return oneMinus(b, b.multiply(y, y)); });
}

FailureOr<Value> LogisticOp::operandGradient(OpBuilder &builder, unsigned,
                                             ArrayRef<Value> gradients) {
  return chain(builder, getLoc(), gradients[0], getResult(),
               [](PrimitiveBuilder &b, Value y) { return b.multiply(y, oneMinus(b, y)); });
}

FailureOr<Value> SinOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  return chain(builder, getLoc(), gradients[0], getOperand(),
               [](PrimitiveBuilder &b, Value x) { return b.make<CosOp>(x); });
}

FailureOr<Value> CosOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  return chain(builder, getLoc(), gradients[0], getOperand(),
               [](PrimitiveBuilder &b, Value x) { return b.negate(b.make<SinOp>(x)); });
}

FailureOr<Value> ErfOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  return chain(builder, getLoc(), gradients[0], getOperand(), [](PrimitiveBuilder &b, Value x) {
    return b.multiply(b.exp(b.negate(b.multiply(x, x))), 2.0 * std::numbers::inv_sqrtpi);
  });
}

FailureOr<Value> ConvertOp::operandGradient(OpBuilder &builder, unsigned,
                                            ArrayRef<Value> gradients) {
  // The gradient may be wider than the result was.
  return PrimitiveBuilder(builder, getLoc())
      .convert(gradients[0], getOperand().getType().getElementType());
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

FailureOr<Value> ReluOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  return where(b, b.compare(CompareDirection::GT, getOperand(), 0.0), gradients[0]);
}

FailureOr<Value> SiluOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  return chain(builder, getLoc(), gradients[0], getOperand(), [](PrimitiveBuilder &b, Value x) {
    Value s = b.make<LogisticOp>(x);
    return b.multiply(s, b.add(b.multiply(x, oneMinus(b, s)), 1.0));
  });
}

FailureOr<Value> GeluOp::operandGradient(OpBuilder &builder, unsigned, ArrayRef<Value> gradients) {
  bool isTanh = getApproximate() == GeluApproximation::Tanh;
  return chain(builder, getLoc(), gradients[0], getOperand(), [&](PrimitiveBuilder &b, Value x) {
    Value square = b.multiply(x, x);
    if (!isTanh) {
      // The normal distribution's function and density.
      Value below = b.multiply(b.add(b.make<ErfOp>(b.multiply(x, std::sqrt(0.5))), 1.0), 0.5);
      Value density =
          b.multiply(b.exp(b.multiply(square, -0.5)), std::numbers::inv_sqrtpi * std::sqrt(0.5));
      return b.add(below, b.multiply(x, density));
    }
    double k = std::sqrt(2.0 / std::numbers::pi), cubic = 0.044715;
    Value inner = b.multiply(b.multiply(x, b.add(b.multiply(square, cubic), 1.0)), k);
    Value innerSlope = b.multiply(b.add(b.multiply(square, 3.0 * cubic), 1.0), k);
    Value t = b.tanh(inner);
    Value bend = b.multiply(b.multiply(x, oneMinus(b, b.multiply(t, t))), innerSlope);
    return b.multiply(b.add(b.add(t, bend), 1.0), 0.5);
  });
}

//===----------------------------------------------------------------------===//
// Functions of two operands
//===----------------------------------------------------------------------===//

FailureOr<Value> AddOp::operandGradient(OpBuilder &, unsigned, ArrayRef<Value> gradients) {
  return gradients[0];
}

FailureOr<Value> SubtractOp::operandGradient(OpBuilder &builder, unsigned operand,
                                             ArrayRef<Value> gradients) {
  return operand == 0 ? gradients[0] : PrimitiveBuilder(builder, getLoc()).negate(gradients[0]);
}

FailureOr<Value> MultiplyOp::operandGradient(OpBuilder &builder, unsigned operand,
                                             ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  return b.multiply(gradients[0], operand == 0 ? getRhs() : getLhs());
}

FailureOr<Value> DivideOp::operandGradient(OpBuilder &builder, unsigned operand,
                                           ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  Value quotient = b.divide(gradients[0], getRhs());
  return operand == 0 ? quotient : b.negate(b.multiply(quotient, getResult()));
}

FailureOr<Value> RemainderOp::operandGradient(OpBuilder &builder, unsigned operand,
                                              ArrayRef<Value> gradients) {
  if (operand == 0)
    return gradients[0];
  // x - y * truncate(x / y), where the truncated quotient is a step.
  PrimitiveBuilder b(builder, getLoc());
  Value quotient = b.divide(getLhs(), getRhs());
  Value whole = b.multiply(b.make<SignOp>(quotient), b.make<FloorOp>(b.make<AbsOp>(quotient)));
  return b.negate(b.multiply(gradients[0], whole));
}

FailureOr<Value> PowerOp::operandGradient(OpBuilder &builder, unsigned operand,
                                          ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  Value x = getLhs(), y = getRhs();
  if (operand == 0) {
    // y x^(y - 1), and 0 for y = 0 even where x is 0.
    Value slope = b.multiply(y, b.make<PowerOp>(x, b.add(y, -1.0)));
    slope = b.select(b.compare(CompareDirection::EQ, y, 0.0), b.splatLike(y, 0.0), slope);
    return b.multiply(gradients[0], slope);
  }
  // x^y log(x), and 0 for x = 0.
  Value isZero = b.compare(CompareDirection::EQ, x, 0.0);
  Value log = b.log(b.select(isZero, b.splatLike(x, 1.0), x));
  return b.multiply(gradients[0], b.multiply(getResult(), log));
}

namespace {
/// Of equal operands each gets half.
Value gradientOfChosen(OpBuilder &builder, Location loc, CompareDirection direction, Value chosen,
                       Value other, Value gradient) {
  PrimitiveBuilder b(builder, loc);
  Value isChosen = b.compare(direction, chosen, other);
  Value isEqual = b.compare(CompareDirection::EQ, chosen, other);
  return b.select(isEqual, b.multiply(gradient, 0.5), where(b, isChosen, gradient));
}
} // namespace

FailureOr<Value> MaximumOp::operandGradient(OpBuilder &builder, unsigned operand,
                                            ArrayRef<Value> gradients) {
  return gradientOfChosen(builder, getLoc(), CompareDirection::GT, (*this)->getOperand(operand),
                          (*this)->getOperand(1 - operand), gradients[0]);
}

FailureOr<Value> MinimumOp::operandGradient(OpBuilder &builder, unsigned operand,
                                            ArrayRef<Value> gradients) {
  return gradientOfChosen(builder, getLoc(), CompareDirection::LT, (*this)->getOperand(operand),
                          (*this)->getOperand(1 - operand), gradients[0]);
}

//===----------------------------------------------------------------------===//
// Functions of three operands
//===----------------------------------------------------------------------===//

FailureOr<Value> SelectOp::operandGradient(OpBuilder &builder, unsigned operand,
                                           ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  Value zero = b.splatLike(gradients[0], 0.0);
  return operand == 1 ? b.select(getPredicate(), gradients[0], zero)
                      : b.select(getPredicate(), zero, gradients[0]);
}

FailureOr<Value> ClampOp::operandGradient(OpBuilder &builder, unsigned operand,
                                          ArrayRef<Value> gradients) {
  // Exactly one operand gets the gradient: x in [low, high]; else high, if it is below the larger
  // of x and low; else low.
  PrimitiveBuilder b(builder, getLoc());
  Value low = getLow(), x = getOperand(), high = getHigh();
  if (operand == 2)
    return where(b, b.compare(CompareDirection::GT, b.maximum(x, low), high), gradients[0]);
  Value chosen = operand == 1 ? b.logicalAnd(b.compare(CompareDirection::GE, x, low),
                                             b.compare(CompareDirection::LE, x, high))
                              : b.logicalAnd(b.compare(CompareDirection::LT, x, low),
                                             b.compare(CompareDirection::LE, low, high));
  return where(b, chosen, gradients[0]);
}
