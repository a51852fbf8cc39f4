// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Collectives as plain values, and their ring cost.
#ifndef CLEAVE_LAYOUT_COLLECTIVE_H
#define CLEAVE_LAYOUT_COLLECTIVE_H

#include "cleave/Layout/Layout.h"
#include <memory>

namespace cleave {

enum class CollectiveKind : uint8_t {
  AllReduce,         ///< partial over `axes` -> whole
  AllGather,         ///< `dim` sharded by ... + `axes` (minor) -> `axes` removed
  ReduceScatter,     ///< partial over `axes`, result `dim` gains `axes` (minor)
  AllToAll,          ///< `axes` move from the minor end of `dim` to the minor end of `dim2`
  AllSlice,          ///< `dim` gains `axes` (minor); local, no communication
  CollectivePermute, ///< same local shape; the blocks move between devices
};

/// One step of a reshard. Every step handles one dimension, so that a buffer is seen as
/// [outer, dim, inner] by the runtime.
struct ReshardStep {
  CollectiveKind kind;
  AxisList axes; ///< participants, major to minor; for CollectivePermute: empty
  int dim = -1;  ///< see CollectiveKind
  int dim2 = -1;
  Reduction reduction = Reduction::Sum;
  Layout result = {}; ///< the layout after this step
};

/// Bytes one device sends with ring algorithms, unpadded sizes: all-reduce 2(n-1)/n of the buffer,
/// all-gather (n-1)/n of its result, reduce-scatter and all-to-all (n-1)/n of the operand, permute
/// the whole buffer, all-slice 0. `globalShape`/`layouts` give the buffer; unpadded means the
/// global element count divided by the shard count, as a real number.
double ringBytes(const ReshardStep &step, llvm::ArrayRef<int64_t> globalShape, int64_t elementBytes,
                 const Layout &before);

/// For a CollectivePermute between two layouts with the same shard count in every dimension and the
/// same partial axes: the device (row-major mesh position) that each device's new block comes from.
/// A bijection; along axes that neither layout uses, blocks stay where they are.
llvm::SmallVector<int64_t> permuteSources(const Mesh &mesh, const Layout &before,
                                          const Layout &after);

/// The cheapest sequence of collectives from one layout to another: fewest bytes first, then
/// fewest steps, then a fixed order, found by shortest path over layouts. Handles sub-axes,
/// partial values (partial -> whole or sharded; whole -> partial never) and uneven sizes (steps
/// that are not isAligned are not edges). Empty if the layouts are equal. Gathering everything and
/// slicing is always a path; only a whole value cannot become partial (see `reachable`). Memoised
/// by (mesh shape, divisibility, layouts). Not thread-safe; paths live as long as the planner.
class ReshardPlanner {
public:
  explicit ReshardPlanner(const Mesh &mesh);
  ~ReshardPlanner();
  ReshardPlanner(const ReshardPlanner &) = delete;
  ReshardPlanner &operator=(const ReshardPlanner &) = delete;
  llvm::ArrayRef<ReshardStep> path(llvm::ArrayRef<int64_t> globalShape, int64_t elementBytes,
                                   const Layout &from, const Layout &to);
  /// Ring bytes of the path; infinity if there is none.
  double cost(llvm::ArrayRef<int64_t> globalShape, int64_t elementBytes, const Layout &from,
              const Layout &to);
  /// False if `to` is partial over an axis, or in a way, that `from` is not. `path` is then empty.
  static bool reachable(const Layout &from, const Layout &to);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace cleave

#endif // CLEAVE_LAYOUT_COLLECTIVE_H
