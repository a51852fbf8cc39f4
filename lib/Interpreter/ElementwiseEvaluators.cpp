// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of elementwise ops.

#include "Evaluators.h"

#include <cmath>

using namespace mlir;
using namespace cleave::graph;
using namespace cleave::interpreter;

namespace {
using Operands = ArrayRef<Operand>;
using Results = MutableArrayRef<Tensor>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename Op, typename Function> void addUnary(EvaluatorRegistry &registry, Function f) {
  registry.add<Op>([f](Op, Operands in, Results out) {
    for (auto [to, from] : llvm::zip(out[0].floats, in[0].tensor->floats))
      to = f(from);
  });
}

/// Of floats by one function and of integers by another, which is wrapped.
template <typename Op, typename Function, typename IntFunction>
void addUnary(EvaluatorRegistry &registry, Function f, IntFunction g) {
  registry.add<Op>([f, g](Op, Operands in, Results out) {
    for (auto [to, from] : llvm::zip(out[0].floats, in[0].tensor->floats))
      to = f(from);
    for (auto [to, from] : llvm::zip(out[0].ints, in[0].tensor->ints))
      to = wrap(g(from, out[0].dtype), out[0].dtype);
  });
}

template <typename Op, typename Function, typename IntFunction>
void addBinary(EvaluatorRegistry &registry, Function f, IntFunction g) {
  registry.add<Op>([f, g](Op, Operands in, Results out) {
    Tensor &result = out[0];
    for (auto [to, x, y] : llvm::zip(result.floats, in[0].tensor->floats, in[1].tensor->floats))
      to = f(x, y);
    for (auto [to, x, y] : llvm::zip(result.ints, in[0].tensor->ints, in[1].tensor->ints))
      to = wrap(g(x, y, result.dtype), result.dtype);
  });
}

template <typename Op, typename IntFunction>
void addIntBinary(EvaluatorRegistry &registry, IntFunction g) {
  addBinary<Op>(registry, [](double, double) { return kNaN; }, g);
}

// Arithmetic on integers wraps, and therefore is done unsigned.
int64_t wrapping(uint64_t value) { return static_cast<int64_t>(value); }

double maximum(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? kNaN : std::max(x, y);
}
double minimum(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? kNaN : std::min(x, y);
}
double sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }

int64_t divide(int64_t x, int64_t y, DType) {
  return y == 0 ? -1 : y == -1 ? wrapping(-static_cast<uint64_t>(x)) : x / y;
}
int64_t remainder(int64_t x, int64_t y, DType) { return y == 0 ? x : y == -1 ? 0 : x % y; }

uint64_t bitsOf(int64_t value, DType dtype) {
  unsigned width = integerWidth(dtype);
  return width == 64 ? static_cast<uint64_t>(value)
                     : static_cast<uint64_t>(value) & ((uint64_t(1) << width) - 1);
}

void addArithmetic(EvaluatorRegistry &registry) {
  using U = uint64_t;
  addBinary<AddOp>(registry, std::plus<double>(),
                   [](int64_t x, int64_t y, DType) { return wrapping(U(x) + U(y)); });
  addBinary<SubtractOp>(registry, std::minus<double>(),
                        [](int64_t x, int64_t y, DType) { return wrapping(U(x) - U(y)); });
  addBinary<MultiplyOp>(registry, std::multiplies<double>(),
                        [](int64_t x, int64_t y, DType) { return wrapping(U(x) * U(y)); });
  addBinary<DivideOp>(registry, std::divides<double>(), divide);
  addBinary<RemainderOp>(registry, [](double x, double y) { return std::fmod(x, y); }, remainder);
  addBinary<MaximumOp>(registry, maximum,
                       [](int64_t x, int64_t y, DType) { return std::max(x, y); });
  addBinary<MinimumOp>(registry, minimum,
                       [](int64_t x, int64_t y, DType) { return std::min(x, y); });
  registry.add<PowerOp>([](PowerOp, Operands in, Results out) {
    for (auto [to, x, y] : llvm::zip(out[0].floats, in[0].tensor->floats, in[1].tensor->floats))
      to = std::pow(x, y);
  });
  addIntBinary<AndOp>(registry, [](int64_t x, int64_t y, DType) { return x & y; });
  addIntBinary<OrOp>(registry, [](int64_t x, int64_t y, DType) { return x | y; });
  addIntBinary<XorOp>(registry, [](int64_t x, int64_t y, DType) { return x ^ y; });
  auto isInWidth = [](int64_t y, DType dtype) {
    return y >= 0 && y < int64_t(integerWidth(dtype));
  };
  addIntBinary<ShiftLeftOp>(registry, [isInWidth](int64_t x, int64_t y, DType dtype) {
    return isInWidth(y, dtype) ? wrapping(bitsOf(x, dtype) << y) : 0;
  });
  addIntBinary<ShiftRightLogicalOp>(registry, [isInWidth](int64_t x, int64_t y, DType dtype) {
    return isInWidth(y, dtype) ? wrapping(bitsOf(x, dtype) >> y) : 0;
  });
}

