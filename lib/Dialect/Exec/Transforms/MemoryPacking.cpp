// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Dialect/Exec/Transforms/MemoryPacking.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>
#include <vector>

using namespace cleave::exec;

/// How many items are placed in all attempts together, about: a tenth of a second.
static constexpr size_t kMostPlacements = 100'000;

namespace {

struct Extent {
  int64_t begin, end; ///< bytes, the end not included
};

/// Disjoint extents in order, adjacent ones joined: memory that is packed well has few.
class ExtentSet {
public:
  void clear() { extents_.clear(); }
  llvm::ArrayRef<Extent> extents() const { return extents_; }
  void insert(Extent added) {
    auto first =
        llvm::partition_point(extents_, [&](const Extent &e) { return e.end < added.begin; });
    auto last = std::partition_point(first, extents_.end(),
                                     [&](const Extent &e) { return e.begin <= added.end; });
    if (first == last) {
      extents_.insert(first, added);
      return;
    }
    first->begin = std::min(first->begin, added.begin);
    first->end = std::max(std::prev(last)->end, added.end);
    extents_.erase(std::next(first), last);
  }

private:
  std::vector<Extent> extents_;
};

/// What is taken at which time: a binary tree over the slots. A long life is noted at a few nodes,
/// so that looking for a place costs about the same however much lives at once.
class TakenMemory {
public:
  explicit TakenMemory(int64_t slots) : slots_(llvm::PowerOf2Ceil(slots)), nodes_(2 * slots_) {}

  void clear() {
    for (Node &node : nodes_) {
      node.throughout.clear();
      node.sometime.clear();
    }
  }
  void insert(const MemoryItem &item) { insert(1, 0, slots_ - 1, item); }
  /// Appends what is taken at some time of the item's life, in no order.
  void collect(const MemoryItem &item, std::vector<Extent> &taken) const {
    collect(1, 0, slots_ - 1, item, taken);
  }

private:
  struct Node {
    ExtentSet throughout; ///< taken in all of the node's slots, by items noted here
    ExtentSet sometime;   ///< by items noted here or below
  };

  void insert(size_t node, int64_t first, int64_t last, const MemoryItem &item) {
    Extent extent{item.offset, item.offset + item.bytes};
    nodes_[node].sometime.insert(extent);
    if (item.begin <= first && last <= item.end) {
      nodes_[node].throughout.insert(extent);
      return;
    }
    int64_t middle = first + (last - first) / 2;
    if (item.begin <= middle)
      insert(2 * node, first, middle, item);
    if (item.end > middle)
      insert(2 * node + 1, middle + 1, last, item);
  }

  void collect(size_t node, int64_t first, int64_t last, const MemoryItem &item,
               std::vector<Extent> &taken) const {
    if (item.begin <= first && last <= item.end)
      return llvm::append_range(taken, nodes_[node].sometime.extents());
    if (nodes_[node].sometime.extents().empty())
      return;
    llvm::append_range(taken, nodes_[node].throughout.extents());
    int64_t middle = first + (last - first) / 2;
    if (item.begin <= middle)
      collect(2 * node, first, middle, item, taken);
    if (item.end > middle)
      collect(2 * node + 1, middle + 1, last, item, taken);
  }

  int64_t slots_;
  std::vector<Node> nodes_; ///< 1 is the root
};

/// Offsets for items in a given order: each takes the lowest place that is free while it lives.
class FirstFit {
public:
  explicit FirstFit(int64_t slots) : taken_(slots) {}

  int64_t pack(llvm::MutableArrayRef<MemoryItem> items, llvm::ArrayRef<uint32_t> order) {
    taken_.clear();
    int64_t top = 0;
    for (uint32_t index : order) {
      MemoryItem &item = items[index];
      item.offset = place(item);
      if (item.bytes != 0)
        taken_.insert(item);
      top = std::max(top, item.offset + item.bytes);
    }
    return top;
  }

private:
  int64_t place(const MemoryItem &item) {
    extents_.clear();
    taken_.collect(item, extents_);
    llvm::sort(extents_, [](const Extent &a, const Extent &b) { return a.begin < b.begin; });
    int64_t at = 0;
    for (const Extent &extent : extents_) {
      if (extent.begin - at >= item.bytes)
        break;
      at = std::max(at, extent.end);
    }
    return at;
  }

