// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#include "drivers/host/gemm.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "drivers/host/gemm_plans.h"
#include <algorithm>
#include <cstring>
#include <utility>

namespace cleave::host {
namespace {

/// Scratch memory beyond which a product is done in parts.
constexpr size_t kMaxScratch = size_t(16) << 20;

absl::Status invalid(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("gemm: ", what));
}

/// True if the strides are of a row-major or column-major matrix whose elements do not overlap.
bool isMatrix(const MatrixStrides &x, int64_t rows, int64_t columns) {
  return (x.column == 1 && x.row >= columns) || (x.row == 1 && x.column >= rows);
}

/// Gives dimensions of size 1 a stride that fits the others.
void normalise(MatrixStrides &x, int64_t rows, int64_t columns) {
  if (rows == 1 && columns == 1) {
    x.row = x.column = 1;
  } else if (columns == 1) {
    x.column = 1;
  } else if (rows == 1) {
    x.row = x.column == 1 ? columns : 1;
  }
}

absl::Status checkOperand(const char *name, const MatrixStrides &x, int64_t batch, int64_t rows,
                          int64_t columns) {
  if (x.batch < 0 || !isMatrix(x, rows, columns))
    return invalid(absl::StrCat("the strides of ", name, " (", x.batch, ", ", x.row, ", ", x.column,
                                ") do not make ", batch, " row-major or column-major ", rows, " x ",
                                columns, " matrices without overlap"));
  int64_t last = 0, bytes = 0;
  for (auto [size, stride] :
       {std::pair(batch, x.batch), std::pair(rows, x.row), std::pair(columns, x.column)}) {
    int64_t reach;
    if (__builtin_mul_overflow(size - 1, stride, &reach) ||
        __builtin_add_overflow(last, reach, &last) || __builtin_mul_overflow(last, 16, &bytes))
      return invalid(absl::StrCat(name, " is larger than memory can be"));
  }
  return absl::OkStatus();
}

/// The normal form of a description that is not empty; `transposed` says that A and B are
/// exchanged.
absl::StatusOr<Product> normalForm(const GemmDesc &desc, bool &transposed) {
  Product p = {desc.dtypeAB, desc.dtypeC, desc.batch, desc.m, desc.n,
               desc.k,       {},          {},         {},     desc.accumulate};
  auto strides = [&](const std::array<int64_t, 3> &s) {
    return MatrixStrides{desc.batch == 1 ? 0 : s[0], s[1], s[2]};
  };
  p.a = strides(desc.aStrides);
  p.b = strides(desc.bStrides);
  p.c = strides(desc.cStrides);
  normalise(p.a, p.m, p.k);
  normalise(p.b, p.k, p.n);
  normalise(p.c, p.m, p.n);
  for (absl::Status status :
       {checkOperand("A", p.a, p.batch, p.m, p.k), checkOperand("B", p.b, p.batch, p.k, p.n),
        checkOperand("C", p.c, p.batch, p.m, p.n)})
    if (!status.ok())
      return status;
  if (p.batch > 1 && p.c.batch == 0)
    return invalid("the batch stride of C must not be 0");

  // C^T = B^T A^T makes C row-major.
  transposed = !p.c.rowMajor();
  if (transposed) {
    auto flipped = [](const MatrixStrides &x) { return MatrixStrides{x.batch, x.column, x.row}; };
    MatrixStrides a = flipped(p.b);
    p.b = flipped(p.a);
    p.a = a;
    p.c = flipped(p.c);
    std::swap(p.m, p.n);
    normalise(p.a, p.m, p.k);
    normalise(p.b, p.k, p.n);
    normalise(p.c, p.m, p.n);
  }
  if (p.batch == 1)
    return p;

  // A batch that shares B is more rows, one that shares A is more columns, if they lie so.
  Product folded = p;
  folded.batch = 1;
  folded.a.batch = folded.b.batch = folded.c.batch = 0;
  if (p.b.batch == 0) {
    folded.m = p.batch * p.m;
    if (p.m == 1 && p.a.rowMajor()) {
      folded.a.row = p.a.batch;
      folded.c.row = p.c.batch;
    } else if (p.a.batch != p.m * p.a.row || p.c.batch != p.m * p.c.row) {
      return p;
    }
    normalise(folded.b, folded.k, folded.n);
  } else if (p.a.batch == 0) {
    folded.n = p.batch * p.n;
    if (p.n == 1 || p.b.batch != p.n * p.b.column || p.c.batch != p.n)
      return p;
  } else {
    return p;
  }
  bool fits = folded.c.rowMajor() && isMatrix(folded.a, folded.m, folded.k) &&
              isMatrix(folded.b, folded.k, folded.n) && isMatrix(folded.c, folded.m, folded.n);
  return fits ? folded : p;
}

/// Nothing to sum: zeros, or nothing at all.
class EmptyPlan : public GemmPlan {
public:
  explicit EmptyPlan(const GemmDesc &desc) : desc_(desc) { method_ = "empty"; }

private:
  absl::Status execute(const void *, const void *, void *c, void *) const override {
    if (desc_.accumulate)
      return absl::OkStatus();
    size_t width = size_t(sizeOfElement(desc_.dtypeC));
    auto [batchStride, row, column] = desc_.cStrides;
    for (int64_t b = 0; b < desc_.batch; ++b)
      for (int64_t i = 0; i < desc_.m; ++i)
        for (int64_t j = 0; j < desc_.n; ++j)
          std::memset(advance(c, b * batchStride + i * row + j * column, desc_.dtypeC), 0, width);
    return absl::OkStatus();
  }
  GemmDesc desc_;
};

/// Two halves of the rows, one after the other.
class SplitPlan : public GemmPlan {
public:
  SplitPlan(GemmPlanPtr first, GemmPlanPtr second, const Product &product, int64_t rows)
      : first_(std::move(first)), second_(std::move(second)), product_(product), rows_(rows) {
    scratchBytes_ = std::max(first_->scratchBytes(), second_->scratchBytes());
    method_ = first_->method();
  }

private:
  absl::Status execute(const void *a, const void *b, void *c, void *scratch) const override {
    if (absl::Status status = first_->run(a, b, c, scratch); !status.ok())
      return status;
    return second_->run(advance(a, rows_ * product_.a.row, product_.dtypeAB), b,
                        advance(c, rows_ * product_.c.row, product_.dtypeC), scratch);
  }
  GemmPlanPtr first_, second_;
  Product product_;
  int64_t rows_;
};

absl::StatusOr<GemmPlanPtr> planSplit(const Product &product) {
  int64_t rows = (product.m / 2 + 63) / 64 * 64;
  Product first = product, second = product;
  first.m = rows;
  second.m = product.m - rows;
  for (Product *half : {&first, &second}) {
    normalise(half->a, half->m, half->k);
    normalise(half->c, half->m, half->n);
  }
  auto firstPlan = planProduct(first);
  if (!firstPlan.ok())
    return firstPlan.status();
  auto secondPlan = planProduct(second);
  if (!secondPlan.ok())
    return secondPlan.status();
  return GemmPlanPtr(
      std::make_unique<SplitPlan>(std::move(*firstPlan), std::move(*secondPlan), product, rows));
}

} // namespace

