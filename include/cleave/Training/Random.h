// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random numbers that depend on nothing but a key and a position: Philox4x32-10 (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", 2011).
#ifndef CLEAVE_TRAINING_RANDOM_H
#define CLEAVE_TRAINING_RANDOM_H

#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>

namespace cleave::training {

/// Four random words for a 128-bit counter and a 64-bit key.
std::array<uint32_t, 4> philox(const std::array<uint32_t, 4> &counter, uint64_t key);

/// A stream of numbers named by a seed and a name.
class RandomStream {
public:
  RandomStream(uint64_t seed, llvm::StringRef name);

  /// Word `index` of the stream.
  uint64_t word(uint64_t index) const;
  /// Numbers 4 * block .. 4 * block + 3 of a standard normal distribution.
  std::array<double, 4> normals(uint64_t block) const;

private:
  uint64_t seed_, name_;
};

} // namespace cleave::training

#endif // CLEAVE_TRAINING_RANDOM_H
