// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/MinimumCut.h"

#include <algorithm>

namespace cleave {

uint32_t MinimumCut::addNode() {
  out_.emplace_back();
  return out_.size() - 1;
}

void MinimumCut::addEdge(uint32_t from, uint32_t to, int64_t capacity) {
  out_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  out_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

/// Breadth-first distances from the source over edges with residual capacity. The search goes to
/// its end, so that after the last round the reached nodes are the source's side of the cut.
bool MinimumCut::buildLevels(uint32_t source, uint32_t sink) {
  level_.assign(out_.size(), -1);
  level_[source] = 0;
  std::vector<uint32_t> queue{source};
  for (size_t head = 0; head < queue.size(); ++head) {
    uint32_t node = queue[head];
    for (uint32_t e : out_[node]) {
      if (edges_[e].residual == 0 || level_[edges_[e].to] >= 0)
        continue;
      level_[edges_[e].to] = level_[node] + 1;
      queue.push_back(edges_[e].to);
    }
  }
  return level_[sink] >= 0;
}

/// Pushes flow along one shortest path and returns its amount, 0 when none is left. Depth first
/// with an explicit stack: paths may be as long as the program.
int64_t MinimumCut::augment(uint32_t source, uint32_t sink) {
  std::vector<uint32_t> path;
  uint32_t node = source;
  while (node != sink) {
    bool advanced = false;
    for (uint32_t &i = next_[node]; i < out_[node].size(); ++i) {
      const Edge &edge = edges_[out_[node][i]];
      if (edge.residual > 0 && level_[edge.to] == level_[node] + 1) {
        path.push_back(out_[node][i]);
        node = edge.to;
        advanced = true;
        break;
      }
    }
    if (advanced)
      continue;
    if (path.empty())
      return 0;
    // A dead end: step back and try the edge after the one that led here.
    node = edges_[path.back() ^ 1].to;
    path.pop_back();
    ++next_[node];
  }
  int64_t amount = kUnbounded;
  for (uint32_t e : path)
    amount = std::min(amount, edges_[e].residual);
  for (uint32_t e : path) {
    if (edges_[e].residual < kUnbounded)
      edges_[e].residual -= amount;
    edges_[e ^ 1].residual = std::min(kUnbounded, edges_[e ^ 1].residual + amount);
  }
  return amount;
}

llvm::BitVector MinimumCut::solve(uint32_t source, uint32_t sink) {
  flow_ = 0;
  while (buildLevels(source, sink)) {
    next_.assign(out_.size(), 0);
    while (int64_t amount = augment(source, sink)) {
      flow_ += amount;
      if (amount >= kUnbounded)
        return llvm::BitVector(out_.size(), true); // No bounded edge on this path: there is no cut.
    }
  }
  llvm::BitVector side(out_.size());
  for (size_t node = 0; node < out_.size(); ++node)
    if (level_[node] >= 0)
      side.set(node);
  return side;
}

} // namespace cleave