absl::StatusOr<GemmPlanPtr> planProduct(const Product &product) {
  if (product.dtypeAB == fb::DType::F32) {
    // Measured: sgemm reads a matrix at once where the primitive first copies it, which shows when
    // few rows share the copy.
    bool few =
        product.m == 1 || product.n == 1 ||
        (product.a.rowMajor() && (product.m <= 4 || (product.b.rowMajor() && product.m <= 32)));
    GemmPlanPtr plan = few && product.batch == 1 ? nullptr : planMatmul(product, false);
    return plan ? std::move(plan) : planSgemm(product);
  }
  if (product.dtypeAB == fb::DType::BF16 && multipliesBf16()) {
    GemmPlanPtr plan = planMatmul(product, false);
    if (!plan && product.batch > 1)
      plan = planMatmul(product, true);
    if (plan && plan->scratchBytes() > kMaxScratch && product.m > 64)
      return planSplit(product);
    if (plan)
      return plan;
  }
  return planConverted(product);
}

absl::StatusOr<std::unique_ptr<const GemmPlan>> GemmPlan::create(const GemmDesc &desc) {
  if (desc.dtypeAB != fb::DType::F32 && desc.dtypeAB != fb::DType::BF16 &&
      desc.dtypeAB != fb::DType::F16)
    return invalid(
        absl::StrCat("A and B must be F32, BF16 or F16, found ", fb::EnumNameDType(desc.dtypeAB)));
  if (desc.dtypeC != fb::DType::F32 && desc.dtypeC != desc.dtypeAB)
    return invalid(absl::StrCat("C must be F32 or ", fb::EnumNameDType(desc.dtypeAB), ", found ",
                                fb::EnumNameDType(desc.dtypeC)));
  for (auto [name, size] : {std::pair("batch", desc.batch), std::pair("m", desc.m),
                            std::pair("n", desc.n), std::pair("k", desc.k)})
    if (size < 0)
      return invalid(absl::StrCat(name, " must not be negative, found ", size));
  static const bool hasBaseline = __builtin_cpu_supports("x86-64-v3");
  if (!hasBaseline)
    return absl::FailedPreconditionError(
        "gemm: this processor has no AVX2 and FMA (x86-64-v3), which Cleave needs");

  GemmPlanPtr plan;
  bool transposed = false;
  if (desc.batch == 0 || desc.m == 0 || desc.n == 0 || desc.k == 0) {
    plan = std::make_unique<EmptyPlan>(desc);
  } else {
    absl::StatusOr<Product> product = normalForm(desc, transposed);
    if (!product.ok())
      return product.status();
    absl::StatusOr<GemmPlanPtr> made = planProduct(*product);
    if (!made.ok())
      return made.status();
    plan = std::move(*made);
  }
  plan->desc_ = desc;
  plan->transposed_ = transposed;
  return std::unique_ptr<const GemmPlan>(std::move(plan));
}

size_t GemmCache::Hash::operator()(const GemmDesc &desc) const {
  return absl::HashOf(int(desc.dtypeAB), int(desc.dtypeC), desc.batch, desc.m, desc.n, desc.k,
                      desc.aStrides, desc.bStrides, desc.cStrides, desc.accumulate);
}

absl::StatusOr<const GemmPlan *> GemmCache::get(const GemmDesc &desc) {
  std::lock_guard lock(mutex_);
  if (auto found = plans_.find(desc); found != plans_.end())
    return found->second.get();
  auto plan = GemmPlan::create(desc);
  if (!plan.ok())
    return plan.status();
  scratchBytes_ = std::max(scratchBytes_, (*plan)->scratchBytes());
  return (plans_[desc] = std::move(*plan)).get();
}

size_t GemmCache::scratchBytes() const {
  std::lock_guard lock(mutex_);
  return scratchBytes_;
}

} // namespace cleave::host
