// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Shortest path between two layouts of one tensor. Private to lib/Layout.
//
// The axes of both layouts are cut into atoms: parts that neither layout splits further. A state
// deals atoms, in order, to dimensions; a move is one collective.
// Sizes of buffers are counted in shares of the whole tensor, as exact integers, so that ties are
// ties and results do not depend on rounding.
#ifndef CLEAVE_LIB_LAYOUT_RESHARDSEARCH_H
#define CLEAVE_LIB_LAYOUT_RESHARDSEARCH_H

#include "cleave/Layout/Collective.h"

#include <array>

namespace cleave {

/// Atoms in order, four bits each, the minor end lowest; 0 ends the list, so atoms count from 1.
using AtomList = uint64_t;

class ReshardSearch {
public:
  /// The result stays in `steps` and `share` until the next call.
  void run(llvm::ArrayRef<int64_t> globalShape, const Layout &from, const Layout &to);

  std::vector<ReshardStep> steps;
  /// Ring bytes of all steps as a multiple of the bytes of the whole tensor.
  double share = 0;
  /// States taken off the queue, for tests and tuning.
  unsigned expanded = 0;

private:
  static constexpr unsigned kMaxAtoms = 15, kMaxDims = 8;
  /// Beyond this many expanded states the search settles for gathering and slicing, which only
  /// meshes with many axes in unrelated layouts reach.
  static constexpr unsigned kMaxExpanded = 20000;

  struct State {
    std::array<AtomList, kMaxDims> dims{};
    uint64_t partial = 0; ///< bit set of atoms
    bool operator==(const State &o) const { return partial == o.partial && dims == o.dims; }
  };
  struct Move {
    CollectiveKind kind;
    uint8_t dim = 0, dim2 = 0; ///< indices into activeDims
    AtomList axes = 0;
  };
  struct Node {
    State state;
    uint64_t bytes; ///< spent to get here
    uint32_t steps;
    int32_t parent;
    Move move; ///< from the parent
    bool closed = false;
  };
  struct QueueEntry {
    uint64_t bytes; ///< spent plus lower bound of the rest
    uint32_t steps;
    uint32_t node;
    uint64_t spent; ///< Node::bytes when queued, to notice entries that were improved on
    bool operator>(const QueueEntry &o) const {
      return std::tie(bytes, steps, node) > std::tie(o.bytes, o.steps, o.node);
    }
  };

  bool setUp(const Layout &from, const Layout &to);
  unsigned addAtoms(const AxisRef &ref, llvm::ArrayRef<uint32_t> cuts, AtomList &list);
  bool encode(const Layout &layout, llvm::ArrayRef<llvm::SmallVector<uint32_t, 8>> cuts,
              State &state);
  void takeGatherAndSlice(const Layout &from, const Layout &to);
  void takePath(int32_t goal, const Layout &from);

  uint64_t product(AtomList list) const;
  uint64_t productOf(uint64_t atomSet) const;
  uint64_t conflictsOf(AtomList list) const;
  uint64_t usedAtoms(const State &state) const;
  uint64_t bound(const State &state, uint64_t shards) const;
  bool aligned(unsigned dim, AtomList outer, uint64_t inner) const;

  void reach(const State &state, uint64_t bytes, const Move &move);
  void expand(uint32_t node);
  void expandGathers(const State &state, uint64_t buffer);
  void expandReductions(const State &state, uint64_t buffer);
  void expandSlices(const State &state);
  void expandPermutes(const State &state, uint64_t buffer);
  void forEachSequence(uint64_t set, llvm::function_ref<void(AtomList)> f) const;
  void arrange(const State &state, State &next, unsigned dim, uint64_t shards, uint64_t available,
               uint64_t buffer);
  void reachByPermute(const State &state, const State &next, uint64_t buffer);
  int32_t &slot(const State &state);
  void growTable();

  llvm::ArrayRef<int64_t> shape_;
  llvm::SmallVector<AxisRef, kMaxAtoms> atoms_;     ///< atom i + 1 is atoms_[i]
  std::array<uint32_t, kMaxAtoms + 1> sizes_;       ///< by atom
  std::array<uint64_t, kMaxAtoms + 1> conflicts_;   ///< atoms that overlap, itself included
  llvm::SmallVector<uint8_t, kMaxDims> activeDims_; ///< dimensions that may be sharded
  llvm::SmallVector<AtomList, 16> targetRuns_;      ///< runs of two and more atoms in the target
  bool even_ = true;         ///< all sharded dimensions divide by whatever may shard them
  uint64_t targetAtoms_ = 0; ///< atoms in the target's dimensions
  uint64_t total_ = 1;       ///< shares of the whole tensor
  uint64_t targetBuffer_ = 1;
  uint64_t limit_ = 0; ///< cost of gathering and slicing
  State from_, to_;
  std::vector<Node> nodes_;
  std::vector<QueueEntry> queue_;
  std::vector<int32_t> table_; ///< open addressing over nodes_; -1 is free
  uint32_t current_ = 0;
};

} // namespace cleave

#endif // CLEAVE_LIB_LAYOUT_RESHARDSEARCH_H
