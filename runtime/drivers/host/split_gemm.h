// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A matrix product in pieces that several workers may run at once, so that a mesh of few devices
// keeps many cores busy.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_SPLIT_GEMM_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_SPLIT_GEMM_H

#include "drivers/host/gemm.h"

namespace cleave::host {

class SplitGemm {
public:
  /// Cuts the product into at most `maxPieces` pieces that are worth a hand-over each. The cut
  /// depends on nothing else, so that the bits of the result do not depend on the workers.
  static absl::StatusOr<SplitGemm> create(const GemmDesc &desc, uint32_t maxPieces,
                                          GemmCache &cache);

  uint32_t pieces() const { return pieces_; }
  size_t scratchBytes() const;
  void bind(const void *a, const void *b, void *c) {
    a_ = static_cast<const char *>(a);
    b_ = static_cast<const char *>(b);
    c_ = static_cast<char *>(c);
  }
  absl::Status run(uint32_t piece, void *scratch) const;

private:
  SplitGemm() = default;
  uint32_t pieces_ = 1;
  const GemmPlan *plan_ = nullptr, *last_ = nullptr; ///< of all pieces but the last, and of it
  int64_t aStep_ = 0, bStep_ = 0, cStep_ = 0;        ///< bytes from a piece to the next
  const char *a_ = nullptr, *b_ = nullptr;
  char *c_ = nullptr;
};

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_SPLIT_GEMM_H
