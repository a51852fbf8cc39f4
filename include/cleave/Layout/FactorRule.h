// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An op's sharding rule: how its operand and result dimensions decompose into factors (iteration
// dimensions), and what sharding each factor means.
#ifndef CLEAVE_LAYOUT_FACTORRULE_H
#define CLEAVE_LAYOUT_FACTORRULE_H

#include "cleave/Layout/Layout.h"

namespace cleave {

enum class FactorKind : uint8_t {
  PassThrough,     ///< iterations independent; operands and results shard alike
  Reduction,       ///< sharded, it makes the results that lack it partial
  NeedReplication, ///< must be whole inside the op
  Permutation,     ///< passes through, but shards exchange edges (halo, ring)
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::PassThrough;
  Reduction reduction = Reduction::Sum; ///< meaning of a sharded Reduction factor
  /// Propagation may shard the factor, but the op has no partitioned form for it: the op is then
  /// replaced by its decomposition before resharding.
  bool viaDecomposition = false;
  /// Padding of an unevenly sharded Reduction factor needs no mask: the op's partitioned form
  /// never reads it.
  bool padSafe = false;
};

/// Factors of one dimension, major to minor. Empty for a dimension that maps to no factor (size 1).
/// Two or more make a compound dimension: its factors are sharded from the major one on, the next
/// only where the ones before are sharded down to one element, and always evenly (isRepresentable).
using DimFactors = llvm::SmallVector<uint16_t, 2>;
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

struct FactorRule {
  llvm::SmallVector<Factor, 8> factors;
  llvm::SmallVector<TensorFactors, 4>
      operands; ///< one an operand; scalars and index operands: empty
  llvm::SmallVector<TensorFactors, 2> results;

  /// The op is linear in these operands *jointly* (add, subtract, select's branches, concatenate,
  /// transpose, reduce-sum): partial operands over the same axes give a partial result; a whole
  /// operand beside a partial one is kept on coordinate 0 only.
  uint32_t jointlyLinear = 0;
  /// The op is linear in each of these operands *alone*, the others whole (multiply, dot_general;
  /// the numerator of divide).
  uint32_t separatelyLinear = 0;
  /// Higher goes first in propagation; elementwise and reshaping ops 1, others 0.
  int opPriority = 0;

  uint16_t addFactor(int64_t size, FactorKind kind = FactorKind::PassThrough) {
    factors.push_back(Factor{size, kind});
    return factors.size() - 1;
  }
  /// Dims of `tensor` that have two or more factors.
  static bool isCompound(const DimFactors &dim) { return dim.size() > 1; }
};

/// Axes assigned to each factor of a rule: the layout of one op's iteration space.
using FactorAxes = llvm::SmallVector<AxisList, 8>;

/// The layout a tensor must have (operand) or gets (result) when factors are sharded by `axes`,
/// which must be isRepresentable in it. Partial axes are not included: see partialAxes.
Layout tensorLayout(const TensorFactors &tensor, const FactorAxes &axes);
/// True if `axes` give the tensor contiguous blocks: no factor of a compound dimension is sharded
/// unevenly, or below a factor that keeps more than one element a shard.
bool isRepresentable(const FactorRule &rule, const TensorFactors &tensor, const FactorAxes &axes);
/// Number of a dimension's factors that are larger than 1. A dimension with fewer than two shards
/// like a plain one, unevenly too.
unsigned countSplitFactors(const FactorRule &rule, const DimFactors &dim);
/// True if a dimension of `tensor` maps to the factor.
bool hasFactor(const TensorFactors &tensor, uint16_t factor);
/// Axes over which some result is partial: those of sharded Reduction factors.
AxisList partialAxes(const FactorRule &rule, const FactorAxes &axes);
/// Axes over which one result is partial: those of sharded Reduction factors that it lacks. (The
/// gradient of keys sums over queries, that of queries has a row for each.)
AxisList partialAxes(const FactorRule &rule, const TensorFactors &result, const FactorAxes &axes);
/// Projects a tensor's layout onto the rule's factors: axes of a compound dimension are dealt to
/// its factors major to minor, each taking what divides it. The inverse of tensorLayout where
/// possible; otherwise the longest prefix that fits. Returns one list a factor (empty if
/// unsharded).
FactorAxes projectToFactors(const FactorRule &rule, const TensorFactors &tensor,
                            const Layout &layout);
/// An error text if the rule is malformed (sizes do not multiply to the shape, index out of range,
/// factor twice in one tensor), empty otherwise.
std::string checkRule(const FactorRule &rule,
                      llvm::ArrayRef<llvm::SmallVector<int64_t>> operandShapes,
                      llvm::ArrayRef<llvm::SmallVector<int64_t>> resultShapes);

} // namespace cleave

#endif // CLEAVE_LAYOUT_FACTORRULE_H
