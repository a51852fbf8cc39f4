// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How one tensor lies on a mesh: the axes that shard each dimension and the axes over which its
// value is still a partial sum (or maximum, minimum).
#ifndef CLEAVE_LAYOUT_LAYOUT_H
#define CLEAVE_LAYOUT_LAYOUT_H

#include "cleave/Layout/Mesh.h"

namespace cleave {

enum class Reduction : uint8_t { Sum, Max, Min };

struct Layout {
  llvm::SmallVector<AxisList, 4> dims; ///< one list a dimension, major to minor
  AxisList partial;                    ///< sorted, canonical; empty for a whole value
  Reduction partialKind = Reduction::Sum;

  static Layout replicated(unsigned rank) {
    Layout l;
    l.dims.resize(rank);
    return l;
  }
  unsigned rank() const { return dims.size(); }
  bool isReplicated() const;
  /// Every axis in use, dimensions first, then partial.
  AxisList usedAxes() const;
  bool operator==(const Layout &o) const;
  bool operator!=(const Layout &o) const { return !(*this == o); }
};

llvm::hash_code hash_value(const Layout &layout);

/// ceil(n / k): the local size of a dimension of n elements over k shards. Shard c holds
/// elements [c * local, min(n, (c + 1) * local)); later shards may be empty.
int64_t localSize(int64_t n, int64_t k);
/// Number of elements shard c really holds, in [0, localSize(n, k)].
int64_t validSize(int64_t n, int64_t k, int64_t c);
llvm::SmallVector<int64_t> localShape(llvm::ArrayRef<int64_t> globalShape, const Layout &layout);
int64_t localElements(llvm::ArrayRef<int64_t> globalShape, const Layout &layout);
/// True if n divides evenly over every dimension's axes.
bool isEven(llvm::ArrayRef<int64_t> globalShape, const Layout &layout);

/// True if splitting n over `outer` shards and each of those over `inner` gives the same blocks as
/// splitting it over outer * inner at once, so that a collective over the inner (minor) axes alone
/// moves between the two. Always true for outer == 1 (the gathered tail is dropped).
bool isAligned(int64_t n, int64_t outer, int64_t inner);

/// Human-readable form for tests and messages: `[{"tp"}, {}] partial=sum{"dp"}`.
std::string toString(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes);
std::string toString(const Mesh &mesh, const Layout &layout);

} // namespace cleave

#endif // CLEAVE_LAYOUT_LAYOUT_H
