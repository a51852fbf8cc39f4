// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Integers, predicates and random numbers. Every integer is exact, whatever the order of its sums.

#include "ProgramGenerator.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::fuzz;
using namespace cleave::graph;

Value Generator::integerOf(ArrayRef<int64_t> shape, Type type) {
  SmallVector<Value> fitting;
  for (Value value : integers)
    if (PrimitiveBuilder::shapeOf(value) == shape &&
        PrimitiveBuilder::typeOf(value).getElementType() == type)
      fitting.push_back(value);
  if (!fitting.empty() && random.chance(75))
    return random.pick<Value>(fitting);
  Value value = argument(shape, type).value;
  if (random.chance(30)) // some below zero
    value = p.subtract(value, p.splatLike(value, 7));
  integers.push_back(value);
  return value;
}

Value Generator::integerBinary(Value x, Value y) {
  switch (random.below(10)) {
  case 0:
    return p.subtract(x, y);
  case 1:
    return p.multiply(x, y);
  case 2:
    return p.maximum(x, y);
  case 3:
    return p.make<MinimumOp>(x, y);
  case 4:
    return p.make<DivideOp>(x, y);
  case 5:
    return p.make<RemainderOp>(x, y);
  case 6:
    return p.logicalAnd(x, y);
  case 7:
    return random.chance(50) ? p.make<OrOp>(x, y) : p.make<XorOp>(x, y);
  default:
    return p.add(x, y);
  }
}

/// A value of the shape that is true or false.
Value Generator::predicateOf(ArrayRef<int64_t> shape, Type integerType) {
  if (random.chance(25))
    return argument(shape, b.getI1Type()).value;
  static constexpr CompareDirection kDirections[] = {CompareDirection::EQ, CompareDirection::NE,
                                                     CompareDirection::LT, CompareDirection::LE,
                                                     CompareDirection::GT, CompareDirection::GE};
  Value x = integerOf(shape, integerType), y = integerOf(shape, integerType);
  Value result = p.compare(random.pick<CompareDirection>(kDirections), x, y);
  return random.chance(20) ? p.make<NotOp>(result) : result;
}

void Generator::addIntegers() {
  Shape shape = random.chance(60) ? shapeOf(pickValue().value) : randomShape(random.between(1, 3));
  Type type = random.chance(60) ? b.getI64Type() : b.getI32Type();
  Value x = integerOf(shape, type);
  for (int64_t n = random.between(1, 3); n > 0; --n)
    x = integerBinary(x, integerOf(shape, type));
  if (random.chance(30)) { // the product of a sum could leave the numbers that a float holds
    SmallVector<int64_t> dims;
    for (size_t d = 0; d < shape.size(); ++d)
      if (random.chance(50))
        dims.push_back(d);
    static constexpr ReduceKind kKinds[] = {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min};
    Value reduced = p.reduce(random.pick<ReduceKind>(kKinds), x, dims);
    if (random.chance(50))
      x = p.subtract(x, p.broadcastBack(reduced, shape, dims));
    else
      x = reduced;
  }
  integers.push_back(x);
  shape = shapeOf(x);
  switch (random.below(5)) {
  case 0:
    return keep(p.tanh(p.convert(x, floatType())), 1);
  case 1: { // predicates of predicates
    Value predicate = p.logicalAnd(predicateOf(shape, type), predicateOf(shape, type));
    auto [onTrue, bound] = pickShape(shape);
    auto [onFalse, other] = pickShape(shape);
    return keep(p.select(predicate, onTrue, onFalse), std::max(bound, other));
  }
  case 2: { // a predicate that leaves the function
    Value predicate = predicateOf(shape, type);
    integers.push_back(random.chance(50) ? predicate : p.convert(predicate, type));
    return;
  }
  case 3: { // truncation: eighths of an argument are exact in every type
    Value whole = p.convert(p.multiply(argument(shape).value, 8.0), type);
    integers.push_back(whole);
    return keep(p.convert(whole, floatType()), 8);
  }
  default:
    return;
  }
}

void Generator::addRandomNumbers() {
  Type scalar = b.getI64Type();
  auto distribution = random.chance(50) ? RandomDistribution::Uniform : RandomDistribution::Normal;
  Shape shape = randomShape(random.between(1, 3));
  Value seed = argument({}, scalar).value, step = argument({}, scalar).value;
  // Rounded once, to the program's type.
  auto type = RankedTensorType::get(shape, options.floats == FloatKind::F64 ? b.getF64Type()
                                                                            : b.getF32Type());
  Value numbers = RngOp::create(b, p.loc, type, distribution, seed, step, random.below(1000));
  keep(p.convert(numbers, floatType()), 6);
}

DropoutAttr Generator::randomDropout() {
  return DropoutAttr::get(b.getContext(), random.pick<double>({0.1, 0.5, 0.75}),
                          random.below(1000));
}

void Generator::addDropout() {
  auto [x, bound] = pickValue();
  DropoutAttr dropout = randomDropout();
  if (random.chance(20) && rankOf(x) > 0) { // a part of something larger
    SmallVector<int64_t> strides;
    for (unsigned d = 0; d < rankOf(x); ++d)
      strides.push_back(random.below(200));
    dropout = dropout.withPositions(random.below(1000), strides);
  }
  Type scalar = b.getI64Type();
  Value seed = argument({}, scalar).value, step = argument({}, scalar).value;
  keep(p.make<DropoutOp>(x, seed, step, Value(), dropout), bound * dropout.getScale());
}
