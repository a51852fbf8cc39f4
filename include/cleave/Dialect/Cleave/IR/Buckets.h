// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Buckets of collectives that meet once.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_BUCKETS_H
#define CLEAVE_DIALECT_CLEAVE_IR_BUCKETS_H

#include "cleave/Dialect/Cleave/IR/CleaveInterfaces.h"

namespace cleave {

/// An integer, on collectives in local form: those of one number that stand side by side are the
/// members of a bucket. None depends on another.
inline constexpr llvm::StringLiteral kBucketAttr = "cleave.bucket";

/// True for the kinds of collectives of which several can meet at once.
bool canBeGrouped(CollectiveKind kind);

/// The collective right behind `op` if both are members of one bucket, else null.
CollectiveOpInterface nextInBucket(CollectiveOpInterface op);

} // namespace cleave

#endif // CLEAVE_DIALECT_CLEAVE_IR_BUCKETS_H
