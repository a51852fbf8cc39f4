// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where buffers lie in a region, given how long each lives.
#ifndef CLEAVE_DIALECT_EXEC_TRANSFORMS_MEMORYPACKING_H
#define CLEAVE_DIALECT_EXEC_TRANSFORMS_MEMORYPACKING_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace cleave::exec {

struct MemoryItem {
  int64_t begin, end; ///< slots of time in which it lives, both included, from 0
  int64_t bytes;
  int64_t offset = -1; ///< the answer
};

/// Largest sum of bytes that live in one slot: no packing can be smaller.
int64_t largestLiveSum(llvm::ArrayRef<MemoryItem> items);

/// Sets the offsets so that items whose lives overlap do not share bytes, and returns the size of
/// the region, close to the largest live sum. Deterministic.
int64_t packMemory(llvm::MutableArrayRef<MemoryItem> items);

} // namespace cleave::exec

#endif // CLEAVE_DIALECT_EXEC_TRANSFORMS_MEMORYPACKING_H
