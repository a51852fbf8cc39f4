// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of attention on one core, block by block: the probabilities of a block of queries and a
// block of keys are made again from the scores and their log-sum-exp, used, and forgotten.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_GRAD_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_GRAD_H

#include "drivers/host/attention.h"

namespace cleave::host {

/// Shapes as for AttentionBuffers. The results overlap nothing.
struct AttentionGradBuffers {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  const void *out = nullptr, *dout = nullptr;     ///< attention's result, and its gradient
  const float *lse = nullptr;                     ///< null: computed again
  const int64_t *seed = nullptr, *step = nullptr; ///< of dropout
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
};

/// With P = exp(s - lse) for the keys a query sees and 0 for others: dv = P' dout,
/// ds = P (dout v' - sum(out dout)) (with a softcap c times 1 - (s / c)^2), dq = scale ds k and
/// dk = scale ds' q; dk and dv sum over queries and groups. With dropout, the P of
/// dv and dout v' are dropped alike. Keys past validKeys get gradients of 0.
/// Sums are held in f32 and made in one order: the bits of a result depend on the inputs alone.
class AttentionGradPlan {
public:
  static absl::StatusOr<AttentionGradPlan> create(const AttentionDesc &desc);

  const AttentionDesc &desc() const { return desc_; }
  /// Memory that a run needs, aligned to 64 bytes; its content does not matter.
  size_t scratchBytes() const { return scratchBytes_; }
  absl::Status run(const AttentionGradBuffers &buffers, void *scratch) const;

private:
  AttentionDesc desc_;
  size_t scratchBytes_ = 0;
  bool avx512_ = false;
};

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_GRAD_H
