// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-verify-exec: the static proof that an instruction list neither races nor deadlocks.

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Exec/Transforms/Lifetimes.h"
#include "cleave/Dialect/Exec/Transforms/Passes.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace cleave;
using namespace cleave::exec;

namespace cleave {
#define GEN_PASS_DEF_CLEAVEVERIFYEXECPASS
#include "cleave/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace cleave

namespace {

/// Who used a range of bytes last: the buffer that owns its contents, its writer, and the readers
/// since then.
struct Use {
  int64_t end;
  Operation *owner;
  int64_t writer; ///< -1: before the first instruction
  SmallVector<int64_t, 2> readers;
};

/// The bytes of one region, in disjoint ranges by offset.
using RangeMap = std::map<int64_t, Use>;

class EntryProof {
public:
  EntryProof(EntryOp entry, SymbolTable &symbols)
      : entry_(entry), symbols_(symbols), order_(entry, /*repeated=*/true) {}

  LogicalResult run() {
    for (BufferOp buffer : entry_.getOps<BufferOp>()) {
      if (!buffer.getOffset())
        return buffer.emitOpError("has no place: run cleave-pack-memory before the proof");
      int64_t size = sizeOf(buffer.getRegion());
      uint64_t most = size >= 0 ? size : std::numeric_limits<int64_t>::max();
      if (uint64_t end = *buffer.getOffset() + buffer.getBytes(); end > most)
        return buffer.emitOpError("ends at byte ") << end << ", past its region's " << most;
    }
    int64_t lastCollective = -1;
    int64_t count = order_.instructions().size();
    for (int64_t position = 0; position < count; ++position) {
      InstructionOpInterface instruction = order_.instructions()[position];
      if (int64_t(instruction.getStream()) >= kStreams)
        return instruction.emitOpError("runs on stream ")
               << instruction.getStream() << ", expected 0 to " << kStreams - 1;
      if (auto collective = dyn_cast<CollectiveOp>(instruction.getOperation())) {
        if (failed(checkGeometry(collective)) || failed(checkParts(collective)))
          return failure();
        if (collective.communicates()) {
          if (lastCollective >= 0 && !order_.isBefore(lastCollective, position))
            return collective.emitOpError("is not ordered after the collective before it, so ranks "
                                          "may issue them in different orders and deadlock");
          lastCollective = position;
        }
      }
      if (auto launch = dyn_cast<LaunchOp>(instruction.getOperation()))
        if (failed(checkOverwritten(launch)))
          return failure();
      for (Value buffer : instruction.getReads())
        if (failed(read(buffer, position)))
          return failure();
      for (Value buffer : instruction.getWrites())
        if (failed(write(buffer, position)))
          return failure();
    }
    for (Attribute attribute : entry_.getOutputs()) {
      auto tensor = cast<TensorAttr>(attribute);
      int64_t covered = 0;
      auto [first, last] = within({exec::Region::Output, tensor.getOffset(), tensor.getBytes()});
      for (auto it = first; it != last; ++it)
        covered += it->second.end - it->first;
      if (covered != tensor.getBytes())
        return entry_.emitOpError("never writes ")
               << tensor.getBytes() - covered << " of the " << tensor.getBytes()
               << " bytes of its output \"" << tensor.getName() << "\"";
    }
    return success();
  }

private:
  /// Splits ranges so that none straddles the borders of `place`; returns those within.
  std::pair<RangeMap::iterator, RangeMap::iterator> within(const Place &place) {
    RangeMap &map = regions_[int(place.region)];
    auto split = [&](int64_t at) {
      auto it = map.upper_bound(at);
      if (it == map.begin())
        return;
      --it;
      if (it->first < at && at < it->second.end) {
        Use tail = it->second;
        it->second.end = at;
        map.emplace(at, tail);
      }
    };
    split(place.offset);
    split(place.offset + place.bytes);
    return {map.lower_bound(place.offset), map.lower_bound(place.offset + place.bytes)};
  }

