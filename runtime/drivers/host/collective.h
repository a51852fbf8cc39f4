// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Collectives among logical devices, straight from peer to peer through shared memory. The work of
// one collective, of all its parts together, is split into pieces that any worker may run in any
// order; the result does not depend on the split.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_COLLECTIVE_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_COLLECTIVE_H

#include "drivers/host/reduce.h"
#include "hal/hal.h"

namespace cleave::host {

class Collective {
public:
  /// `command` is that of any participant: all but rank and peers are equal.
  Collective(const hal::CollectiveCommand &command, uint32_t participants);
  /// Sets where a participant's data of a part is.
  void bind(size_t part, uint32_t rank, const void *src, void *dst) {
    sources_[part * participants_ + rank] = src;
    destinations_[part * participants_ + rank] = dst;
  }
  /// For Permute: the rank that `rank` receives from, -1 for none.
  void setSource(uint32_t rank, int64_t source) { permuteSources_[rank] = source; }

  uint32_t pieces() const { return uint32_t(pieces_.size()); }
  void runPiece(uint32_t piece, ReduceFunction reduce) const;

private:
  /// Units of one part that are done in one go.
  struct Units {
    uint32_t part;
    uint64_t begin, end;
  };
  void cut();
  uint64_t unitCount(const hal::CollectivePart &part) const;
  void run(const Units &units, ReduceFunction reduce) const;
  void allReduce(const Units &units, ReduceFunction reduce) const;
  void allGather(const Units &units) const;
  void reduceScatter(const Units &units, ReduceFunction reduce) const;
  void allToAll(const Units &units) const;
  void permute(const Units &units) const;
  const void *const *sources(uint32_t part) const {
    return sources_.data() + size_t(part) * participants_;
  }
  void *const *destinations(uint32_t part) const {
    return destinations_.data() + size_t(part) * participants_;
  }
  /// Real rows of a block of `block` rows that begins at row `rank * block` of `dim`.
  static uint64_t validRows(uint64_t rank, uint64_t block, uint64_t dim);

  hal::CollectiveCommand command_;
  uint64_t elementSize_;
  uint32_t participants_;
  std::vector<Units> units_;
  std::vector<std::pair<uint32_t, uint32_t>> pieces_; ///< ranges of units_
  std::vector<const void *> sources_;                 ///< of each part, by rank
  std::vector<void *> destinations_;
  std::vector<int64_t> permuteSources_;
};

/// AllSlice: a device's own rows; no participant but itself.
void sliceRows(const hal::CollectiveCommand &command, const void *src, void *dst);

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_COLLECTIVE_H
