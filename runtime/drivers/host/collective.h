// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Collectives among logical devices, straight from peer to peer through shared memory. The work of
// one collective is split into pieces that any worker may run in any order; the result does not
// depend on the split.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_COLLECTIVE_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_COLLECTIVE_H

#include "drivers/host/reduce.h"
#include "hal/hal.h"

namespace cleave::host {

class Collective {
public:
  /// `command` is that of any participant: all but rank and peers are equal.
  Collective(const hal::CollectiveCommand &command, uint32_t participants);
  /// Sets where a participant's data is.
  void bind(uint32_t rank, const void *src, void *dst) {
    sources_[rank] = src;
    destinations_[rank] = dst;
  }
  /// For Permute: the rank that `rank` receives from, -1 for none.
  void setSource(uint32_t rank, int64_t source) { permuteSources_[rank] = source; }

  uint32_t pieces() const { return pieces_; }
  void runPiece(uint32_t piece, ReduceFunction reduce) const;

private:
  uint64_t unitCount() const;
  void runUnits(uint64_t begin, uint64_t end, ReduceFunction reduce) const;
  void allReduce(uint64_t begin, uint64_t end, ReduceFunction reduce) const;
  void allGather(uint64_t begin, uint64_t end) const;
  void reduceScatter(uint64_t begin, uint64_t end, ReduceFunction reduce) const;
  void allToAll(uint64_t begin, uint64_t end) const;
  void permute(uint64_t begin, uint64_t end) const;
  /// Real rows of a block of `block` rows that begins at row `rank * block` of `dim`.
  static uint64_t validRows(uint64_t rank, uint64_t block, uint64_t dim);

  hal::CollectiveCommand command_;
  uint64_t elementSize_;
  uint32_t participants_;
  uint64_t units_ = 0, unitsPerPiece_ = 1;
  uint32_t pieces_ = 1;
  std::vector<const void *> sources_;
  std::vector<void *> destinations_;
  std::vector<int64_t> permuteSources_;
};

/// AllSlice: a device's own rows; no participant but itself.
void sliceRows(const hal::CollectiveCommand &command, const void *src, void *dst);

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_COLLECTIVE_H
