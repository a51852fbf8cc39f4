// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the scratch memory of an entry is used for.
#ifndef CLEAVE_DIALECT_EXEC_TRANSFORMS_SCRATCHACCOUNT_H
#define CLEAVE_DIALECT_EXEC_TRANSFORMS_SCRATCHACCOUNT_H

#include "cleave/Dialect/Exec/IR/ExecOps.h"

#include <array>

namespace cleave::exec {

/// Weights: gathered, cut, converted or new ones. Gradients: of parameters, reduced, partial and
/// accumulated. Communication: other operands and results of collectives. Activations: everything
/// else that lives. Unused: what packing leaves free.
enum class ScratchKind { Weights, Gradients, Activations, Communication, Unused };
constexpr size_t kScratchKinds = size_t(ScratchKind::Unused) + 1;

struct ScratchUse {
  int64_t fullest = 0; ///< bytes when most bytes of all kinds live; together the region's size
  int64_t most = 0;    ///< most bytes at any one time
};

struct ScratchAccount {
  std::array<ScratchUse, kScratchKinds> uses;
  /// Gradients that live when the first parameter is updated: those that the optimizer reads.
  int64_t heldGradients = 0;
};

/// The entry's buffers have places.
ScratchAccount accountScratch(EntryOp entry);

} // namespace cleave::exec

#endif // CLEAVE_DIALECT_EXEC_TRANSFORMS_SCRATCHACCOUNT_H