  /// Bytes of a region; -1 where the entry does not say.
  int64_t sizeOf(exec::Region region) {
    switch (region) {
    case exec::Region::Input:
      return entry_.getInputBytes();
    case exec::Region::Output:
      return entry_.getOutputBytes();
    case exec::Region::Stash:
      return entry_.getStashBytes();
    case exec::Region::Scratch:
      return entry_.getScratchBytes();
    case exec::Region::Workspace:
      return entry_.getWorkspaceBytes();
    default:
      return -1;
    }
  }

  void own(Value buffer, int64_t writer) {
    Place place = placeOf(buffer);
    if (place.bytes == 0)
      return;
    auto [first, last] = within(place);
    RangeMap &map = regions_[int(place.region)];
    map.erase(first, last);
    map.emplace(place.offset, Use{place.offset + place.bytes, rootOf(buffer), writer, {}});
  }

  bool owns(Value buffer) {
    Place place = placeOf(buffer);
    auto [first, last] = within(place);
    int64_t covered = 0;
    for (auto it = first; it != last; ++it) {
      if (it->second.owner != rootOf(buffer))
        return false;
      covered += it->second.end - it->first;
    }
    return covered == place.bytes;
  }

  Operation *at(int64_t position) { return order_.instructions()[position]; }

  LogicalResult race(int64_t position, int64_t earlier, StringRef what) {
    InFlightDiagnostic diagnostic =
        at(position)->emitOpError("races with an instruction of stream ");
    diagnostic << order_.streamOf(earlier) << " that " << what
               << " the same bytes: it must wait for it";
    diagnostic.attachNote(at(earlier)->getLoc()) << "the other instruction";
    return failure();
  }

  LogicalResult read(Value buffer, int64_t position) {
    exec::Region region = placeOf(buffer).region;
    bool given = region == exec::Region::State || region == exec::Region::Input;
    if (!given && !owns(buffer)) {
      InFlightDiagnostic diagnostic = at(position)->emitOpError(
          "reads a buffer that was never written, or whose bytes another buffer has taken");
      diagnostic.attachNote(buffer.getLoc()) << "the buffer";
      return failure();
    }
    Place place = placeOf(buffer);
    auto [first, last] = within(place);
    if (given) { // Written before the first instruction.
      SmallVector<std::pair<int64_t, int64_t>> gaps;
      int64_t next = place.offset;
      for (auto it = first; it != last; next = it->second.end, ++it)
        if (next < it->first)
          gaps.push_back({next, it->first});
      if (next < place.offset + place.bytes)
        gaps.push_back({next, place.offset + place.bytes});
      for (auto [begin, end] : gaps)
        regions_[int(place.region)].emplace(begin, Use{end, rootOf(buffer), -1, {}});
      std::tie(first, last) = within(place);
    }
    for (auto it = first; it != last; ++it) {
      Use &use = it->second;
      if (use.writer >= 0 && !order_.isBefore(use.writer, position))
        return race(position, use.writer, "writes");
      // Readers of one stream are ordered: the last one stands for them.
      llvm::erase_if(use.readers, [&](int64_t reader) {
        return order_.streamOf(reader) == order_.streamOf(position);
      });
      use.readers.push_back(position);
    }
    return success();
  }

  LogicalResult write(Value buffer, int64_t position) {
    Place place = placeOf(buffer);
    if (place.bytes == 0)
      return success();
    auto [first, last] = within(place);
    for (auto it = first; it != last; ++it) {
      const Use &use = it->second;
      if (use.writer >= 0 && use.writer != position && !order_.isBefore(use.writer, position))
        return race(position, use.writer, "writes");
      for (int64_t reader : use.readers) {
        if (reader == position && use.owner != rootOf(buffer))
          return at(position)->emitOpError("writes bytes of a buffer that it reads");
        if (reader != position && !order_.isBefore(reader, position))
          return race(position, reader, "reads");
      }
    }
    own(buffer, position);
    return success();
  }

