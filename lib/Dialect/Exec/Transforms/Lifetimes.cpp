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

void HappensBefore::add(InstructionOpInterface instruction) {
  int64_t position = instructions_.size();
  positions_[instruction] = position;
  instructions_.push_back(instruction);
  int64_t stream = std::min<int64_t>(instruction.getStream(), kStreams - 1);
  streams_.push_back(stream);
  // What the stream knew when its previous instruction started, that instruction itself, and what
  // the waits bring.
  Clock clock = streamClock_[stream];
  clock[stream] = last_[stream];
  for (Value event : instruction.getWaits()) {
    auto found = positions_.find(event.getDefiningOp());
    if (found == positions_.end())
      continue;
    int64_t other = found->second;
    for (int64_t s = 0; s < kStreams; ++s)
      clock[s] = std::max(clock[s], clock_[other][s]);
    clock[streams_[other]] = std::max(clock[streams_[other]], other);
  }
  clock_.push_back(clock);
  streamClock_[stream] = clock;
  last_[stream] = position;
}

/// What follows knows that everything before has completed.
void HappensBefore::join() { streamClock_.fill(last_); }

HappensBefore::HappensBefore(EntryOp entry, bool repeated) {
  last_.fill(-1);
  streamClock_.fill(last_);
  SmallVector<InstructionOpInterface> segment;
  int64_t repetitions = 1;
  auto addSegment = [&] {
    int64_t begin = instructions_.size();
    for (int64_t i = 0, times = repeated && repetitions > 1 ? 2 : 1; i < times; ++i) {
      join();
      for (InstructionOpInterface instruction : segment)
        add(instruction);
    }
    if (repetitions > 1)
      repetitions_.push_back({begin, instructions_.size()});
    segment.clear();
  };
  for (Operation &op : entry.getBody().front()) {
    if (auto instruction = dyn_cast<InstructionOpInterface>(op))
      segment.push_back(instruction);
    if (auto next = dyn_cast<SegmentOp>(op)) {
      addSegment();
      repetitions = next.getRepetitions();
    }
  }
  addSegment();
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
  // What is there before a repetition is there for all its runs.
  for (auto [begin, end] : order.repetitions())
    for (int64_t position = begin; position < end; ++position) {
      auto keep = [&, begin = begin, end = end](Value buffer) {
        Range &range = ranges_.find(rootOf(buffer))->second;
        if (range.begin < 2 * begin)
          range.end = std::max(range.end, 2 * end);
      };
      InstructionOpInterface instruction = order.instructions()[position];
      for (Value buffer : instruction.getReads())
        keep(buffer);
      for (Value buffer : instruction.getWrites())
        keep(buffer);
    }
}

std::optional<Lifetimes::Range> Lifetimes::of(BufferOp buffer) const {
  auto found = ranges_.find(buffer.getOperation());
  if (found == ranges_.end())
    return std::nullopt;
  return found->second;
}
