// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs of ops of one repeated block and instance, ahead of which collectives are placed.

#ifndef CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_LAYERRUNS_H
#define CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_LAYERRUNS_H

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"

namespace cleave {

/// An op that keeps a device busy, while which a collective may be under way.
bool isWork(mlir::Operation *op);

/// Bytes of a tensor on one device.
int64_t localBytes(mlir::Value value);

/// The runs of a block's ops, in order. Ops without a block (the embedding, the head) form runs of
/// their own where there is work in them; else they belong to the run that they stand in. So do a
/// few between ops of one run; many lie between the two halves of a step.
struct LayerRuns {
  explicit LayerRuns(llvm::ArrayRef<mlir::Operation *> ops);
  std::vector<size_t> of;        ///< by the position of an op: its run
  std::vector<size_t> firstWork; ///< of each run: the position of its first work, or of its last op
};

} // namespace cleave

#endif // CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_LAYERRUNS_H