  /// Kernels that write results over inputs get no other buffers for them.
  LogicalResult checkOverwritten(LaunchOp op) {
    auto kernel = symbols_.lookup<KernelOp>(op.getKernel());
    if (!kernel)
      return op.emitOpError("runs the kernel ") << op.getKernelAttr() << ", which is not declared";
    if (!kernel.getInPlace())
      return success();
    for (auto [result, buffer] : llvm::enumerate(op.getOutputs())) {
      int64_t input = kernel.getOverwrittenInput(result);
      if (input >= 0 && buffer != op.getInputs()[input])
        return op.emitOpError("has result ")
               << result << " in a buffer of its own, but the kernel writes it over input "
               << input;
    }
    return success();
  }

  LogicalResult checkGeometry(CollectiveOp op) {
    const Mesh *mesh = findMesh(entry_, entry_.getMeshAttr());
    if (!mesh)
      return entry_.emitOpError("runs on a mesh that is not declared");
    if (op.getKind() != exec::CollectiveKind::Permute &&
        int64_t(op.getAxes()) >= int64_t(entry_.getAxisLists().size()))
      return op.emitOpError("names axis list ")
             << op.getAxes() << " of " << entry_.getAxisLists().size();
    if (op.getKind() == exec::CollectiveKind::AllReduce ||
        op.getKind() == exec::CollectiveKind::Permute)
      return success();
    auto list = cast<AxisListAttr>(entry_.getAxisLists()[op.getAxes()]);
    FailureOr<AxisList> axes = axesOf(list.getAxes(), *mesh);
    if (failed(axes))
      return op.emitOpError("names axes that the mesh does not have");
    int64_t n = shardCount(*axes);
    auto cover = [&](int64_t block, int64_t dim) -> LogicalResult {
      if (block * n < dim)
        return op.emitOpError("has ")
               << n << " blocks of " << block << ", which do not cover " << dim;
      return success();
    };
    if (op.getBlock2() && failed(cover(*op.getBlock2(), *op.getDim2())))
      return failure();
    for (auto [block, dim] : llvm::zip_equal(op.getBlock(), op.getDim()))
      if (failed(cover(block, dim)))
        return failure();
    return success();
  }

  /// Parts run in any order: what one writes, no other reads or writes.
  LogicalResult checkParts(CollectiveOp op) {
    struct Range {
      Place place;
      bool isWritten;
      int64_t end() const { return place.offset + place.bytes; }
    };
    if (op.getNumParts() == 1)
      return success();
    SmallVector<Range> ranges;
    for (auto [source, target] : llvm::zip_equal(op.getSrc(), op.getDst())) {
      Place from = placeOf(source), to = placeOf(target);
      ranges.push_back({to, true});
      if (std::tie(from.region, from.offset, from.bytes) !=
          std::tie(to.region, to.offset, to.bytes))
        ranges.push_back({from, false});
    }
    llvm::erase_if(ranges, [](const Range &range) { return range.place.bytes == 0; });
    llvm::sort(ranges, [](const Range &a, const Range &b) {
      return std::tie(a.place.region, a.place.offset) < std::tie(b.place.region, b.place.offset);
    });
    int64_t readEnd = 0, writtenEnd = 0; // Of the ranges before, in the same region.
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Range &range = ranges[i];
      if (i == 0 || range.place.region != ranges[i - 1].place.region)
        readEnd = writtenEnd = 0;
      if (range.place.offset < writtenEnd || (range.isWritten && range.place.offset < readEnd))
        return op.emitOpError("has a part that writes what another one reads or writes");
      int64_t &end = range.isWritten ? writtenEnd : readEnd;
      end = std::max(end, range.end());
    }
    return success();
  }

  EntryOp entry_;
  SymbolTable &symbols_;
  HappensBefore order_;
  RangeMap regions_[7];
};

struct VerifyExecPass : cleave::impl::CleaveVerifyExecPassBase<VerifyExecPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      if (failed(EntryProof(entry, symbols).run()))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
