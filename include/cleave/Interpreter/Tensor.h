// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tensors of the interpreter: plain values, floats held as f64 and integers as i64.

#ifndef CLEAVE_INTERPRETER_TENSOR_H
#define CLEAVE_INTERPRETER_TENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace cleave::interpreter {

enum class DType : uint8_t { F16, BF16, F32, F64, I1, I8, I16, I32, I64 };

inline bool isFloat(DType dtype) { return dtype <= DType::F64; }
/// Bits of an integer type.
unsigned integerWidth(DType dtype);
/// Empty for element types that graph tensors do not have.
std::optional<DType> dtypeOf(mlir::Type elementType);
llvm::StringRef nameOf(DType dtype);

/// The integer in `width` bits, sign extended; 0 or 1 for i1.
int64_t wrap(int64_t value, DType dtype);
/// The nearest number of a float type, ties to even.
double roundTo(double value, DType dtype);

/// A dense row-major tensor. Floats are held as f64 whatever the type, integers wrapped to theirs;
/// of the two vectors the one that the type does not use is empty.
struct Tensor {
  DType dtype = DType::F64;
  llvm::SmallVector<int64_t> shape;
  std::vector<double> floats;
  std::vector<int64_t> ints;

  Tensor() = default;
  /// Zeros.
  Tensor(DType dtype, llvm::ArrayRef<int64_t> shape);
  static Tensor ofFloats(DType dtype, llvm::ArrayRef<int64_t> shape, std::vector<double> values);
  static Tensor ofInts(DType dtype, llvm::ArrayRef<int64_t> shape, std::vector<int64_t> values);
  /// The elements of a dense attribute.
  static Tensor ofAttribute(mlir::DenseElementsAttr value);
  /// A zero tensor of a type, whose shape is that of the type: local for a local type.
  static Tensor ofType(mlir::RankedTensorType type);

  bool isFloat() const { return interpreter::isFloat(dtype); }
  int64_t rank() const { return shape.size(); }
  int64_t size() const { return isFloat() ? floats.size() : ints.size(); }
  /// The element as a number, whatever the type.
  double number(int64_t index) const { return isFloat() ? floats[index] : double(ints[index]); }
  /// Copies one element of a tensor of the same type.
  void copyElement(int64_t to, const Tensor &from, int64_t index) {
    if (isFloat())
      floats[to] = from.floats[index];
    else
      ints[to] = from.ints[index];
  }
  /// Overwrites one element with what uninitialised memory may hold: NaN, or a large negative
  /// number.
  void poison(int64_t index);
  /// Rounds floats to the type.
  void round();
  bool hasType(mlir::RankedTensorType type) const;
};

/// Elements a step along each dimension moves by, row-major.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);
int64_t elementCount(llvm::ArrayRef<int64_t> shape);

/// Counts through the indices of a shape in row-major order.
class IndexCounter {
public:
  explicit IndexCounter(llvm::ArrayRef<int64_t> shape)
      : shape(shape.begin(), shape.end()), index(shape.size(), 0) {}
  llvm::ArrayRef<int64_t> operator*() const { return index; }
  void next() {
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
      if (++index[d] < shape[d])
        return;
      index[d] = 0;
    }
  }

private:
  llvm::SmallVector<int64_t> shape, index;
};

/// `tensor<2x2xf32> [[1, 2], [3, 4]]`, six significant digits; of more than `limit` elements only
/// the sum, the smallest and the largest are given.
std::string toString(const Tensor &tensor, int64_t limit = 64);

/// A tensor of random numbers that depend on the seed and the shape only: floats uniform in
/// [-1, 1), integers in [0, intLimit), i1 both values.
Tensor randomTensor(DType dtype, llvm::ArrayRef<int64_t> shape, uint64_t seed,
                    int64_t intLimit = 16);

/// Where two tensors differ most.
struct Difference {
  bool sameType = true;
  double absolute = 0; ///< largest |a - b|; infinite where just one is NaN or the infinities differ
  double relative = 0; ///< largest |a - b| / max(1, |b|)
  int64_t index = -1;  ///< row-major index of the largest relative difference
};
Difference compare(const Tensor &a, const Tensor &b);

} // namespace cleave::interpreter

#endif // CLEAVE_INTERPRETER_TENSOR_H
