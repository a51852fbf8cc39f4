// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Slices that are a part of their operand's memory.
#ifndef CLEAVE_CONVERSION_SLICEVIEWS_H
#define CLEAVE_CONVERSION_SLICEVIEWS_H

#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include <optional>

namespace cleave {

/// The byte at which the slice's elements begin, if they lie one after another in the operand and
/// begin where a kernel's buffer may (a multiple of 64); none for other slices. Forming kernels and
/// lowering to instructions must agree on this.
inline std::optional<int64_t> viewOffset(graph::SliceOp op) {
  auto type = llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  if (type.getRank() != 1 || op.getStrides()[0] != 1)
    return std::nullopt;
  int64_t bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8) * op.getStarts()[0];
  if (bytes % 64 != 0)
    return std::nullopt;
  return bytes;
}

} // namespace cleave

#endif // CLEAVE_CONVERSION_SLICEVIEWS_H
