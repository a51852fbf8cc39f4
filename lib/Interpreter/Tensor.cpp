// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tensors of the interpreter.

#include "cleave/Interpreter/Tensor.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>

using namespace cleave::interpreter;

namespace interpreter = cleave::interpreter;

unsigned interpreter::integerWidth(DType dtype) {
  switch (dtype) {
  case DType::I1:
    return 1;
  case DType::I8:
    return 8;
  case DType::I16:
    return 16;
  case DType::I32:
    return 32;
  default:
    return 64;
  }
}

std::optional<DType> interpreter::dtypeOf(mlir::Type type) {
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  for (DType dtype : {DType::I1, DType::I8, DType::I16, DType::I32, DType::I64})
    if (type.isSignlessInteger(integerWidth(dtype)))
      return dtype;
  return std::nullopt;
}

llvm::StringRef interpreter::nameOf(DType dtype) {
  static constexpr llvm::StringLiteral names[] = {"f16", "bf16", "f32", "f64", "i1",
                                                  "i8",  "i16",  "i32", "i64"};
  return names[static_cast<unsigned>(dtype)];
}

int64_t interpreter::wrap(int64_t value, DType dtype) {
  switch (dtype) {
  case DType::I1:
    return value & 1;
  case DType::I8:
    return static_cast<int8_t>(value);
  case DType::I16:
    return static_cast<int16_t>(value);
  case DType::I32:
    return static_cast<int32_t>(value);
  default:
    return value;
  }
}

double interpreter::roundTo(double value, DType dtype) {
  if (dtype == DType::F32)
    return static_cast<float>(value);
  if (dtype == DType::F64 || !std::isfinite(value) || value == 0.0)
    return value;
  // Bits of the significand, the exponent of the smallest subnormal, and the largest number.
  int bits = dtype == DType::F16 ? 11 : 8;
  int smallest = dtype == DType::F16 ? -24 : -133;
  double largest = dtype == DType::F16 ? 65504.0 : 3.3895313892515355e38;
  int exponent;
  std::frexp(value, &exponent);
  int unit = std::max(exponent - bits, smallest);
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::abs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                     : rounded;
}

int64_t interpreter::elementCount(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

llvm::SmallVector<int64_t> interpreter::stridesOf(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t d = int64_t(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

Tensor::Tensor(DType dtype, llvm::ArrayRef<int64_t> shape)
    : dtype(dtype), shape(shape.begin(), shape.end()) {
  if (isFloat())
    floats.assign(elementCount(shape), 0.0);
  else
    ints.assign(elementCount(shape), 0);
}

Tensor Tensor::ofFloats(DType dtype, llvm::ArrayRef<int64_t> shape, std::vector<double> values) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.floats = std::move(values);
  return tensor;
}

Tensor Tensor::ofInts(DType dtype, llvm::ArrayRef<int64_t> shape, std::vector<int64_t> values) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.ints = std::move(values);
  return tensor;
}

Tensor Tensor::ofType(mlir::RankedTensorType type) {
  return Tensor(dtypeOf(type.getElementType()).value_or(DType::F64), type.getShape());
}

Tensor Tensor::ofAttribute(mlir::DenseElementsAttr value) {
  Tensor tensor = ofType(mlir::cast<mlir::RankedTensorType>(value.getType()));
  if (tensor.isFloat()) {
    auto toDouble = [](llvm::APFloat number) {
      bool losesInfo;
      number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      return number.convertToDouble();
    };
    if (value.isSplat())
      std::fill(tensor.floats.begin(), tensor.floats.end(),
                toDouble(value.getSplatValue<llvm::APFloat>()));
    else
      for (auto [i, number] : llvm::enumerate(value.getValues<llvm::APFloat>()))
        tensor.floats[i] = toDouble(number);
    return tensor;
  }
  auto toInteger = [&](const llvm::APInt &number) {
    return wrap(static_cast<int64_t>(number.getZExtValue()), tensor.dtype);
  };
  if (value.isSplat())
    std::fill(tensor.ints.begin(), tensor.ints.end(),
              toInteger(value.getSplatValue<llvm::APInt>()));
  else
    for (auto [i, number] : llvm::enumerate(value.getValues<llvm::APInt>()))
      tensor.ints[i] = toInteger(number);
  return tensor;
}

void Tensor::poison(int64_t index) {
  if (isFloat())
    floats[index] = std::numeric_limits<double>::quiet_NaN();
  else
    ints[index] = wrap(0x5bad5bad5bad5bad, dtype);
}

void Tensor::round() {
  if (dtype == DType::F64)
    return;
  for (double &value : floats)
    value = roundTo(value, dtype);
}

bool Tensor::hasType(mlir::RankedTensorType type) const {
  return dtypeOf(type.getElementType()) == dtype && type.getShape() == llvm::ArrayRef(shape);
}

std::string interpreter::toString(const Tensor &tensor, int64_t limit) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "tensor<";
  for (int64_t size : tensor.shape)
    os << size << "x";
  os << nameOf(tensor.dtype) << "> ";
  auto print = [&](int64_t index) {
    if (tensor.isFloat())
      os << llvm::format("%.6g", tensor.floats[index]);
    else
      os << tensor.ints[index];
  };
  int64_t count = tensor.size();
  if (count > limit) {
    double sum = 0, least = tensor.number(0), most = least;
    for (int64_t i = 0; i < count; ++i) {
      sum += tensor.number(i);
      least = std::min(least, tensor.number(i));
      most = std::max(most, tensor.number(i));
    }
    os << llvm::format("sum %.6g min %.6g max %.6g", sum, least, most);
    return text;
  }
  // Recursion over dimensions: brackets around each row of elements.
  int64_t next = 0;
  auto printDim = [&](auto &self, unsigned dim) -> void {
    if (dim == tensor.shape.size())
      return print(next++);
    os << "[";
    for (int64_t i = 0; i < tensor.shape[dim]; ++i) {
      if (i > 0)
        os << ", ";
      self(self, dim + 1);
    }
    os << "]";
  };
  printDim(printDim, 0);
  return text;
}

Tensor interpreter::randomTensor(DType dtype, llvm::ArrayRef<int64_t> shape, uint64_t seed,
                                 int64_t intLimit) {
  Tensor tensor(dtype, shape);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  // The splitmix64 generator.
  auto next = [&] {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  for (double &value : tensor.floats)
    value = roundTo(static_cast<double>(next() >> 11) * 0x1p-52 - 1.0, dtype);
  uint64_t limit = dtype == DType::I1 ? 2 : static_cast<uint64_t>(std::max<int64_t>(intLimit, 1));
  for (int64_t &value : tensor.ints)
    value = wrap(static_cast<int64_t>(next() % limit), dtype);
  return tensor;
}

Difference interpreter::compare(const Tensor &a, const Tensor &b) {
  Difference difference;
  if (a.dtype != b.dtype || a.shape != b.shape) {
    difference.sameType = false;
    return difference;
  }
  for (int64_t i = 0; i < a.size(); ++i) {
    double x = a.number(i), y = b.number(i), absolute, relative;
    if (x == y || (std::isnan(x) && std::isnan(y))) {
      absolute = relative = 0;
    } else if (std::isfinite(x) && std::isfinite(y)) {
      absolute = std::abs(x - y);
      relative = absolute / std::max(1.0, std::abs(y));
    } else {
      absolute = relative = std::numeric_limits<double>::infinity();
    }
    difference.absolute = std::max(difference.absolute, absolute);
    if (relative > difference.relative || difference.index < 0) {
      difference.relative = std::max(difference.relative, relative);
      difference.index = i;
    }
  }
  return difference;
}
