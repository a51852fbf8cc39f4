// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Blocked attention with an online softmax, on one core.
//
// Scores of a block of queries against a block of keys are made, folded into a running maximum, sum
// and output, and forgotten, so that memory does not grow with Sq x Skv. All query heads of a KV
// head share its packed key and value blocks; blocks of keys that no query of the block sees are
// skipped. What keys and values hold where no query sees them, NaN included, has no influence.
//
// The work falls into independent items, which several threads may run at once and in any order:
// the bits of the result do not depend on it.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cleave/schema/executable_generated.h"
#include <cstddef>
#include <cstdint>

namespace cleave::host {

/// q [batch, sq, kvHeads, groups, d], k [batch, skv, kvHeads, d], v [batch, skv, kvHeads, dv] ->
/// out [batch, sq, kvHeads, groups, dv], all row-major and of one type.
struct AttentionDesc {
  fb::DType dtype = fb::DType::F32; ///< F32, BF16 or F16; computed in f32
  int64_t batch = 0, sq = 0, skv = 0, kvHeads = 0, groups = 0, d = 0, dv = 0;
  double scale = 1;
  double softcap = 0; ///< c > 0: scores become c * tanh(score / c). 0: none
  /// Query row i stands at position p = queryOffset + i and sees key j if j < validKeys,
  /// (causal) j <= p, and (window >= 0) p - j < window.
  bool causal = false;
  int64_t window = -1, queryOffset = 0;
  int64_t validKeys = 0; ///< in 0..skv
  /// Weights that are dropped, as schema/executable.fbs has it. Position and strides are multiples
  /// of 64.
  struct Dropout {
    uint32_t threshold = 0, site = 0; ///< threshold 0: none
    double scale = 1;
    uint64_t position = 0;
    uint64_t batchStride = 0, queryStride = 0, headStride = 0, groupStride = 0;
  } dropout;
};

struct AttentionBuffers {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void *out = nullptr; ///< overlaps no input
  /// Null, or [batch, kvHeads, groups, sq]: log of the sum of exp(score) over the keys seen.
  float *lse = nullptr;
  const int64_t *seed = nullptr, *step = nullptr; ///< of dropout
};

/// Which instructions to use: the best that the processor has, or a given set (for tests).
enum class AttentionIsa : uint8_t { Best, Avx2, Avx512 };

/// A row that sees no key gives 0, and an lse of -infinity.
class AttentionPlan {
public:
  /// InvalidArgument if the description breaks its rules, FailedPrecondition if the processor lacks
  /// the instructions.
  static absl::StatusOr<AttentionPlan> create(const AttentionDesc &desc,
                                              AttentionIsa isa = AttentionIsa::Best);

  const AttentionDesc &desc() const { return desc_; }
  /// Number of independent items; 0 if there is nothing to compute.
  int64_t items() const { return items_; }
  /// Memory that a thread needs to run items, aligned to 64 bytes; its content does not matter.
  size_t scratchBytes() const { return scratchBytes_; }
  /// Computes item `item` of 0..items()-1.
  void runItem(const AttentionBuffers &buffers, int64_t item, void *scratch) const;
  /// Computes all items in turn.
  void run(const AttentionBuffers &buffers, void *scratch) const;

private:
  AttentionPlan() = default;
  AttentionDesc desc_;
  int64_t items_ = 0, queryBlocks_ = 0, queryBlock_ = 0;
  size_t scratchBytes_ = 0;
  const struct AttentionKernels *kernels_ = nullptr;
};

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_H