  TakenMemory taken_;
  std::vector<Extent> extents_;
};

/// Looks for an order that packs well: items that stick out above the bound are placed earlier the
/// next time, by how often they did so far. Blaming all items of one kind (size and length of life)
/// moves what every layer of a model has in all layers at once.
class OrderSearch {
public:
  OrderSearch(std::vector<uint32_t> first, std::vector<uint32_t> kinds)
      : order_(first), rank_(first.size()), kinds_(std::move(kinds)), blame_(first.size(), 0) {
    for (auto [rank, item] : llvm::enumerate(first))
      rank_[item] = rank;
  }

  llvm::ArrayRef<uint32_t> order() const { return order_; }
  void learn(llvm::ArrayRef<MemoryItem> items, int64_t bound) {
    llvm::SmallVector<bool> blamed(items.size(), false);
    for (auto [item, kind] : llvm::zip_equal(items, kinds_))
      blamed[kind] |= item.offset + item.bytes > bound;
    for (auto [blame, kind] : llvm::zip_equal(blame_, kinds_))
      blame += blamed[kind];
    llvm::sort(order_, [&](uint32_t a, uint32_t b) {
      return blame_[a] != blame_[b] ? blame_[a] > blame_[b] : rank_[a] < rank_[b];
    });
  }

private:
  std::vector<uint32_t> order_, rank_;
  std::vector<uint32_t> kinds_; ///< by item, below their number
  std::vector<uint32_t> blame_;
};

/// For each item the first of its size and length of life.
std::vector<uint32_t> kindsOf(llvm::ArrayRef<MemoryItem> items) {
  llvm::DenseMap<std::pair<int64_t, int64_t>, uint32_t> first;
  std::vector<uint32_t> kinds;
  for (auto [index, item] : llvm::enumerate(items))
    kinds.push_back(first.try_emplace({item.bytes, item.end - item.begin}, index).first->second);
  return kinds;
}

int64_t slotsOf(llvm::ArrayRef<MemoryItem> items) {
  int64_t last = 0;
  for (const MemoryItem &item : items)
    last = std::max(last, item.end);
  return last + 1;
}

} // namespace

int64_t cleave::exec::largestLiveSum(llvm::ArrayRef<MemoryItem> items) {
  std::vector<int64_t> change(slotsOf(items) + 1, 0);
  for (const MemoryItem &item : items) {
    change[item.begin] += item.bytes;
    change[item.end + 1] -= item.bytes;
  }
  int64_t now = 0, most = 0;
  for (int64_t delta : change)
    most = std::max(most, now += delta);
  return most;
}

int64_t cleave::exec::packMemory(llvm::MutableArrayRef<MemoryItem> items) {
  if (items.empty())
    return 0;
  std::vector<uint32_t> each(items.size());
  std::iota(each.begin(), each.end(), 0);
  auto sorted = [&](auto key) {
    std::vector<uint32_t> order = each;
    llvm::sort(order, [&](uint32_t a, uint32_t b) {
      return std::make_tuple(key(items[a]), -items[a].bytes, a) <
             std::make_tuple(key(items[b]), -items[b].bytes, b);
    });
    return order;
  };
  auto bySize = sorted([](const MemoryItem &item) { return -item.bytes; });
  auto byBegin = sorted([](const MemoryItem &item) { return item.begin; });
  auto byEnd = sorted([](const MemoryItem &item) { return -item.end; });
  std::vector<uint32_t> kinds = kindsOf(items);
  OrderSearch searches[] = {
      {bySize, each}, {byEnd, each}, {byBegin, each}, {byEnd, kinds}, {byBegin, kinds}};

  int64_t bound = largestLiveSum(items), goodEnough = bound + bound / 200;
  FirstFit packer(slotsOf(items));
  std::vector<MemoryItem> best;
  int64_t bestTop = INT64_MAX;
  size_t attempts = std::max<size_t>(kMostPlacements / items.size(), 2 * std::size(searches));
  for (size_t attempt = 0; attempt < attempts && bestTop > goodEnough; ++attempt) {
    OrderSearch &search = searches[attempt % std::size(searches)];
    int64_t top = packer.pack(items, search.order());
    if (top < bestTop) {
      bestTop = top;
      best.assign(items.begin(), items.end());
    }
    search.learn(items, bound);
  }
  llvm::copy(best, items.begin());
  return bestTop;
}
