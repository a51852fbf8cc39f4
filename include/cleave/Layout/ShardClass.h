// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// When two sizes of a dimension are sharded alike: the same devices hold full, cut and empty
// shards.
#ifndef CLEAVE_LAYOUT_SHARDCLASS_H
#define CLEAVE_LAYOUT_SHARDCLASS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace cleave {

/// How `count` devices hold a dimension, each ceil(size / count) or what is left of it.
struct ShardClass {
  int64_t full;       ///< devices with a full shard
  bool cut;           ///< one more has a smaller shard; the others are empty
  bool singleElement; ///< a full shard is one element: size <= count

  static ShardClass of(int64_t size, int64_t count);
  bool operator==(const ShardClass &) const = default;
};

/// Equal classes over each of `counts`. Then the sizes have the same of these numbers as divisors
/// and stand in the same order to each.
bool haveSameClasses(int64_t a, int64_t b, llvm::ArrayRef<int64_t> counts);

/// The smallest size from `least` up with the classes of `size`; `size` itself if `least` is
/// greater.
int64_t smallestOfSameClasses(int64_t size, llvm::ArrayRef<int64_t> counts, int64_t least = 1);

/// All divisors of each of `counts`, sorted: also parts of axes shard dimensions.
llvm::SmallVector<int64_t> divisorsOf(llvm::ArrayRef<int64_t> counts);

} // namespace cleave

#endif // CLEAVE_LAYOUT_SHARDCLASS_H
