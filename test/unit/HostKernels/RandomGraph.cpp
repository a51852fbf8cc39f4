// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "RandomGraph.h"

#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;

namespace cleave::test {
namespace {

using Shape = SmallVector<int64_t>;

class Generator {
public:
  Generator(OpBuilder &builder, std::mt19937_64 &random)
      : b_(builder, builder.getUnknownLoc()), random_(random) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  Value pick() { return values_[below(values_.size())]; }
  void add(Value value) { values_.push_back(value); }
  void addIds(Value value) { ids_.push_back(value); }
  ArrayRef<Value> values() const { return values_; }

  /// One more value.
  void step() {
    Value x = pick();
    RankedTensorType type = b_.typeOf(x);
    Shape shape(type.getShape());
    int64_t rank = shape.size();
    switch (below(16)) {
    case 0:
    case 1:
      return add(unary(x));
    case 2:
    case 3:
    case 4:
      return add(binary(x, sameShape(shape)));
    case 5:
      return add(broadcast(x));
    case 6:
    case 7:
      return add(reduce(x));
    case 8:
      return add(transpose(x));
    case 9:
      return add(slice(x));
    case 10:
      return add(pad(x));
    case 11: {
      int64_t dim = rank ? below(rank) : -1;
      if (dim < 0)
        return;
      return add(b_.make<graph::ConcatenateOp>(ValueRange{x, sameShape(shape)}, dim));
    }
    case 12:
      return add(reshape(x));
    case 13:
      return add(norm(x));
    case 14:
      return add(masked(x));
    default:
      return add(chance(50) ? product(x) : lookUp(x));
    }
  }

private:
  /// A value of this shape: one that is there, or one made of a row or a number.
  Value sameShape(ArrayRef<int64_t> shape) {
    SmallVector<Value> fitting;
    for (Value value : values_)
      if (b_.shapeOf(value) == shape)
        fitting.push_back(value);
    if (chance(70))
      return fitting[below(fitting.size())];
    for (int tries = 0; tries < 4; ++tries) {
      Value value = pick();
      ArrayRef<int64_t> from = b_.shapeOf(value);
      if (from.size() > shape.size())
        continue;
      SmallVector<int64_t> dims;
      for (size_t d = 0; d < shape.size() && dims.size() < from.size(); ++d)
        if (from[dims.size()] == shape[d] || from[dims.size()] == 1)
          dims.push_back(d);
      if (dims.size() == from.size())
        return b_.broadcast(value, shape, dims);
    }
    return b_.splat(shape, b_.builder.getF32Type(), 0.25 * (below(9) - 4));
  }

  Value unary(Value x) {
    switch (below(7)) {
    case 0:
      return b_.negate(x);
    case 1:
      return b_.tanh(x);
    case 2:
      return b_.make<graph::LogisticOp>(x);
    case 3:
      return b_.make<graph::SinOp>(x);
    case 4:
      return b_.exp(b_.tanh(x));
    case 5:
      return b_.make<graph::SiluOp>(x);
    default:
      return b_.make<graph::GeluOp>(x, graph::GeluApproximation::Tanh);
    }
  }

  Value binary(Value x, Value y) {
    switch (below(5)) {
    case 0:
      return b_.add(x, y);
    case 1:
      return b_.subtract(x, y);
    case 2:
      return b_.tanh(b_.multiply(x, y));
    case 3:
      return b_.maximum(x, y);
    default:
      return b_.make<graph::MinimumOp>(x, y);
    }
  }

  Value broadcast(Value x) {
    Shape shape(b_.shapeOf(x));
    if (shape.size() >= 4)
      return b_.negate(x);
    int64_t at = below(shape.size() + 1);
    shape.insert(shape.begin() + at, 1 + below(5));
    SmallVector<int64_t> dims;
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
      if (d != at)
        dims.push_back(d);
    return b_.broadcast(x, shape, dims);
  }

  Value reduce(Value x) {
    int64_t rank = b_.shapeOf(x).size();
    SmallVector<int64_t> dims;
    if (chance(60)) { // trailing, as norms and losses have it
      for (int64_t d = below(rank + 1); d < rank; ++d)
        dims.push_back(d);
    } else {
      for (int64_t d = 0; d < rank; ++d)
        if (chance(40))
          dims.push_back(d);
    }
    static const graph::ReduceKind kinds[] = {graph::ReduceKind::Sum, graph::ReduceKind::Max,
                                              graph::ReduceKind::Min};
    Value result = b_.reduce(kinds[below(3)], x, dims);
    return chance(50) ? b_.tanh(result) : b_.multiply(result, 0.125);
  }

  Value transpose(Value x) {
    SmallVector<int64_t> perm(b_.shapeOf(x).size());
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random_);
    return b_.make<graph::TransposeOp>(x, perm);
  }

