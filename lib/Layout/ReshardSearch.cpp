// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ReshardSearch.h"

#include <algorithm>
#include <bit>
#include <limits>

using namespace cleave;

//===------------------------------------------------------------------------------------------===//
// Atom lists
//===------------------------------------------------------------------------------------------===//

static unsigned lengthOf(AtomList list) { return (std::bit_width(list) + 3) / 4; }
static AtomList minorPart(AtomList list, unsigned count) {
  return count >= 16 ? list : list & ((uint64_t(1) << 4 * count) - 1);
}
static AtomList majorPart(AtomList list, unsigned dropped) {
  return dropped >= 16 ? 0 : list >> 4 * dropped;
}
static AtomList join(AtomList major, AtomList minor) {
  return major << 4 * lengthOf(minor) | minor;
}
static unsigned minorAtom(AtomList list) { return list & 15; }
/// Calls `f` for each atom, minor to major.
template <typename F> static void forEachAtom(AtomList list, F f) {
  for (; list != 0; list >>= 4)
    f(unsigned(list & 15));
}
static uint64_t bitOf(unsigned atom) { return uint64_t(1) << atom; }
static uint64_t setOf(AtomList list) {
  uint64_t set = 0;
  forEachAtom(list, [&](unsigned atom) { set |= bitOf(atom); });
  return set;
}

uint64_t ReshardSearch::product(AtomList list) const {
  uint64_t result = 1;
  forEachAtom(list, [&](unsigned atom) { result *= sizes_[atom]; });
  return result;
}

uint64_t ReshardSearch::productOf(uint64_t atomSet) const {
  uint64_t result = 1;
  for (; atomSet != 0; atomSet &= atomSet - 1)
    result *= sizes_[std::countr_zero(atomSet)];
  return result;
}

uint64_t ReshardSearch::conflictsOf(AtomList list) const {
  uint64_t set = 0;
  forEachAtom(list, [&](unsigned atom) { set |= conflicts_[atom]; });
  return set;
}

uint64_t ReshardSearch::usedAtoms(const State &state) const {
  uint64_t set = state.partial;
  for (AtomList list : state.dims)
    set |= setOf(list);
  return set;
}

bool ReshardSearch::aligned(unsigned dim, AtomList outer, uint64_t inner) const {
  return isAligned(shape_[activeDims_[dim]], product(outer), inner);
}

//===------------------------------------------------------------------------------------------===//
// Set-up
//===------------------------------------------------------------------------------------------===//

