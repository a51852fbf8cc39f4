// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Dialect/Exec/Transforms/Lifetimes.h"

using namespace mlir;
using namespace cleave::exec;

BufferOp cleave::exec::rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getSource();
  return buffer.getDefiningOp<BufferOp>();
}

Place cleave::exec::placeOf(Value buffer) {
  int64_t offset = 0, bytes = -1;
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    offset += view.getOffset();
    if (bytes < 0)
      bytes = view.getBytes();
    buffer = view.getSource();
  }
  auto root = buffer.getDefiningOp<BufferOp>();
  return {root.getRegion(), offset + int64_t(root.getOffset().value_or(0)),
          bytes < 0 ? int64_t(root.getBytes()) : bytes};
}

HappensBefore::HappensBefore(EntryOp entry) {
  for (Operation &op : entry.getBody().front())
    if (auto instruction = dyn_cast<InstructionOpInterface>(op)) {
      positions_[&op] = instructions_.size();
      instructions_.push_back(instruction);
    }
  clock_.resize(instructions_.size());
  std::array<int64_t, kStreams> last;
  last.fill(-1);
  std::array<std::array<int64_t, kStreams>, kStreams> streamClock;
  for (auto &clock : streamClock)
    clock.fill(-1);
  for (auto [position, instruction] : llvm::enumerate(instructions_)) {
    int64_t stream = std::min<int64_t>(instruction.getStream(), kStreams - 1);
    streams_.push_back(stream);
    // What the stream knew when its previous instruction started, that instruction itself, and what
    // the waits bring.
    auto &clock = clock_[position];
    clock = streamClock[stream];
    clock[stream] = last[stream];
    for (Value event : instruction.getWaits()) {
      auto found = positions_.find(event.getDefiningOp());
      if (found == positions_.end())
        continue;
      int64_t other = found->second;
      for (int64_t s = 0; s < kStreams; ++s)
        clock[s] = std::max(clock[s], clock_[other][s]);
      clock[streams_[other]] = std::max(clock[streams_[other]], other);
    }
    streamClock[stream] = clock;
    last[stream] = position;
  }
}

Lifetimes::Lifetimes(EntryOp entry) {
  HappensBefore order(entry);
  int64_t count = order.instructions().size();
  // For an instruction of another stream: the last position of stream 0 before it may start, and
  // the first position of stream 0 that knows it has completed.
  std::vector<int64_t> knownAt(count, count);
  for (int64_t position = count - 1; position >= 0; --position) {
    if (order.streamOf(position) != 0)
      continue;
    for (int64_t stream = 1; stream < kStreams; ++stream)
      if (int64_t other = order.lastBefore(position, stream); other >= 0)
        knownAt[other] = position;
  }
  std::array<int64_t, kStreams> next;
  next.fill(count);
  for (int64_t position = count - 1; position >= 0; --position) {
    int64_t stream = order.streamOf(position);
    if (stream == 0)
      continue;
    next[stream] = std::min(next[stream], knownAt[position]);
    knownAt[position] = next[stream];
  }
  for (int64_t position = 0; position < count; ++position) {
    InstructionOpInterface instruction = order.instructions()[position];
    Range range{2 * position + 1, 2 * position + 1};
    if (order.streamOf(position) != 0) {
      range.begin = 2 * (order.lastBefore(position, 0) + 1);
      range.end = std::max(range.begin, 2 * knownAt[position]);
    }
    auto touch = [&](Value buffer) {
      auto [entry, isNew] = ranges_.try_emplace(rootOf(buffer), range);
      entry->second.begin = std::min(entry->second.begin, range.begin);
      entry->second.end = std::max(entry->second.end, range.end);
    };
    for (Value buffer : instruction.getReads())
      touch(buffer);
    for (Value buffer : instruction.getWrites())
      touch(buffer);
  }
}

std::optional<Lifetimes::Range> Lifetimes::of(BufferOp buffer) const {
  auto found = ranges_.find(buffer.getOperation());
  if (found == ranges_.end())
    return std::nullopt;
  return found->second;
}