  Value slice(Value x) {
    Shape starts, limits, strides;
    for (int64_t size : b_.shapeOf(x)) {
      starts.push_back(below(size));
      limits.push_back(starts.back() + 1 + below(size - starts.back()));
      strides.push_back(1 + below(2));
    }
    return b_.make<graph::SliceOp>(x, starts, limits, strides);
  }

  Value pad(Value x) {
    Shape low, high, interior;
    for (int64_t size : b_.shapeOf(x)) {
      low.push_back(below(4) - 1);
      high.push_back(below(3));
      interior.push_back(chance(20));
      if (low.back() < 0 && size == 1)
        low.back() = 0;
    }
    Value filler = b_.splat({}, b_.builder.getF32Type(), 0.5);
    return b_.make<graph::PadOp>(x, filler, low, high, interior);
  }

  Value reshape(Value x) {
    ArrayRef<int64_t> from = b_.shapeOf(x);
    int64_t count = std::accumulate(from.begin(), from.end(), int64_t(1), std::multiplies<>());
    Shape shape;
    while (shape.size() < 3 && (count > 1 || chance(30))) {
      int64_t factor = 1 + below(6);
      if (count % factor == 0) {
        shape.push_back(factor);
        count /= factor;
      }
    }
    shape.push_back(count);
    return b_.make<graph::ReshapeOp>(x, shape);
  }

  Value norm(Value x) {
    ArrayRef<int64_t> shape = b_.shapeOf(x);
    if (shape.empty() || shape.back() < 2)
      return b_.negate(x);
    Value weight = chance(50) ? sameShapeOrSplat({shape.back()}) : Value();
    if (chance(50))
      return b_.make<graph::RmsNormOp>(x, weight, 0.1);
    return b_.make<graph::LayerNormOp>(x, weight, Value(), 0.1);
  }

  Value sameShapeOrSplat(ArrayRef<int64_t> shape) {
    for (Value value : values_)
      if (b_.shapeOf(value) == shape && chance(70))
        return value;
    return b_.splat(shape, b_.builder.getF32Type(), 1.25);
  }

  /// A choice by position, as masks make it.
  Value masked(Value x) {
    ArrayRef<int64_t> shape = b_.shapeOf(x);
    if (shape.empty())
      return b_.tanh(x);
    Type i64 = b_.builder.getI64Type();
    Value position = b_.iota(shape, i64, below(shape.size()));
    Value here = b_.compare(graph::CompareDirection::LT, position, b_.splat(shape, i64, below(4)));
    return b_.select(here, x, b_.splatLike(x, -0.5));
  }

  Value product(Value x) {
    ArrayRef<int64_t> shape = b_.shapeOf(x);
    if (shape.size() < 2)
      return b_.tanh(x);
    int64_t last = shape.size() - 1;
    for (Value y : values_) {
      ArrayRef<int64_t> other = b_.shapeOf(y);
      if (other.size() < 2 || other.size() > 3 || shape.size() + other.size() > 6)
        continue;
      for (int64_t d = 0; d < static_cast<int64_t>(other.size()); ++d)
        if (other[d] == shape[last] && chance(60))
          return b_.tanh(b_.make<graph::DotGeneralOp>(x, y, ArrayRef<int64_t>{},
                                                      ArrayRef<int64_t>{}, ArrayRef<int64_t>{last},
                                                      ArrayRef<int64_t>{d}));
    }
    return b_.tanh(x);
  }

  Value lookUp(Value x) {
    if (b_.shapeOf(x).size() != 2 || ids_.empty())
      return b_.negate(x);
    return b_.make<graph::EmbeddingOp>(ids_[below(ids_.size())], x);
  }

  graph::PrimitiveBuilder b_;
  std::mt19937_64 &random_;
  std::vector<Value> values_, ids_;
};

} // namespace

func::FuncOp makeRandomGraph(ModuleOp module, StringRef name, int size, std::mt19937_64 &random) {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  SmallVector<Type> arguments;
  for (int i = 0; i < 3; ++i) {
    SmallVector<int64_t> shape;
    for (int64_t rank = 1 + below(3); rank > 0; --rank)
      shape.push_back(1 + below(7));
    arguments.push_back(RankedTensorType::get(shape, builder.getF32Type()));
  }
  arguments.push_back(RankedTensorType::get({1 + below(3), 1 + below(4)}, builder.getI64Type()));
  auto function = func::FuncOp::create(builder, builder.getUnknownLoc(), name,
                                       builder.getFunctionType(arguments, {}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  Generator generator(builder, random);
  for (Value argument : entry->getArguments().drop_back())
    generator.add(argument);
  generator.addIds(entry->getArguments().back());
  for (int i = 0; i < size; ++i)
    generator.step();

  SmallVector<Value> results = {generator.values().back()};
  for (int64_t more = below(3); more > 0; --more)
    results.push_back(generator.pick());
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  function.setFunctionType(builder.getFunctionType(arguments, TypeRange(ValueRange(results))));
  return function;
}

} // namespace cleave::test
