// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The inside of gemm.h: a product in its normal form, and the ways to compute it.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_GEMM_PLANS_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_GEMM_PLANS_H

#include "drivers/host/gemm.h"

namespace cleave::host {

/// Strides of an operand's batch, rows and columns, in elements.
struct MatrixStrides {
  int64_t batch, row, column;
  bool rowMajor() const { return column == 1; }
  /// From one row (row-major) or column (column-major) to the next.
  int64_t leading() const { return rowMajor() ? row : column; }
};

/// A product that has something to compute, in normal form: C is row-major; strides of dimensions
/// of size 1 are such that each operand is row-major or column-major with no overlap; the batch is
/// as small as can be; the batch stride is 0 if the batch is 1.
struct Product {
  fb::DType dtypeAB, dtypeC;
  int64_t batch, m, n, k;
  MatrixStrides a, b, c;
  bool accumulate;

  int64_t aOffset(int64_t i) const { return i * a.batch; }
  int64_t bOffset(int64_t i) const { return i * b.batch; }
  int64_t cOffset(int64_t i) const { return i * c.batch; }
};

using GemmPlanPtr = std::unique_ptr<GemmPlan>;

/// The plan of the fastest method that can do the product.
absl::StatusOr<GemmPlanPtr> planProduct(const Product &product);

/// oneDNN's plain matrix product, f32 only. Any strides, no preparation, quick for few rows.
GemmPlanPtr planSgemm(const Product &product);
/// oneDNN's matmul primitive. Null if oneDNN has no compiled kernel for it, only its slow
/// reference. `batchLoop`: the primitive does one matrix at a time.
GemmPlanPtr planMatmul(const Product &product, bool batchLoop);
/// Blocks converted to f32 for sgemm: types that the processor has no product for.
GemmPlanPtr planConverted(const Product &product);
/// True if oneDNN multiplies bf16 natively on this processor.
bool multipliesBf16();

inline int64_t sizeOfElement(fb::DType dtype) { return dtype == fb::DType::F32 ? 4 : 2; }
template <typename T> T *advance(T *base, int64_t elements, fb::DType dtype) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return static_cast<Byte *>(base) + elements * sizeOfElement(dtype);
}

/// C (m x n, leading dimension ldc) = or += A B in f32, on the calling thread only. `transposed`:
/// the operand is stored column-major.
absl::Status sgemm(bool aTransposed, bool bTransposed, int64_t m, int64_t n, int64_t k,
                   const float *a, int64_t lda, const float *b, int64_t ldb, bool accumulate,
                   float *c, int64_t ldc);

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_GEMM_PLANS_H
