// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Structural checks of one entry's instructions: whatever passes here touches no memory outside its
// regions on any device, whatever the numbers in the file are.
#ifndef CLEAVE_RUNTIME_CORE_VERIFY_INSTRUCTION_H
#define CLEAVE_RUNTIME_CORE_VERIFY_INSTRUCTION_H

#include "core/executable.h"
#include <array>

namespace cleave::rt {

inline constexpr unsigned kMaxStreams = 16;

class InstructionVerifier {
public:
  InstructionVerifier(const fb::Executable &executable, const Mesh &mesh, const EntryInfo &entry);
  /// Checks instruction `index` of the entry, which is in a segment.
  Status verify(const fb::Instr &instr, uint32_t index, const Segment &segment);
  /// End of the last byte of a region that a verified instruction refers to.
  uint64_t lastUse(fb::Region region) const { return lastUse_[size_t(region)]; }

private:
  Status verifyOp(const fb::Launch &op);
  Status verifyOp(const fb::Gemm &op);
  /// `grad` is the same op where it is the gradient, else null.
  /// `extents`: batch, queries, KV heads and groups.
  Status verifyDropout(const fb::Dropout &dropout, std::array<uint64_t, 4> extents);
  template <typename Op> Status verifyAttention(const Op &op, const fb::AttentionGrad *grad);
  Status verifyOp(const fb::Copy &op);
  Status verifyOp(const fb::Fill &op);
  Status verifyOp(const fb::Collective &op);
  Status verifyPart(const fb::Collective &op, const fb::CollectivePart &part);
  Status verifyDisjoint(const fb::Collective &op);
  Status verifyPermute(const fb::Collective &op);
  /// Present, in its region, at a multiple of `alignment`.
  Status checkRef(absl::string_view what, const fb::BufferRef *ref, uint64_t alignment);
  /// The value of an expression on every device and in every repetition lies in [low, high] and is
  /// a multiple of `multiple`. An absent one is fine.
  Status checkRange(absl::string_view what, const fb::Expr *expr, int64_t low, int64_t high,
                    int64_t multiple = 1);

  const fb::Executable &executable_;
  const Mesh &mesh_;
  const EntryInfo &entry_;
  uint32_t repetitions_ = 1;                       ///< of the instruction that is being checked
  std::vector<std::vector<uint32_t>> coordinates_; ///< of each device along each axis list
  uint64_t lastUse_[size_t(fb::Region::MAX) + 1] = {};
};

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_CORE_VERIFY_INSTRUCTION_H
