// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Maximum flow and minimum cut of a directed graph with integer capacities.

#ifndef CLEAVE_LAYOUT_MINIMUMCUT_H
#define CLEAVE_LAYOUT_MINIMUMCUT_H

#include "llvm/ADT/BitVector.h"
#include <cstdint>
#include <limits>
#include <vector>

namespace cleave {

/// Add nodes and edges, then solve once. Dinic's algorithm: on the graphs of this compiler, whose
/// source-to-sink paths are short, the work is close to linear in the edges.
class MinimumCut {
public:
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max() / 4;

  uint32_t addNode();
  /// A directed edge. Capacities are at least 0; kUnbounded never limits a flow.
  void addEdge(uint32_t from, uint32_t to, int64_t capacity);

  /// The nodes on the source's side of the minimum cut that lies nearest to the source: the edges
  /// that leave this set are the cut. At least one bounded edge must lie on every path.
  llvm::BitVector solve(uint32_t source, uint32_t sink);
  /// The flow found by `solve`: the sum of the capacities of the cut.
  int64_t flow() const { return flow_; }

private:
  struct Edge {
    uint32_t to;
    int64_t residual;
  };
  bool buildLevels(uint32_t source, uint32_t sink);
  int64_t augment(uint32_t source, uint32_t sink);

  /// Edge 2i and its reverse 2i + 1.
  std::vector<Edge> edges_;
  std::vector<std::vector<uint32_t>> out_;
  std::vector<int32_t> level_;
  std::vector<uint32_t> next_;
  int64_t flow_ = 0;
};

} // namespace cleave

#endif // CLEAVE_LAYOUT_MINIMUMCUT_H
