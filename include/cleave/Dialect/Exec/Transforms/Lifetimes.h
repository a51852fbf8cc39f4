// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What happens before what in an instruction list, and how long buffers live.

#ifndef CLEAVE_DIALECT_EXEC_TRANSFORMS_LIFETIMES_H
#define CLEAVE_DIALECT_EXEC_TRANSFORMS_LIFETIMES_H

#include "cleave/Dialect/Exec/IR/ExecOps.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <vector>

namespace cleave::exec {

/// The buffer of which `buffer` is a view; itself if it is none.
BufferOp rootOf(mlir::Value buffer);

/// The bytes of a placed buffer or a view of one.
struct Place {
  exec::Region region;
  int64_t offset, bytes;
};
Place placeOf(mlir::Value buffer);

/// The streams an instruction may name.
constexpr int64_t kStreams = 4;

/// The instructions of an entry by position, and for each the last instruction of every stream that
/// is known to have completed before it starts.
class HappensBefore {
public:
  /// With `repeated`, instructions that are run several times stand twice, one after the other.
  explicit HappensBefore(EntryOp entry, bool repeated = false);

  llvm::ArrayRef<InstructionOpInterface> instructions() const { return instructions_; }
  /// The position of the instruction that completes with this event.
  int64_t positionOf(mlir::Value event) const { return positions_.lookup(event.getDefiningOp()); }
  int64_t positionOf(mlir::Operation *op) const { return positions_.lookup(op); }
  /// True if `a` has completed when `b` starts, on every rank and under any timing.
  bool isBefore(int64_t a, int64_t b) const { return a != b && clock_[b][streamOf(a)] >= a; }
  int64_t streamOf(int64_t position) const { return streams_[position]; }
  /// Positions [begin, end) of what is run several times.
  llvm::ArrayRef<std::pair<int64_t, int64_t>> repetitions() const { return repetitions_; }
  /// Position of the last instruction of `stream` that completes before `position` starts; -1:
  /// none.
  int64_t lastBefore(int64_t position, int64_t stream) const { return clock_[position][stream]; }

private:
  using Clock = std::array<int64_t, kStreams>;
  void add(InstructionOpInterface instruction);
  void join();

  std::array<Clock, kStreams> streamClock_; ///< what each stream knows
  Clock last_;                              ///< the last position of each stream
  std::vector<std::pair<int64_t, int64_t>> repetitions_;
  std::vector<InstructionOpInterface> instructions_;
  std::vector<int64_t> streams_;
  std::vector<Clock> clock_;
  llvm::DenseMap<mlir::Operation *, int64_t> positions_;
};

/// The time in which a buffer's bytes may not be used for anything else. Time is stream 0's: slot
/// 2p + 1 is while its instruction at position p runs, slot 2p is just before that, when what p
/// waits for has completed: p may write where a collective that it waits for has read.
class Lifetimes {
public:
  struct Range {
    int64_t begin, end; ///< slots, inclusive
  };
  explicit Lifetimes(EntryOp entry);
  /// None for a buffer that no instruction touches.
  std::optional<Range> of(BufferOp buffer) const;

private:
  llvm::DenseMap<mlir::Operation *, Range> ranges_;
};

} // namespace cleave::exec

#endif // CLEAVE_DIALECT_EXEC_TRANSFORMS_LIFETIMES_H
