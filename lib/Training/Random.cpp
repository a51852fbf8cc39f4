// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Training/Random.h"

#include <cmath>
#include <numbers>

using namespace cleave::training;

std::array<uint32_t, 4> cleave::training::philox(const std::array<uint32_t, 4> &counter,
                                                 uint64_t key) {
  constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  std::array<uint32_t, 4> c = counter;
  uint32_t key0 = uint32_t(key), key1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(kMultiplier0) * c[0], product1 = uint64_t(kMultiplier1) * c[2];
    c = {uint32_t(product1 >> 32) ^ c[1] ^ key0, uint32_t(product1),
         uint32_t(product0 >> 32) ^ c[3] ^ key1, uint32_t(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return c;
}

RandomStream::RandomStream(uint64_t seed, llvm::StringRef name) : seed_(seed) {
  // FNV-1a: the same on every machine and in every version.
  name_ = 0xcbf29ce484222325;
  for (unsigned char c : name)
    name_ = (name_ ^ c) * 0x100000001b3;
}

static std::array<uint32_t, 4> blockOf(uint64_t seed, uint64_t name, uint64_t block) {
  return philox({uint32_t(block), uint32_t(block >> 32), uint32_t(name), uint32_t(name >> 32)},
                seed);
}

uint64_t RandomStream::word(uint64_t index) const {
  std::array<uint32_t, 4> words = blockOf(seed_, name_, index / 2);
  unsigned half = 2 * (index % 2);
  return uint64_t(words[half + 1]) << 32 | words[half];
}

std::array<double, 4> RandomStream::normals(uint64_t block) const {
  std::array<uint32_t, 4> words = blockOf(seed_, name_, block);
  std::array<double, 4> result;
  for (int pair = 0; pair < 2; ++pair) {
    // Box-Muller, with numbers in (0, 1) that are never 0.
    double u = (words[2 * pair] + 0.5) * 0x1p-32, v = (words[2 * pair + 1] + 0.5) * 0x1p-32;
    double radius = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * v;
    result[2 * pair] = radius * std::cos(angle);
    result[2 * pair + 1] = radius * std::sin(angle);
  }
  return result;
}
