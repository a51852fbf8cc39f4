// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Small collectives that are sent together.

#ifndef CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_COLLECTIVEBUCKETS_H
#define CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_COLLECTIVEBUCKETS_H

#include "mlir/IR/Block.h"

namespace cleave {

/// Puts collectives of at most `smallBytes` that can meet at once side by side and numbers them as
/// members of buckets of at most `bucketBytes`. Gathers of what is there from the beginning, or
/// made again, are put where the first of their run stands; others wait for the last. Returns how
/// many collectives are members.
int64_t formBuckets(mlir::Block &block, int64_t smallBytes, int64_t bucketBytes);

} // namespace cleave

#endif // CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_COLLECTIVEBUCKETS_H
