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
      sources_(command.parts.size() * participants),
      destinations_(command.parts.size() * participants), permuteSources_(participants, -1) {
  cut();
}

/// Large parts into several pieces; of small ones as many as make a piece.
void Collective::cut() {
  uint64_t pieceBytes = 0;
  auto add = [&](const Units &units, uint64_t bytes) {
    if (pieces_.empty() || pieceBytes + bytes > kPieceBytes) {
      pieces_.emplace_back(uint32_t(units_.size()), uint32_t(units_.size()));
      pieceBytes = 0;
    }
    units_.push_back(units);
    pieces_.back().second = uint32_t(units_.size());
    pieceBytes += bytes;
  };
  for (uint32_t p = 0; p < command_.parts.size(); ++p) {
    const hal::CollectivePart &part = command_.parts[p];
    uint64_t count = unitCount(part);
    if (count == 0)
      continue;
    // Bytes all units together read or write, whichever is more.
    uint64_t total = std::max(part.src.bytes, part.dst.bytes) * participants_;
    uint64_t bytesPerUnit = std::max<uint64_t>(total / count, 1);
    uint64_t step = std::max<uint64_t>(kPieceBytes / bytesPerUnit, 1);
    // An all-reduce is cut at whole cache lines, so that two workers never write one.
    if (command_.kind == fb::CollectiveKind::AllReduce)
      step = (step + 63) / 64 * 64;
    constexpr uint64_t kMaxPieces = 1 << 20;
    step = std::max(step, (count + kMaxPieces - 1) / kMaxPieces);
    for (uint64_t begin = 0; begin < count; begin += step) {
      uint64_t end = std::min(count, begin + step);
      add({p, begin, end}, (end - begin) * bytesPerUnit);
    }
  }
  if (pieces_.empty()) // All parts are empty.
    pieces_.emplace_back(0, 0);
}

uint64_t Collective::unitCount(const hal::CollectivePart &part) const {
  if (part.src.bytes == 0 || part.dst.bytes == 0)
    return 0;
  uint64_t n = participants_;
  switch (command_.kind) {
  case fb::CollectiveKind::AllReduce:
    return part.src.bytes / elementSize_;
  case fb::CollectiveKind::ReduceScatter:
    return n * part.outer;
  case fb::CollectiveKind::AllGather:
  case fb::CollectiveKind::AllToAll:
    return n * n * part.outer;
  default:
    return n;
  }
}

void Collective::runPiece(uint32_t piece, ReduceFunction reduce) const {
  for (uint32_t i = pieces_[piece].first; i < pieces_[piece].second; ++i)
    run(units_[i], reduce);
}

void Collective::run(const Units &units, ReduceFunction reduce) const {
  switch (command_.kind) {
  case fb::CollectiveKind::AllReduce:
    return allReduce(units, reduce);
  case fb::CollectiveKind::AllGather:
    return allGather(units);
  case fb::CollectiveKind::ReduceScatter:
    return reduceScatter(units, reduce);
  case fb::CollectiveKind::AllToAll:
    return allToAll(units);
  case fb::CollectiveKind::Permute:
    return permute(units);
  case fb::CollectiveKind::AllSlice: // local: see sliceRows
    return;
  }
}

void Collective::allReduce(const Units &units, ReduceFunction reduce) const {
  ReduceArgs args;
  args.dtype = unsigned(command_.dtype);
  args.reduction = unsigned(command_.reduction);
  args.sources = sources(units.part);
  args.numSources = participants_;
  args.destinations = destinations(units.part);
  args.numDestinations = participants_;
  args.sourceBegin = args.destinationBegin = units.begin;
  args.count = units.end - units.begin;
  reduce(args);
}

