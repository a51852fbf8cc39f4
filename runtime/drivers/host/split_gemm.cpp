// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/host/split_gemm.h"

#include "base/dtype.h"
#include "base/status.h"
#include <algorithm>

namespace cleave::host {
namespace {

/// Multiply-adds that a piece takes at least: some 20 microseconds.
constexpr double kMinWork = 2e6;
/// Every piece packs the right operand anew: over so many rows that is one part in a hundred.
constexpr int64_t kMinRows = 256;
/// Products of few rows are cut by columns instead.
constexpr int64_t kFewRows = 16, kMinColumns = 512;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// Equal chunks, rounded up to what kernels work on at once.
int64_t evenChunk(int64_t extent, int64_t pieces) {
  return ceilDiv(ceilDiv(extent, pieces), 64) * 64;
}

} // namespace

absl::StatusOr<SplitGemm> SplitGemm::create(const GemmDesc &desc, uint32_t maxPieces,
                                            GemmCache &cache) {
  SplitGemm split;
  double work = double(desc.batch) * double(desc.m) * double(desc.n) * double(desc.k);
  int64_t most = std::min<int64_t>(maxPieces, int64_t(work / kMinWork));
  // Of the batch, the rows or the columns, a chunk.
  int64_t GemmDesc::*extent = &GemmDesc::m;
  int64_t chunk = 0;
  if (most > 1 && desc.batch >= most) {
    extent = &GemmDesc::batch;
    chunk = ceilDiv(desc.batch, most);
  } else if (most > 1 && desc.m >= 2 * kMinRows) {
    chunk = evenChunk(desc.m, std::min(most, desc.m / kMinRows));
  } else if (most > 1 && desc.m <= kFewRows && desc.n >= 2 * kMinColumns) {
    extent = &GemmDesc::n;
    chunk = evenChunk(desc.n, std::min(most, desc.n / kMinColumns));
  }
  if (chunk == 0) {
    CLEAVE_ASSIGN_OR_RETURN(split.plan_, cache.get(desc));
    split.last_ = split.plan_;
    return split;
  }
  GemmDesc piece = desc, last = desc;
  split.pieces_ = uint32_t(ceilDiv(desc.*extent, chunk));
  piece.*extent = chunk;
  last.*extent = desc.*extent - chunk * (split.pieces_ - 1);
  CLEAVE_ASSIGN_OR_RETURN(split.plan_, cache.get(piece));
  CLEAVE_ASSIGN_OR_RETURN(split.last_, cache.get(last));
  bool byBatch = extent == &GemmDesc::batch, byRows = extent == &GemmDesc::m;
  int64_t ab = chunk * int64_t(rt::sizeOf(desc.dtypeAB));
  int64_t c = chunk * int64_t(rt::sizeOf(desc.dtypeC));
  split.aStep_ = ab * (byBatch ? desc.aStrides[0] : byRows ? desc.aStrides[1] : 0);
  split.bStep_ = ab * (byBatch ? desc.bStrides[0] : byRows ? 0 : desc.bStrides[2]);
  split.cStep_ = c * (byBatch ? desc.cStrides[0] : byRows ? desc.cStrides[1] : desc.cStrides[2]);
  return split;
}

size_t SplitGemm::scratchBytes() const {
  return std::max(plan_->scratchBytes(), last_->scratchBytes());
}

absl::Status SplitGemm::run(uint32_t piece, void *scratch) const {
  int64_t i = piece;
  const GemmPlan *plan = piece + 1 < pieces_ ? plan_ : last_;
  return plan->run(a_ + i * aStep_, b_ + i * bStep_, c_ + i * cStep_, scratch);
}

} // namespace cleave::host
