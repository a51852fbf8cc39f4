// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/host/collective.h"

#include <algorithm>
#include <cstring>

namespace cleave::host {
namespace {

/// A piece moves about this much, so that it takes long against its hand-over and short against a
/// step.
constexpr uint64_t kPieceBytes = 256 << 10;

} // namespace

uint64_t Collective::validRows(uint64_t rank, uint64_t block, uint64_t dim) {
  uint64_t start = rank * block;
  return start >= dim ? 0 : std::min(block, dim - start);
}

Collective::Collective(const hal::CollectiveCommand &command, uint32_t participants)
    : command_(command), elementSize_(rt::sizeOf(command.dtype)), participants_(participants),
      sources_(participants), destinations_(participants), permuteSources_(participants, -1) {
  units_ = unitCount();
  // Bytes all units together read or write, whichever is more.
  uint64_t total = std::max(command.src.bytes, command.dst.bytes) * participants;
  if (units_ == 0)
    return;
  uint64_t bytesPerUnit = std::max<uint64_t>(total / units_, 1);
  unitsPerPiece_ = std::max<uint64_t>(kPieceBytes / bytesPerUnit, 1);
  // An all-reduce is cut at whole cache lines, so that two workers never write one.
  if (command.kind == fb::CollectiveKind::AllReduce)
    unitsPerPiece_ = (unitsPerPiece_ + 63) / 64 * 64;
  constexpr uint64_t kMaxPieces = 1 << 20;
  unitsPerPiece_ = std::max(unitsPerPiece_, (units_ + kMaxPieces - 1) / kMaxPieces);
  pieces_ = uint32_t((units_ + unitsPerPiece_ - 1) / unitsPerPiece_);
}

uint64_t Collective::unitCount() const {
  const hal::CollectiveCommand &c = command_;
  if (c.src.bytes == 0 || c.dst.bytes == 0)
    return 0;
  uint64_t n = participants_;
  switch (c.kind) {
  case fb::CollectiveKind::AllReduce:
    return c.src.bytes / elementSize_;
  case fb::CollectiveKind::ReduceScatter:
    return n * c.outer;
  case fb::CollectiveKind::AllGather:
  case fb::CollectiveKind::AllToAll:
    return n * n * c.outer;
  default:
    return n;
  }
}

void Collective::runPiece(uint32_t piece, ReduceFunction reduce) const {
  uint64_t begin = piece * unitsPerPiece_;
  runUnits(begin, std::min(units_, begin + unitsPerPiece_), reduce);
}

void Collective::runUnits(uint64_t begin, uint64_t end, ReduceFunction reduce) const {
  if (begin >= end)
    return;
  switch (command_.kind) {
  case fb::CollectiveKind::AllReduce:
    return allReduce(begin, end, reduce);
  case fb::CollectiveKind::AllGather:
    return allGather(begin, end);
  case fb::CollectiveKind::ReduceScatter:
    return reduceScatter(begin, end, reduce);
  case fb::CollectiveKind::AllToAll:
    return allToAll(begin, end);
  case fb::CollectiveKind::Permute:
    return permute(begin, end);
  case fb::CollectiveKind::AllSlice: // local: see sliceRows
    return;
  }
}

void Collective::allReduce(uint64_t begin, uint64_t end, ReduceFunction reduce) const {
  ReduceArgs args;
  args.dtype = unsigned(command_.dtype);
  args.reduction = unsigned(command_.reduction);
  args.sources = sources_.data();
  args.numSources = participants_;
  args.destinations = destinations_.data();
  args.numDestinations = participants_;
  args.sourceBegin = args.destinationBegin = begin;
  args.count = end - begin;
  reduce(args);
}

void Collective::reduceScatter(uint64_t begin, uint64_t end, ReduceFunction reduce) const {
  const hal::CollectiveCommand &c = command_;
  ReduceArgs args;
  args.dtype = unsigned(c.dtype);
  args.reduction = unsigned(c.reduction);
  args.sources = sources_.data();
  args.numSources = participants_;
  args.numDestinations = 1;
  for (uint64_t unit = begin; unit < end; ++unit) {
    uint64_t rank = unit / c.outer, o = unit % c.outer;
    args.destinations = &destinations_[rank];
    args.sourceBegin = (o * c.dim + rank * c.block) * c.inner;
    args.destinationBegin = o * c.block * c.inner;
    args.count = validRows(rank, c.block, c.dim) * c.inner;
    if (args.count)
      reduce(args);
  }
}

void Collective::allGather(uint64_t begin, uint64_t end) const {
  const hal::CollectiveCommand &c = command_;
  uint64_t row = c.inner * elementSize_;
  for (uint64_t unit = begin; unit < end; ++unit) {
    uint64_t o = unit % c.outer, pair = unit / c.outer;
    uint64_t from = pair % participants_, to = pair / participants_;
    uint64_t rows = validRows(from, c.block, c.dim);
    if (rows)
      std::memcpy(static_cast<char *>(destinations_[to]) + (o * c.dim + from * c.block) * row,
                  static_cast<const char *>(sources_[from]) + o * c.block * row, rows * row);
  }
}

void Collective::allToAll(uint64_t begin, uint64_t end) const {
  const hal::CollectiveCommand &c = command_;
  uint64_t element = c.inner * elementSize_;
  for (uint64_t unit = begin; unit < end; ++unit) {
    uint64_t o = unit % c.outer, pair = unit / c.outer;
    uint64_t from = pair % participants_, to = pair / participants_;
    // Rows that `from` adds to the gathered dimension, and columns that `to` keeps of the split.
    uint64_t rows = validRows(from, c.block, c.dim), columns = validRows(to, c.block2, c.dim2);
    if (rows == 0 || columns == 0)
      continue;
    const char *src = static_cast<const char *>(sources_[from]);
    char *dst = static_cast<char *>(destinations_[to]);
    uint64_t outerCount = c.gatherOuter ? rows : columns;
    for (uint64_t i = 0; i < outerCount; ++i) {
      for (uint64_t m = 0; m < c.middle; ++m) {
        uint64_t srcAt, dstAt, length;
        if (c.gatherOuter) { // [outer, block, middle, dim2, inner] -> [outer, dim, middle, block2,
                             // inner]
          srcAt = ((o * c.block + i) * c.middle + m) * c.dim2 + to * c.block2;
          dstAt = ((o * c.dim + from * c.block + i) * c.middle + m) * c.block2;
          length = columns;
        } else { // [outer, dim2, middle, block, inner] -> [outer, block2, middle, dim, inner]
          srcAt = ((o * c.dim2 + to * c.block2 + i) * c.middle + m) * c.block;
          dstAt = ((o * c.block2 + i) * c.middle + m) * c.dim + from * c.block;
          length = rows;
        }
        std::memcpy(dst + dstAt * element, src + srcAt * element, length * element);
      }
    }
  }
}

void Collective::permute(uint64_t begin, uint64_t end) const {
  for (uint64_t rank = begin; rank < end; ++rank)
    if (int64_t from = permuteSources_[rank]; from >= 0)
      std::memcpy(destinations_[rank], sources_[size_t(from)], command_.src.bytes);
}

void sliceRows(const hal::CollectiveCommand &c, const void *src, void *dst) {
  uint64_t row = c.inner * rt::sizeOf(c.dtype);
  uint64_t start = c.rank * c.block;
  uint64_t rows = start >= c.dim ? 0 : std::min(c.block, c.dim - start);
  if (rows == 0 || c.src.bytes == 0)
    return;
  for (uint64_t o = 0; o < c.outer; ++o)
    std::memcpy(static_cast<char *>(dst) + o * c.block * row,
                static_cast<const char *>(src) + (o * c.dim + start) * row, rows * row);
}

} // namespace cleave::host