void Collective::reduceScatter(const Units &units, ReduceFunction reduce) const {
  const hal::CollectivePart &c = command_.parts[units.part];
  ReduceArgs args;
  args.dtype = unsigned(command_.dtype);
  args.reduction = unsigned(command_.reduction);
  args.sources = sources(units.part);
  args.numSources = participants_;
  args.numDestinations = 1;
  for (uint64_t unit = units.begin; unit < units.end; ++unit) {
    uint64_t rank = unit / c.outer, o = unit % c.outer;
    args.destinations = destinations(units.part) + rank;
    args.sourceBegin = (o * c.dim + rank * c.block) * c.inner;
    args.destinationBegin = o * c.block * c.inner;
    args.count = validRows(rank, c.block, c.dim) * c.inner;
    if (args.count)
      reduce(args);
  }
}

void Collective::allGather(const Units &units) const {
  const hal::CollectivePart &c = command_.parts[units.part];
  const void *const *from = sources(units.part);
  void *const *to = destinations(units.part);
  uint64_t row = c.inner * elementSize_;
  for (uint64_t unit = units.begin; unit < units.end; ++unit) {
    uint64_t o = unit % c.outer, pair = unit / c.outer;
    uint64_t sender = pair % participants_, receiver = pair / participants_;
    uint64_t rows = validRows(sender, c.block, c.dim);
    if (rows)
      std::memcpy(static_cast<char *>(to[receiver]) + (o * c.dim + sender * c.block) * row,
                  static_cast<const char *>(from[sender]) + o * c.block * row, rows * row);
  }
}

void Collective::allToAll(const Units &units) const {
  const hal::CollectivePart &c = command_.parts[units.part];
  const hal::CollectiveCommand &all = command_;
  uint64_t element = c.inner * elementSize_;
  for (uint64_t unit = units.begin; unit < units.end; ++unit) {
    uint64_t o = unit % c.outer, pair = unit / c.outer;
    uint64_t from = pair % participants_, to = pair / participants_;
    // Rows that `from` adds to the gathered dimension, and columns that `to` keeps of the split.
    uint64_t rows = validRows(from, c.block, c.dim), columns = validRows(to, all.block2, all.dim2);
    if (rows == 0 || columns == 0)
      continue;
    const char *src = static_cast<const char *>(sources_[from]);
    char *dst = static_cast<char *>(destinations_[to]);
    uint64_t outerCount = all.gatherOuter ? rows : columns;
    for (uint64_t i = 0; i < outerCount; ++i) {
      for (uint64_t m = 0; m < all.middle; ++m) {
        uint64_t srcAt, dstAt, length;
        if (all.gatherOuter) { // [outer, block, middle, dim2, inner] -> [outer, dim, middle,
                               // block2,
                               // inner]
          srcAt = ((o * c.block + i) * all.middle + m) * all.dim2 + to * all.block2;
          dstAt = ((o * c.dim + from * c.block + i) * all.middle + m) * all.block2;
          length = columns;
        } else { // [outer, dim2, middle, block, inner] -> [outer, block2, middle, dim, inner]
          srcAt = ((o * all.dim2 + to * all.block2 + i) * all.middle + m) * c.block;
          dstAt = ((o * all.block2 + i) * all.middle + m) * c.dim + from * c.block;
          length = rows;
        }
        std::memcpy(dst + dstAt * element, src + srcAt * element, length * element);
      }
    }
  }
}

void Collective::permute(const Units &units) const {
  for (uint64_t rank = units.begin; rank < units.end; ++rank)
    if (int64_t from = permuteSources_[rank]; from >= 0)
      std::memcpy(destinations_[rank], sources_[size_t(from)], command_.parts[0].src.bytes);
}

void sliceRows(const hal::CollectiveCommand &command, const void *src, void *dst) {
  const hal::CollectivePart &c = command.parts[0];
  uint64_t row = c.inner * rt::sizeOf(command.dtype);
  uint64_t start = command.rank * c.block;
  uint64_t rows = start >= c.dim ? 0 : std::min(c.block, c.dim - start);
  if (rows == 0 || c.src.bytes == 0)
    return;
  for (uint64_t o = 0; o < c.outer; ++o)
    std::memcpy(static_cast<char *>(dst) + o * c.block * row,
                static_cast<const char *>(src) + (o * c.dim + start) * row, rows * row);
}

} // namespace cleave::host
