// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Dropout of attention's weights as the schema describes it, one weight at a time.
#ifndef CLEAVE_TEST_UNIT_HOSTMATH_DROPOUTREFERENCE_H
#define CLEAVE_TEST_UNIT_HOSTMATH_DROPOUTREFERENCE_H

#include "Tensors.h"
#include "drivers/host/attention.h"
#include <array>

namespace cleave::test {

inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                      std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0], second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

inline uint32_t wordAt(uint64_t position, uint64_t seed, uint32_t site, uint64_t step) {
  uint64_t counter = position / 64 * 16 + position % 16;
  return philox({uint32_t(counter), uint32_t(counter >> 32), site, uint32_t(step)},
                {uint32_t(seed), uint32_t(seed >> 32)})[position / 16 % 4];
}

/// What the weight of key j of a query is multiplied by.
inline double dropoutFactor(const host::AttentionDesc &desc, int64_t seed, int64_t step, int64_t b,
                            int64_t i, int64_t h, int64_t g, int64_t j) {
  const host::AttentionDesc::Dropout &d = desc.dropout;
  if (d.threshold == 0)
    return 1;
  uint64_t position = d.position + uint64_t(b) * d.batchStride + uint64_t(i) * d.queryStride +
                      uint64_t(h) * d.headStride + uint64_t(g) * d.groupStride + uint64_t(j);
  return wordAt(position, uint64_t(seed), d.site, uint64_t(step)) < d.threshold ? 0 : d.scale;
}

inline host::AttentionDesc::Dropout randomDropout(Random &random) {
  host::AttentionDesc::Dropout d;
  double rate = double(pick(random, 1, 9)) / 10;
  d.threshold = uint32_t(rate * 0x1p32);
  d.scale = 1 / (1 - rate);
  d.site = uint32_t(random());
  d.position = uint64_t(pick(random, 0, int64_t(1) << 40)) * 64;
  for (uint64_t *stride : {&d.batchStride, &d.queryStride, &d.headStride, &d.groupStride})
    *stride = uint64_t(pick(random, 0, 1000)) * 64;
  return d;
}

} // namespace cleave::test

#endif // CLEAVE_TEST_UNIT_HOSTMATH_DROPOUTREFERENCE_H