/// Sorted ends of all parts of each axis in the layout; index = axis.
static void collectCuts(const Layout &layout,
                        llvm::SmallVectorImpl<llvm::SmallVector<uint32_t, 8>> &cuts) {
  auto add = [&](const AxisList &axes) {
    for (const AxisRef &ref : axes) {
      if (cuts.size() <= ref.axis)
        cuts.resize(ref.axis + 1);
      cuts[ref.axis].push_back(ref.preSize);
      cuts[ref.axis].push_back(ref.preSize * ref.size);
    }
  };
  for (const AxisList &axes : layout.dims)
    add(axes);
  add(layout.partial);
  for (auto &list : cuts) {
    llvm::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

/// True if the ends are those of one factoring of the axis.
static bool isFactoring(llvm::ArrayRef<uint32_t> cuts) {
  for (size_t i = 1; i < cuts.size(); ++i)
    if (cuts[i] % cuts[i - 1] != 0)
      return false;
  return true;
}

/// Appends the atoms of `ref` to `list`; false if there are too many.
unsigned ReshardSearch::addAtoms(const AxisRef &ref, llvm::ArrayRef<uint32_t> cuts,
                                 AtomList &list) {
  uint32_t start = ref.preSize, end = ref.preSize * ref.size;
  auto add = [&](uint32_t stop) {
    AxisRef atom{ref.axis, start, stop / start};
    start = stop;
    auto *found = llvm::find(atoms_, atom);
    unsigned index = found - atoms_.begin();
    if (found == atoms_.end()) {
      if (atoms_.size() == kMaxAtoms)
        return false;
      atoms_.push_back(atom);
    }
    if (list >> 60 != 0)
      return false;
    list = join(list, index + 1);
    return true;
  };
  for (uint32_t cut : cuts)
    if (cut > start && cut < end && !add(cut))
      return false;
  return add(end);
}

bool ReshardSearch::encode(const Layout &layout,
                           llvm::ArrayRef<llvm::SmallVector<uint32_t, 8>> cuts, State &state) {
  state = State();
  for (auto [index, dim] : llvm::enumerate(activeDims_))
    for (const AxisRef &ref : layout.dims[dim])
      if (!addAtoms(ref, cuts[ref.axis], state.dims[index]))
        return false;
  AtomList partial = 0;
  for (const AxisRef &ref : layout.partial)
    if (!addAtoms(ref, cuts[ref.axis], partial))
      return false;
  state.partial = setOf(partial);
  return true;
}

bool ReshardSearch::setUp(const Layout &from, const Layout &to) {
  // A detour through a dimension that neither layout splits helps where blocks are not aligned, and
  // where a reduction can be made smaller by slices that the target has minor to what is reduced.
  int64_t shards = shardCount(from.usedAxes()) * shardCount(to.usedAxes());
  bool detours = !subtractAxes(from.partial, to.partial).empty() &&
                 !subtractAxes(to.usedAxes(), from.usedAxes()).empty();
  auto activate = [&](bool all) {
    activeDims_.clear();
    even_ = true;
    for (unsigned dim = 0; dim < from.rank(); ++dim) {
      if (!all && from.dims[dim].empty() && to.dims[dim].empty())
        continue;
      activeDims_.push_back(dim);
      even_ &= shape_[dim] % shards == 0;
    }
  };
  activate(detours && from.rank() <= kMaxDims);
  if (activeDims_.size() > kMaxDims)
    return false;
  if (!even_ && from.rank() <= kMaxDims)
    activate(true);

  llvm::SmallVector<llvm::SmallVector<uint32_t, 8>, 4> fromCuts, toCuts, cuts;
  collectCuts(from, fromCuts);
  collectCuts(to, toCuts);
  cuts = fromCuts;
  collectCuts(to, cuts);
  fromCuts.resize(cuts.size());
  toCuts.resize(cuts.size());
  for (auto [axis, list] : llvm::enumerate(cuts)) {
    if (isFactoring(list))
      fromCuts[axis] = toCuts[axis] = list;
    // Otherwise each layout keeps its own parts, which then conflict. A malformed layout, whose own
    // parts conflict, is not cut at all.
    if (!isFactoring(fromCuts[axis]))
      fromCuts[axis].clear();
    if (!isFactoring(toCuts[axis]))
      toCuts[axis].clear();
  }
  atoms_.clear();
  if (!encode(from, fromCuts, from_) || !encode(to, toCuts, to_))
    return false;

  total_ = 1;
  for (unsigned i = 0; i < atoms_.size(); ++i) {
    sizes_[i + 1] = atoms_[i].size;
    total_ *= atoms_[i].size;
    conflicts_[i + 1] = 0;
    for (unsigned j = 0; j < atoms_.size(); ++j)
      if (atoms_[i].overlaps(atoms_[j]))
        conflicts_[i + 1] |= bitOf(j + 1);
  }
  // An all-to-all sends a fraction of a buffer that is itself one share of the product.
  if (total_ > uint64_t(1) << 28)
    return false;
  total_ *= total_;
  targetAtoms_ = 0;
  targetRuns_.clear();
  targetBuffer_ = total_;
  for (AtomList list : to_.dims) {
    targetAtoms_ |= setOf(list);
    targetBuffer_ /= product(list);
    for (unsigned drop = 0, length = lengthOf(list); drop + 2 <= length; ++drop)
      for (unsigned count = 2; drop + count <= length; ++count)
        targetRuns_.push_back(minorPart(majorPart(list, drop), count));
  }
  return true;
}

//===------------------------------------------------------------------------------------------===//
// States
//===------------------------------------------------------------------------------------------===//

/// At least this many bytes go over the wire from `state` to the target. A device ends with its
/// block of the target and starts with what its present block has in common with that; of a value
/// still to be reduced it has nothing.
uint64_t ReshardSearch::bound(const State &state, uint64_t shards) const {
  if (state.partial != to_.partial)
    return targetBuffer_;
  if (shards == 1)
    return 0;
  uint64_t common = 1;
  for (unsigned dim = 0; dim < activeDims_.size(); ++dim)
    common *= std::max(product(state.dims[dim]), product(to_.dims[dim]));
  return targetBuffer_ - std::min(targetBuffer_, total_ / common + (total_ % common != 0));
}

int32_t &ReshardSearch::slot(const State &state) {
  uint64_t hash = state.partial;
  for (unsigned dim = 0; dim < activeDims_.size(); ++dim) {
    hash = (hash ^ state.dims[dim]) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
  }
  size_t mask = table_.size() - 1, index = hash & mask;
  while (table_[index] != -1 && !(nodes_[table_[index]].state == state))
    index = (index + 1) & mask;
  return table_[index];
}

void ReshardSearch::growTable() {
  table_.assign(table_.size() * 2, -1);
  for (auto [index, node] : llvm::enumerate(nodes_))
    slot(node.state) = index;
}

void ReshardSearch::reach(const State &state, uint64_t bytes, const Move &move) {
  uint64_t spent = bytes;
  uint32_t steps = 0;
  int32_t parent = -1;
  if (!nodes_.empty()) {
    spent += nodes_[current_].bytes;
    steps = nodes_[current_].steps + 1;
    parent = current_;
  }
  uint64_t shards = 1;
  for (unsigned dim = 0; dim < activeDims_.size(); ++dim)
    shards *= product(state.dims[dim]);
  uint64_t estimate = spent + bound(state, shards);
  if (estimate > limit_)
    return;

  int32_t &index = slot(state);
  if (index == -1) {
    index = nodes_.size();
    nodes_.push_back({state, spent, steps, parent, move});
  } else {
    Node &node = nodes_[index];
    if (std::tie(node.bytes, node.steps) <= std::tie(spent, steps))
      return;
    node = {state, spent, steps, parent, move};
  }
  queue_.push_back({estimate, steps + !(state == to_), uint32_t(index), spent});
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  if (nodes_.size() * 2 > table_.size())
    growTable();
}

//===------------------------------------------------------------------------------------------===//
// Moves
//===------------------------------------------------------------------------------------------===//

void ReshardSearch::expand(uint32_t node) {
  current_ = node;
  State state = nodes_[node].state; // a copy: nodes_ grows
  uint64_t buffer = total_;
  for (AtomList list : state.dims)
    buffer /= product(list);
  expandSlices(state);
  expandGathers(state, buffer);
  expandReductions(state, buffer);
  if (nodes_[node].bytes + buffer <= limit_)
    expandPermutes(state, buffer);
}

/// All-gather and all-to-all of the minor axes of a dimension.
void ReshardSearch::expandGathers(const State &state, uint64_t buffer) {
  for (unsigned dim = 0; dim < activeDims_.size(); ++dim) {
    AtomList list = state.dims[dim];
    for (unsigned count = 1, length = lengthOf(list); count <= length; ++count) {
      AtomList moved = minorPart(list, count), outer = majorPart(list, count);
      uint64_t n = product(moved);
      if (!aligned(dim, outer, n))
        continue;
      State next = state;
      next.dims[dim] = outer;
      reach(next, (n - 1) * buffer, {CollectiveKind::AllGather, uint8_t(dim), 0, moved});
      for (unsigned dim2 = 0; dim2 < activeDims_.size(); ++dim2) {
        if (dim2 == dim || !aligned(dim2, state.dims[dim2], n))
          continue;
        State moveTo = next;
        moveTo.dims[dim2] = join(state.dims[dim2], moved);
        reach(moveTo, buffer / n * (n - 1),
              {CollectiveKind::AllToAll, uint8_t(dim), uint8_t(dim2), moved});
      }
    }
  }
}

void ReshardSearch::expandReductions(const State &state, uint64_t buffer) {
  uint64_t pending = state.partial & ~to_.partial;
  if (pending == 0)
    return;
  auto allReduce = [&](uint64_t set) {
    State next = state;
    next.partial &= ~set;
    uint64_t n = productOf(set);
    AtomList axes = 0;
    for (uint64_t rest = set; rest != 0; rest &= rest - 1)
      axes = join(axes, std::countr_zero(rest));
    reach(next, buffer / n * 2 * (n - 1), {CollectiveKind::AllReduce, 0, 0, axes});
  };
  auto reduceScatter = [&](AtomList axes) {
    uint64_t n = product(axes);
    for (unsigned dim = 0; dim < activeDims_.size(); ++dim) {
      if (!aligned(dim, state.dims[dim], n))
        continue;
      State next = state;
      next.partial &= ~setOf(axes);
      next.dims[dim] = join(state.dims[dim], axes);
      reach(next, buffer / n * (n - 1), {CollectiveKind::ReduceScatter, uint8_t(dim), 0, axes});
    }
  };
  if (std::popcount(pending) <= 4) {
    for (uint64_t set = pending; set != 0; set = (set - 1) & pending)
      allReduce(set);
  } else {
    allReduce(pending);
    if (uint64_t dropped = pending & ~targetAtoms_; dropped != 0 && dropped != pending)
      allReduce(dropped);
    for (uint64_t rest = pending; rest != 0; rest &= rest - 1)
      allReduce(rest & -rest);
  }
  forEachSequence(pending, reduceScatter);
}

/// Slices are free, so only axes that the target has are worth it. Into another dimension than the
/// target's they go as a detour where blocks are not aligned.
void ReshardSearch::expandSlices(const State &state) {
  uint64_t used = usedAtoms(state);
  forEachSequence(targetAtoms_ & ~used, [&](AtomList axes) {
    if ((conflictsOf(axes) & used) != 0)
      return;
    for (unsigned dim = 0; dim < activeDims_.size(); ++dim) {
      if (!aligned(dim, state.dims[dim], product(axes)))
        continue;
      State next = state;
      next.dims[dim] = join(state.dims[dim], axes);
      reach(next, 0, {CollectiveKind::AllSlice, uint8_t(dim), 0, axes});
    }
  });
}

/// The orders in which atoms of `set` may enter a dimension in one step: one alone, or several that
/// are neighbours in the target. Where blocks may be unaligned, entering at once can be possible
/// where entering one by one is not, so that all orders are tried if they are few.
void ReshardSearch::forEachSequence(uint64_t set, llvm::function_ref<void(AtomList)> f) const {
  if (!even_ && std::popcount(set) <= 3) {
    auto extend = [&](auto &self, AtomList list, uint64_t left) -> void {
      for (uint64_t rest = left; rest != 0; rest &= rest - 1) {
        unsigned atom = std::countr_zero(rest);
        AtomList longer = join(list, atom);
        f(longer);
        self(self, longer, left & ~conflicts_[atom]);
      }
    };
    return extend(extend, 0, set);
  }
  for (uint64_t rest = set; rest != 0; rest &= rest - 1)
    f(std::countr_zero(rest));
  for (AtomList run : targetRuns_)
    if ((setOf(run) & ~set) == 0)
      f(run);
}

/// Moves of whole blocks: any arrangement that leaves each dimension its shard count. With many
/// atoms only the useful ones are tried: a dimension becomes the target's, or two atoms of one size
/// trade places.
void ReshardSearch::expandPermutes(const State &state, uint64_t buffer) {
  uint64_t inDims = usedAtoms(state) & ~state.partial;
  uint64_t candidates = (inDims | targetAtoms_) & ~state.partial;
  if (std::popcount(candidates) <= 4) {
    State next = state;
    for (unsigned dim = 0; dim < activeDims_.size(); ++dim)
      next.dims[dim] = 0;
    arrange(state, next, 0, 1, candidates, buffer);
    return;
  }
  State all = state;
  for (unsigned dim = 0; dim < activeDims_.size(); ++dim) {
    if (state.dims[dim] == to_.dims[dim] || product(state.dims[dim]) != product(to_.dims[dim]))
      continue;
    all.dims[dim] = to_.dims[dim];
    State one = state;
    one.dims[dim] = to_.dims[dim];
    reachByPermute(state, one, buffer);
  }
  reachByPermute(state, all, buffer);

  auto traded = [](AtomList list, unsigned a, unsigned b) {
    AtomList result = 0;
    for (unsigned shift = 0; shift < 64; shift += 4) {
      unsigned atom = list >> shift & 15;
      result |= AtomList(atom == a ? b : atom == b ? a : atom) << shift;
    }
    return result;
  };
  for (uint64_t first = inDims; first != 0; first &= first - 1) {
    for (uint64_t second = candidates; second != 0; second &= second - 1) {
      unsigned a = std::countr_zero(first), b = std::countr_zero(second);
      if (a == b || sizes_[a] != sizes_[b] || ((inDims & bitOf(b)) != 0 && b < a))
        continue;
      State next = state;
      for (unsigned dim = 0; dim < activeDims_.size(); ++dim)
        next.dims[dim] = traded(state.dims[dim], a, b);
      reachByPermute(state, next, buffer);
    }
  }
}

/// Fills the dimensions of `next` from `dim` on with `available` atoms; `shards` is the count that
/// `dim` has so far.
void ReshardSearch::arrange(const State &state, State &next, unsigned dim, uint64_t shards,
                            uint64_t available, uint64_t buffer) {
  if (dim == activeDims_.size())
    return reachByPermute(state, next, buffer);
  uint64_t wanted = product(state.dims[dim]);
  if (shards == wanted)
    return arrange(state, next, dim + 1, 1, available, buffer);
  for (uint64_t rest = available; rest != 0; rest &= rest - 1) {
    unsigned atom = std::countr_zero(rest);
    if (wanted % (shards * sizes_[atom]) != 0)
      continue;
    AtomList before = next.dims[dim];
    next.dims[dim] = join(before, atom);
    arrange(state, next, dim, shards * sizes_[atom], available & ~conflicts_[atom], buffer);
    next.dims[dim] = before;
  }
}

void ReshardSearch::reachByPermute(const State &state, const State &next, uint64_t buffer) {
  if (next == state)
    return;
  uint64_t used = next.partial;
  bool disjoint = true;
  for (AtomList list : next.dims)
    forEachAtom(list, [&](unsigned atom) {
      disjoint &= (conflicts_[atom] & used) == 0;
      used |= bitOf(atom);
    });
  if (disjoint)
    reach(next, buffer, {CollectiveKind::CollectivePermute});
}

//===------------------------------------------------------------------------------------------===//
// Results
//===------------------------------------------------------------------------------------------===//

void ReshardSearch::takePath(int32_t goal, const Layout &from) {
  llvm::SmallVector<int32_t, 8> path;
  for (int32_t index = goal; nodes_[index].parent != -1; index = nodes_[index].parent)
    path.push_back(index);
  auto axesOf = [&](AtomList list) {
    AxisList axes;
    for (unsigned count = lengthOf(list); count > 0; --count)
      appendAxis(axes, atoms_[minorAtom(majorPart(list, count - 1)) - 1]);
    return axes;
  };
  Layout layout = from;
  for (int32_t index : llvm::reverse(path)) {
    const Node &node = nodes_[index];
    for (auto [dim, active] : llvm::enumerate(activeDims_))
      layout.dims[active] = axesOf(node.state.dims[dim]);
    AxisList partial;
    for (uint64_t rest = node.state.partial; rest != 0; rest &= rest - 1)
      partial.push_back(atoms_[std::countr_zero(rest) - 1]);
    layout.partial = sortedAxes(partial);

    ReshardStep step{node.move.kind, axesOf(node.move.axes)};
    switch (step.kind) {
    case CollectiveKind::AllReduce:
      step.axes = sortedAxes(step.axes);
      break;
    case CollectiveKind::AllToAll:
      step.dim2 = activeDims_[node.move.dim2];
      [[fallthrough]];
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllSlice:
      step.dim = activeDims_[node.move.dim];
      break;
    case CollectiveKind::CollectivePermute:
      break;
    }
    step.reduction = from.partialKind;
    step.result = layout;
    steps.push_back(std::move(step));
  }
  share = double(nodes_[goal].bytes) / double(total_);
}

/// Reduces, then gathers every dimension that differs, then slices. Always possible.
void ReshardSearch::takeGatherAndSlice(const Layout &from, const Layout &to) {
  Layout layout = from;
  double buffer = 1;
  for (const AxisList &axes : from.dims)
    buffer /= shardCount(axes);
  auto add = [&](CollectiveKind kind, AxisList axes, int dim) {
    steps.push_back({kind, std::move(axes), dim, -1, from.partialKind, layout});
  };
  if (AxisList pending = subtractAxes(from.partial, to.partial); !pending.empty()) {
    double n = shardCount(pending);
    share += 2 * (n - 1) / n * buffer;
    layout.partial = to.partial;
    add(CollectiveKind::AllReduce, pending, -1);
  }
  for (unsigned dim = 0; dim < from.rank(); ++dim) {
    if (from.dims[dim].empty() || from.dims[dim] == to.dims[dim])
      continue;
    double n = shardCount(from.dims[dim]);
    share += (n - 1) * buffer;
    buffer *= n;
    layout.dims[dim].clear();
    add(CollectiveKind::AllGather, from.dims[dim], dim);
  }
  for (unsigned dim = 0; dim < from.rank(); ++dim) {
    if (to.dims[dim].empty() || from.dims[dim] == to.dims[dim])
      continue;
    layout.dims[dim] = to.dims[dim];
    add(CollectiveKind::AllSlice, to.dims[dim], dim);
  }
}

void ReshardSearch::run(llvm::ArrayRef<int64_t> globalShape, const Layout &from, const Layout &to) {
  shape_ = globalShape;
  steps.clear();
  share = 0;
  expanded = 0;
  if (from == to)
    return;
  if (setUp(from, to)) {
    nodes_.clear();
    queue_.clear();
    if (table_.size() != 256)
      table_.resize(256);
    std::fill(table_.begin(), table_.end(), -1);

    // What gathering and slicing costs: an upper bound.
    uint64_t buffer = total_, n = productOf(from_.partial & ~to_.partial);
    for (AtomList list : from_.dims)
      buffer /= product(list);
    limit_ = buffer / n * 2 * (n - 1);
    for (unsigned dim = 0; dim < activeDims_.size(); ++dim) {
      if (from_.dims[dim] == to_.dims[dim])
        continue;
      limit_ += (product(from_.dims[dim]) - 1) * buffer;
      buffer *= product(from_.dims[dim]);
    }

    reach(from_, 0, {});
    while (!queue_.empty() && expanded < kMaxExpanded) {
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      QueueEntry entry = queue_.back();
      queue_.pop_back();
      Node &node = nodes_[entry.node];
      if (node.state == to_)
        return takePath(entry.node, from);
      if (node.closed || node.bytes != entry.spent)
        continue;
      node.closed = true;
      ++expanded;
      expand(entry.node);
    }
  }
  takeGatherAndSlice(from, to);
}