void addFunctions(EvaluatorRegistry &registry) {
  addUnary<NegateOp>(registry, std::negate<double>(),
                     [](int64_t x, DType) { return wrapping(-uint64_t(x)); });
  addUnary<AbsOp>(
      registry, [](double x) { return std::abs(x); },
      [](int64_t x, DType) { return x < 0 ? wrapping(-uint64_t(x)) : x; });
  addUnary<SignOp>(registry, sign, [](int64_t x, DType) { return int64_t(x > 0) - (x < 0); });
  addUnary<NotOp>(registry, [](double) { return kNaN; }, [](int64_t x, DType) { return ~x; });
  addUnary<ExpOp>(registry, [](double x) { return std::exp(x); });
  addUnary<Expm1Op>(registry, [](double x) { return std::expm1(x); });
  addUnary<LogOp>(registry, [](double x) { return std::log(x); });
  addUnary<Log1pOp>(registry, [](double x) { return std::log1p(x); });
  addUnary<SqrtOp>(registry, [](double x) { return std::sqrt(x); });
  addUnary<RsqrtOp>(registry, [](double x) { return 1.0 / std::sqrt(x); });
  addUnary<TanhOp>(registry, [](double x) { return std::tanh(x); });
  addUnary<LogisticOp>(registry, [](double x) { return 1.0 / (1.0 + std::exp(-x)); });
  addUnary<SinOp>(registry, [](double x) { return std::sin(x); });
  addUnary<CosOp>(registry, [](double x) { return std::cos(x); });
  addUnary<ErfOp>(registry, [](double x) { return std::erf(x); });
  addUnary<FloorOp>(registry, [](double x) { return std::floor(x); });
  addUnary<CeilOp>(registry, [](double x) { return std::ceil(x); });
  addUnary<ReluOp>(registry, [](double x) { return maximum(x, 0.0); });
  addUnary<SiluOp>(registry, [](double x) { return x / (1.0 + std::exp(-x)); });
  registry.add<GeluOp>([](GeluOp op, Operands in, Results out) {
    bool isTanh = op.getApproximate() == GeluApproximation::Tanh;
    for (auto [to, x] : llvm::zip(out[0].floats, in[0].tensor->floats))
      to = 0.5 * x *
           (1.0 + (isTanh ? std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x))
                          : std::erf(x / std::sqrt(2.0))));
  });
}

/// Truncated towards zero and saturated.
int64_t toInteger(double value, DType dtype) {
  if (dtype == DType::I1)
    return value != 0.0;
  if (std::isnan(value))
    return 0;
  double limit = std::ldexp(1.0, int(integerWidth(dtype)) - 1);
  if (value >= limit)
    return wrap(dtype == DType::I64 ? std::numeric_limits<int64_t>::max() : int64_t(limit) - 1,
                dtype);
  if (value < -limit)
    return dtype == DType::I64 ? std::numeric_limits<int64_t>::min() : -int64_t(limit);
  return static_cast<int64_t>(value);
}

void convert(ConvertOp, Operands in, Results out) {
  const Tensor &from = *in[0].tensor;
  Tensor &to = out[0];
  for (int64_t i = 0; i < from.size(); ++i) {
    if (to.isFloat())
      to.floats[i] = from.number(i);
    else if (from.isFloat())
      to.ints[i] = toInteger(from.floats[i], to.dtype);
    else
      to.ints[i] = to.dtype == DType::I1 ? from.ints[i] != 0 : wrap(from.ints[i], to.dtype);
  }
}

template <typename T> bool holds(CompareDirection direction, T x, T y) {
  switch (direction) {
  case CompareDirection::EQ:
    return x == y;
  case CompareDirection::NE:
    return x != y;
  case CompareDirection::LT:
    return x < y;
  case CompareDirection::LE:
    return x <= y;
  case CompareDirection::GT:
    return x > y;
  case CompareDirection::GE:
    return x >= y;
  }
  return false;
}

void compareElements(CompareOp op, Operands in, Results out) {
  const Tensor &x = *in[0].tensor, &y = *in[1].tensor;
  for (int64_t i = 0; i < x.size(); ++i)
    out[0].ints[i] = x.isFloat() ? holds(op.getDirection(), x.floats[i], y.floats[i])
                                 : holds(op.getDirection(), x.ints[i], y.ints[i]);
}
} // namespace

void cleave::interpreter::addElementwiseEvaluators(EvaluatorRegistry &registry) {
  addArithmetic(registry);
  addFunctions(registry);
  registry.add<ConvertOp>(convert);
  registry.add<CompareOp>(compareElements);
  registry.add<SelectOp>([](SelectOp, Operands in, Results out) {
    for (int64_t i = 0; i < out[0].size(); ++i)
      out[0].copyElement(i, in[0].tensor->ints[i] ? *in[1].tensor : *in[2].tensor, i);
  });
  registry.add<ClampOp>([](ClampOp, Operands in, Results out) {
    const Tensor &low = *in[0].tensor, &x = *in[1].tensor, &high = *in[2].tensor;
    for (int64_t i = 0; i < x.size(); ++i) {
      if (x.isFloat())
        out[0].floats[i] = minimum(maximum(x.floats[i], low.floats[i]), high.floats[i]);
      else
        out[0].ints[i] = std::min(std::max(x.ints[i], low.ints[i]), high.ints[i]);
    }
  });
}
