// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where partial values are reduced: a minimum cut of the linear regions they flow through.

#ifndef CLEAVE_LAYOUT_REDUCTIONPLACEMENT_H
#define CLEAVE_LAYOUT_REDUCTIONPLACEMENT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>

namespace cleave {

/// An operand that is no tensor of the program (a scalar, an index).
constexpr uint32_t kNoValue = UINT32_MAX;

/// One op as the placement of reductions over *one* list of axes sees it.
struct ReductionOp {
  llvm::ArrayRef<uint32_t> operands; ///< value numbers, or kNoValue
  llvm::ArrayRef<uint32_t> results;
  uint32_t jointlyLinear = 0; ///< see FactorRule
  uint32_t separatelyLinear = 0;
  /// A sum over a factor that the axes shard: `results`, those that lack the factor, are partial
  /// whatever the operands are.
  bool source = false;
  /// The op splits its work over the axes, so that its operands must be whole over them.
  bool usesAxes = false;
};

struct ReductionPlacement {
  llvm::BitVector partial; ///< values that are partial where they are produced
  llvm::BitVector reduced; ///< those of them that are reduced right after
  /// Partial when used: produced partial and not reduced.
  bool staysPartial(uint32_t value) const { return partial.test(value) && !reduced.test(value); }
};

/// Decides which values are reduced over one list of axes, so that what is sent is least; among
/// equal choices fewer reductions, then those nearest to the source.
///
/// Ops come in order, a value's op before its uses. An op passes a partial sum on if it is linear
/// in that operand: any of the jointly linear operands may be partial together (a whole one beside
/// them is kept on coordinate 0), of the separately linear ones exactly one. Every other use needs
/// the whole value, as does a value in `mustBeWhole`. `cost(v)` is what reducing v costs, in any
/// unit.
ReductionPlacement placeReductions(unsigned numValues, llvm::ArrayRef<ReductionOp> ops,
                                   const llvm::BitVector &mustBeWhole,
                                   llvm::function_ref<int64_t(uint32_t)> cost);

} // namespace cleave

#endif // CLEAVE_LAYOUT_REDUCTIONPLACEMENT_H
