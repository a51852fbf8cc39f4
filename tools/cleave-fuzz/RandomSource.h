// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random choices that a seed replays on every machine.

#ifndef CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMSOURCE_H
#define CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMSOURCE_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <utility>

namespace cleave::fuzz {

/// SplitMix64. The standard library's distributions differ between implementations, so there are
/// none here.
class RandomSource {
public:
  explicit RandomSource(uint64_t seed) : state(seed) {}
  /// A source of its own, so that what one part of a case draws does not change another part.
  RandomSource fork(uint64_t stream) const {
    RandomSource other(state ^ (stream + 1) * 0xD1342543DE82EF95ull);
    other.next();
    return other;
  }

  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// In [0, n).
  int64_t below(int64_t n) { return n <= 1 ? 0 : int64_t(next() % uint64_t(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T> const T &pick(llvm::ArrayRef<T> list) { return list[below(list.size())]; }
  template <typename List> void shuffle(List &list) {
    for (size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[below(i)]);
  }

private:
  uint64_t state;
};

} // namespace cleave::fuzz

#endif // CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMSOURCE_H
