// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products on one core: C[b,m,n] = sum_k A[b,m,k] B[b,k,n] (+ C).
//
// A plan is made once for a description (shapes, strides, types) and then runs any number of times,
// from any number of threads at once, each with its own scratch memory. A run uses the calling
// thread and no other, and leaves the thread's OpenMP settings as it found them. Equal operands
// give equal bits on every run on one machine.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_GEMM_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_GEMM_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cleave/schema/executable_generated.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace cleave::host {

/// What is multiplied. Strides are in elements, for (batch, m, k) of A, (batch, k, n) of B and
/// (batch, m, n) of C. One of the last two strides of each operand is 1 (strides of dimensions of
/// size 1 do not matter), none is negative, and elements of C do not overlap. The batch stride of A
/// or B may be 0: one matrix for the whole batch.
struct GemmDesc {
  fb::DType dtypeAB = fb::DType::F32; ///< F32, BF16 or F16
  fb::DType dtypeC = fb::DType::F32;  ///< F32 or dtypeAB
  int64_t batch = 1, m = 0, n = 0, k = 0;
  std::array<int64_t, 3> aStrides{}, bStrides{}, cStrides{};
  bool accumulate = false;

  bool operator==(const GemmDesc &) const = default;
};

class GemmPlan {
public:
  /// InvalidArgument if the description breaks its rules, FailedPrecondition if the processor lacks
  /// the instructions (x86-64-v3).
  static absl::StatusOr<std::unique_ptr<const GemmPlan>> create(const GemmDesc &desc);
  virtual ~GemmPlan() = default;
  GemmPlan(const GemmPlan &) = delete;
  GemmPlan &operator=(const GemmPlan &) = delete;

  const GemmDesc &desc() const { return desc_; }
  /// Memory that a run needs for itself, aligned to 64 bytes; its content does not matter.
  size_t scratchBytes() const { return scratchBytes_; }
  /// How the product is computed, for logs: "matmul brg:avx512_core", "sgemm", ...
  const std::string &method() const { return method_; }
  /// Computes C. Sums are made in f32 and rounded once to C's type. With k = 0, C is set to zero,
  /// or left as it is if the plan accumulates. `scratch` may be null if scratchBytes() is 0.
  absl::Status run(const void *a, const void *b, void *c, void *scratch) const {
    return transposed_ ? execute(b, a, c, scratch) : execute(a, b, c, scratch);
  }

protected:
  GemmPlan() = default;
  /// As run(), of the product that the plan was made for: a transposed one has A and B exchanged.
  virtual absl::Status execute(const void *a, const void *b, void *c, void *scratch) const = 0;
  std::string method_;
  size_t scratchBytes_ = 0;

private:
  GemmDesc desc_;
  bool transposed_ = false;
};

/// Plans by description, so that the layers of a model share theirs. Any thread may call.
class GemmCache {
public:
  /// The plan for `desc`, made at the first call; lives as long as the cache.
  absl::StatusOr<const GemmPlan *> get(const GemmDesc &desc);
  /// The most scratch memory that any plan of the cache needs.
  size_t scratchBytes() const;

private:
  struct Hash {
    size_t operator()(const GemmDesc &desc) const;
  };
  mutable std::mutex mutex_;
  size_t scratchBytes_ = 0;
  std::unordered_map<GemmDesc, std::unique_ptr<const GemmPlan>, Hash> plans_;
};

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_GEMM_H
