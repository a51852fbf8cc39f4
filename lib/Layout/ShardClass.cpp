// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/ShardClass.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace cleave;

ShardClass ShardClass::of(int64_t size, int64_t count) {
  int64_t shard = llvm::divideCeil(size, count);
  if (shard == 0)
    return {0, false, true};
  return {size / shard, size % shard != 0, shard == 1};
}

bool cleave::haveSameClasses(int64_t a, int64_t b, llvm::ArrayRef<int64_t> counts) {
  return llvm::all_of(
      counts, [&](int64_t count) { return ShardClass::of(a, count) == ShardClass::of(b, count); });
}

int64_t cleave::smallestOfSameClasses(int64_t size, llvm::ArrayRef<int64_t> counts, int64_t least) {
  for (int64_t candidate = std::max<int64_t>(least, 1); candidate < size; ++candidate)
    if (haveSameClasses(candidate, size, counts))
      return candidate;
  return size;
}

llvm::SmallVector<int64_t> cleave::divisorsOf(llvm::ArrayRef<int64_t> counts) {
  std::set<int64_t> divisors;
  for (int64_t count : counts)
    for (int64_t d = 1; d * d <= count; ++d)
      if (count % d == 0)
        divisors.insert({d, count / d});
  return {divisors.begin(), divisors.end()};
}
