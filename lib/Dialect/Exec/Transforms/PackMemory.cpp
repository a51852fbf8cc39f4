// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-pack-memory: lifetimes of scratch buffers, and where they lie.

#include "cleave/Dialect/Exec/Transforms/Lifetimes.h"
#include "cleave/Dialect/Exec/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::exec;

namespace cleave {
#define GEN_PASS_DEF_CLEAVEPACKMEMORYPASS
#include "cleave/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace cleave

namespace {

constexpr int64_t kAlignment = 64;

struct Item {
  int64_t begin, end, bytes; ///< live in [begin, end], slots of Lifetimes
  int64_t offset = -1;
};

/// Offsets for items in a given order: each takes the lowest gap that fits among the placed items
/// whose lifetimes overlap its own. Items are found by buckets of slots, so that an item of a
/// layer is compared with that layer's neighbours only.
class FirstFit {
public:
  FirstFit(int64_t slots, size_t items) : buckets_(slots / kBucket + 1), stamp_(items, 0) {}

  int64_t pack(MutableArrayRef<Item> items, ArrayRef<uint32_t> order) {
    for (auto &bucket : buckets_)
      bucket.clear();
    int64_t top = 0;
    for (uint32_t i : order) {
      Item &item = items[i];
      neighbours_.clear();
      ++round_;
      for (int64_t b = item.begin / kBucket; b <= item.end / kBucket; ++b) {
        for (uint32_t j : buckets_[b])
          if (stamp_[j] != round_ && items[j].begin <= item.end && item.begin <= items[j].end) {
            stamp_[j] = round_;
            neighbours_.push_back(j);
          }
        buckets_[b].push_back(i);
      }
      llvm::sort(neighbours_, [&](uint32_t a, uint32_t b) {
        return std::tie(items[a].offset, a) < std::tie(items[b].offset, b);
      });
      int64_t best = -1, bestGap = 0, at = 0;
      for (uint32_t j : neighbours_) {
        int64_t gap = items[j].offset - at;
        if (gap >= item.bytes && (best < 0 || gap < bestGap)) {
          best = at;
          bestGap = gap;
        }
        at = std::max(at, items[j].offset + items[j].bytes);
      }
      item.offset = best < 0 ? at : best;
      top = std::max(top, item.offset + item.bytes);
    }
    return top;
  }

private:
  static constexpr int64_t kBucket = 64;
  std::vector<std::vector<uint32_t>> buckets_;
  std::vector<uint32_t> stamp_;
  std::vector<uint32_t> neighbours_;
  uint32_t round_ = 0;
};

/// Largest sum of bytes that live in one slot: no packing can be smaller.
int64_t largestLiveSum(ArrayRef<Item> items, int64_t slots) {
  std::vector<int64_t> change(slots + 2, 0);
  for (const Item &item : items) {
    change[item.begin] += item.bytes;
    change[item.end + 1] -= item.bytes;
  }
  int64_t now = 0, most = 0;
  for (int64_t delta : change)
    most = std::max(most, now += delta);
  return most;
}

/// Packs items, trying a few orders and then moving to the front what stuck out above the bound.
int64_t packItems(std::vector<Item> &items, int64_t slots, int64_t bound) {
  std::vector<uint32_t> base(items.size());
  for (uint32_t i = 0; i < items.size(); ++i)
    base[i] = i;
  auto sorted = [&](auto key) {
    std::vector<uint32_t> order = base;
    llvm::sort(order, [&](uint32_t a, uint32_t b) {
      return std::make_tuple(key(items[a]), a) < std::make_tuple(key(items[b]), b);
    });
    return order;
  };
  auto bySize = sorted([](const Item &item) { return -item.bytes; });
  auto byTime = sorted([](const Item &item) { return item.begin; });
  auto byLength = sorted([](const Item &item) { return item.begin - item.end; });
  FirstFit packer(slots, items.size());
  std::vector<Item> best;
  int64_t bestTop = INT64_MAX;
  int64_t goodEnough = bound + bound / 200;
  // Each attempt compares every item with all that live at its time: long lists get fewer.
  int attempts = items.size() > 4000 ? 2 : 6;
  for (std::vector<uint32_t> order : {byLength, bySize, byTime}) {
    for (int attempt = 0; attempt < attempts && bestTop > goodEnough; ++attempt) {
      int64_t top = packer.pack(items, order);
      if (top < bestTop) {
        bestTop = top;
        best = items;
      }
      std::vector<uint32_t> above, below;
      for (uint32_t i : order)
        (items[i].offset + items[i].bytes > bound ? above : below).push_back(i);
      order = above;
      llvm::append_range(order, below);
    }
  }
  items = best;
  return bestTop;
}

struct PackMemoryPass : cleave::impl::CleavePackMemoryPassBase<PackMemoryPass> {
  void runOnOperation() override {
    Builder builder(&getContext());
    for (EntryOp entry : getOperation().getOps<EntryOp>()) {
      Lifetimes lifetimes(entry);
      std::vector<Item> items;
      std::vector<BufferOp> scratch;
      for (BufferOp buffer : entry.getOps<BufferOp>()) {
        if (buffer.getRegion() != exec::Region::Scratch)
          continue;
        std::optional<Lifetimes::Range> range = lifetimes.of(buffer);
        if (!range) {
          buffer.setOffsetAttr(builder.getI64IntegerAttr(0));
          buffer.setBytesAttr(builder.getI64IntegerAttr(0));
          continue;
        }
        items.push_back({range->begin, range->end,
                         int64_t(llvm::alignTo(int64_t(buffer.getBytes()), kAlignment))});
        scratch.push_back(buffer);
      }
      int64_t bound = largestLiveSum(items, lifetimes.slots());
      int64_t top = items.empty() ? 0 : packItems(items, lifetimes.slots(), bound);
      for (auto [buffer, item] : llvm::zip_equal(scratch, items))
        buffer.setOffsetAttr(builder.getI64IntegerAttr(item.offset));
      entry.setScratchBytes(top);
      liveBytes += bound;
      packedBytes += top;
    }
  }
};

} // namespace
