// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Discardable attributes by which a training step tells the passes that shard it, and these tell
// each other, what its ops are.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_TRAININGATTRIBUTES_H
#define CLEAVE_DIALECT_CLEAVE_IR_TRAININGATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace cleave {

/// A unit, on ops of the backward half of a microbatch. A constraint there asks for a layout only:
/// partial sums may pass it, unless they are over axes that the layout shards a dimension by.
inline constexpr llvm::StringLiteral kBackwardAttr = "cleave.backward";

/// One entry a result: the symbol of the parameter that the result is the gradient by, of one
/// microbatch, before it is added to those of others; a unit for other results.
inline constexpr llvm::StringLiteral kGradientOfAttr = "cleave.gradient_of";

/// A unit, on constraints, reshards and collectives: not made one with an equal one before it. What
/// it makes was there once and was let go for the sake of memory.
inline constexpr llvm::StringLiteral kAgainAttr = "cleave.again";

/// On an input of a step: the number of microbatches among which its rows, dimension 0, are dealt.
inline constexpr llvm::StringLiteral kMicrobatchesAttr = "cleave.microbatches";

} // namespace cleave

#endif // CLEAVE_DIALECT_CLEAVE_IR_TRAININGATTRIBUTES_H
