// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How one op is split: the axes of each factor of its rule, chosen from the layouts that its
// operands and results were given.

#ifndef CLEAVE_LAYOUT_FACTORCHOICE_H
#define CLEAVE_LAYOUT_FACTORCHOICE_H

#include "cleave/Layout/Collective.h"
#include "cleave/Layout/FactorRule.h"

namespace cleave {

/// A tensor of an op with the layout that propagation gave it.
struct PlannedTensor {
  llvm::SmallVector<int64_t, 4> shape;
  int64_t elementBytes = 4;
  Layout layout;
  /// Made anew in any layout at no cost (a splat constant), so it is never resharded.
  bool free = false;
};

/// One way to split an op, and what it takes to get the operands there and the results back.
struct FactorChoice {
  FactorAxes axes;
  llvm::SmallVector<Layout, 4> operands;     ///< the layouts it needs
  llvm::SmallVector<Layout, 2> results;      ///< the layouts it gives, partial axes included
  llvm::SmallVector<double, 4> operandBytes; ///< ring bytes from the planned layout
  double resultBytes = 0;                    ///< ring bytes to the planned layouts
  int64_t steps = 0;                         ///< collectives and slices in all these reshards
  int64_t shards = 1;                        ///< how many ways the op's work is split
};

/// Why a factor that a tensor has sharded is whole inside the op.
enum class WholeReason : uint8_t {
  NeedReplication, ///< the op works on the whole factor
  NoLocalForm,     ///< a permutation or a decomposable factor: there is no partitioned form
  Uneven,          ///< a part of a merged or split dimension, and it does not divide
};

/// Axes that shard a factor of some tensor but, for want of a way, split nothing in the op.
struct WholeFactor {
  uint16_t factor;
  AxisList axes;
  WholeReason reason;
};

struct FactorChoices {
  /// At least one; the first is the best when nothing is known of other ops.
  llvm::SmallVector<FactorChoice, 1> choices;
  llvm::SmallVector<WholeFactor, 0> whole;
};

/// The ways to split an op over `mesh`. Factors on which all their tensors agree keep their axes;
/// of two such factors that want one axis, the one that more tensors have wins. What stays open (a
/// factor that some tensors have sharded and others not, or on different axes) is enumerated and
/// sorted by ring bytes, then the more shards, then the fewer steps, then a fixed order.
FactorChoices enumerateFactorChoices(const FactorRule &rule, llvm::ArrayRef<PlannedTensor> operands,
                                     llvm::ArrayRef<PlannedTensor> results,
                                     ReshardPlanner &planner);

/// Ring bytes as an integer (1024 units a byte), so that equal costs compare equal whatever the
/// order of their sums.
int64_t costUnits(double bytes);

/// True if layouts can express these axes: no axis twice, no sharded factor that must be whole, and
/// in a compound dimension only evenly sharded factors, each minor one after whole-sharded majors.
bool isExpressible(const FactorRule &rule, const FactorAxes &axes);

/// The split that exactly these layouts mean, the inverse of `tensorLayout` over all tensors of an
/// op. On failure `why` says what does not fit. Partial axes are not looked at.
std::optional<FactorAxes> inferFactorAxes(const FactorRule &rule, llvm::ArrayRef<Layout> operands,
                                          llvm::ArrayRef<Layout> results, std::string &why);

/// Names a factor by a dimension that has it, for messages: `operand 0 dimension 2 (size 64)`.
std::string describeFactor(const FactorRule &rule, uint16_t factor);

} // namespace cleave

#endif // CLEAVE_LAYOUT_FACTORCHOICE_H
