// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-pack-memory: lifetimes of scratch buffers, and where they lie.

#include "cleave/Dialect/Exec/Transforms/Lifetimes.h"
#include "cleave/Dialect/Exec/Transforms/MemoryPacking.h"
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

struct PackMemoryPass : cleave::impl::CleavePackMemoryPassBase<PackMemoryPass> {
  void runOnOperation() override {
    Builder builder(&getContext());
    for (EntryOp entry : getOperation().getOps<EntryOp>()) {
      Lifetimes lifetimes(entry);
      std::vector<MemoryItem> items;
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
      int64_t top = packMemory(items);
      for (auto [buffer, item] : llvm::zip_equal(scratch, items))
        buffer.setOffsetAttr(builder.getI64IntegerAttr(item.offset));
      entry.setScratchBytes(top);
      liveBytes += largestLiveSum(items);
      packedBytes += top;
    }
  }
};

} // namespace
