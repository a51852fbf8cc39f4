// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "drivers/host/float_conversion.h"
#include "drivers/host/gemm_plans.h"
#include <algorithm>

namespace cleave::host {
namespace {

/// Rows, columns and depth of a block. An element that is converted takes part in 2 * kBlock
/// operations, beside which the conversion is small.
constexpr int64_t kBlock = 512;

void widen(fb::DType dtype, const void *from, float *to, int64_t count) {
  auto *half = static_cast<const uint16_t *>(from);
  dtype == fb::DType::BF16 ? bf16ToF32(half, to, count) : f16ToF32(half, to, count);
}
void narrow(fb::DType dtype, const float *from, void *to, int64_t count) {
  auto *half = static_cast<uint16_t *>(to);
  dtype == fb::DType::BF16 ? f32ToBf16(from, half, count) : f32ToF16(from, half, count);
}

class ConvertedPlan : public GemmPlan {
public:
  explicit ConvertedPlan(const Product &product)
      : product_(product), rows_(std::min(product.m, kBlock)),
        columns_(std::min(product.n, kBlock)), depth_(std::min(product.k, kBlock)) {
    method_ = absl::StrCat("sgemm of converted ", fb::EnumNameDType(product.dtypeAB));
    aFloats_ = rounded(rows_ * depth_);
    bFloats_ = rounded(depth_ * columns_);
    int64_t cFloats = product.dtypeC == fb::DType::F32 ? 0 : rounded(rows_ * columns_);
    scratchBytes_ = size_t(aFloats_ + bFloats_ + cFloats) * sizeof(float);
  }

private:
  static int64_t rounded(int64_t floats) { return (floats + 15) / 16 * 16; }

  absl::Status execute(const void *a, const void *b, void *c, void *scratch) const override {
    const Product &p = product_;
    for (int64_t batch = 0; batch < p.batch; ++batch)
      for (int64_t i = 0; i < p.m; i += kBlock)
        for (int64_t j = 0; j < p.n; j += kBlock) {
          absl::Status status = block(advance(a, p.aOffset(batch) + i * p.a.row, p.dtypeAB),
                                      advance(b, p.bOffset(batch) + j * p.b.column, p.dtypeAB),
                                      advance(c, p.cOffset(batch) + i * p.c.row + j, p.dtypeC),
                                      std::min(p.m - i, kBlock), std::min(p.n - j, kBlock),
                                      static_cast<float *>(scratch));
          if (!status.ok())
            return status;
        }
    return absl::OkStatus();
  }

  /// m x n elements of C from all of k.
  absl::Status block(const void *a, const void *b, void *c, int64_t m, int64_t n,
                     float *scratch) const {
    const Product &p = product_;
    float *aBlock = scratch, *bBlock = aBlock + aFloats_;
    bool wide = p.dtypeC == fb::DType::F32;
    float *sum = wide ? static_cast<float *>(c) : bBlock + bFloats_;
    int64_t sumStride = wide ? p.c.row : n;
    if (!wide && p.accumulate)
      for (int64_t i = 0; i < m; ++i)
        widen(p.dtypeC, advance(c, i * p.c.row, p.dtypeC), sum + i * n, n);
    for (int64_t l = 0; l < p.k; l += kBlock) {
      int64_t k = std::min(p.k - l, kBlock);
      int64_t lda = widenMatrix(advance(a, l * p.a.column, p.dtypeAB), p.a, m, k, aBlock);
      int64_t ldb = widenMatrix(advance(b, l * p.b.row, p.dtypeAB), p.b, k, n, bBlock);
      absl::Status status = sgemm(!p.a.rowMajor(), !p.b.rowMajor(), m, n, k, aBlock, lda, bBlock,
                                  ldb, p.accumulate || l > 0, sum, sumStride);
      if (!status.ok())
        return status;
    }
    if (!wide)
      for (int64_t i = 0; i < m; ++i)
        narrow(p.dtypeC, sum + i * n, advance(c, i * p.c.row, p.dtypeC), n);
    return absl::OkStatus();
  }

  /// Keeps the order that the matrix is stored in; returns the leading dimension.
  int64_t widenMatrix(const void *from, const MatrixStrides &strides, int64_t rows, int64_t columns,
                      float *to) const {
    int64_t lines = strides.rowMajor() ? rows : columns;
    int64_t length = strides.rowMajor() ? columns : rows;
    for (int64_t i = 0; i < lines; ++i)
      widen(product_.dtypeAB, advance(from, i * strides.leading(), product_.dtypeAB),
            to + i * length, length);
    return length;
  }

  Product product_;
  int64_t rows_, columns_, depth_, aFloats_, bFloats_;
};

} // namespace

GemmPlanPtr planConverted(const Product &product) {
  return std::make_unique<ConvertedPlan>(product);
}

} // namespace cleave::host
