// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random words for 64 keys at a time by Philox4x32-10, as the schema's Dropout describes. Included
// by the files of an instruction set, to each of which its functions are local: plain loops that
// the compiler vectorises. 16 counters give four words each.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_DROPOUT_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_DROPOUT_H

#include "drivers/host/attention_kernels.h"

namespace {

constexpr int kDropoutKeys = 64;

/// words[j] is that of the key at position + j; `position` is a multiple of 64.
inline void drawWords(const cleave::host::DropoutDraw &draw, uint64_t position, uint32_t *words) {
  const uint64_t counter = position / 4;
  const uint32_t low = uint32_t(counter), high = uint32_t(counter >> 32);
  const uint32_t site = draw.site, step = draw.step;
  uint32_t keys0[10], keys1[10];
  for (uint32_t round = 0; round < 10; ++round) {
    keys0[round] = draw.key[0] + round * 0x9E3779B9u;
    keys1[round] = draw.key[1] + round * 0xBB67AE85u;
  }
#pragma clang loop vectorize(enable) interleave(enable)
  for (uint32_t lane = 0; lane < 16; ++lane) {
    uint32_t a = low + lane, b = high, c = site, d = step; // low is a multiple of 16: no carry
#pragma clang loop unroll(full)
    for (int round = 0; round < 10; ++round) {
      uint64_t first = uint64_t(a) * 0xD2511F53u, second = uint64_t(c) * 0xCD9E8D57u;
      a = uint32_t(second >> 32) ^ b ^ keys0[round];
      b = uint32_t(second);
      c = uint32_t(first >> 32) ^ d ^ keys1[round];
      d = uint32_t(first);
    }
    words[lane] = a;
    words[16 + lane] = b;
    words[32 + lane] = c;
    words[48 + lane] = d;
  }
}

} // namespace

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_DROPOUT_H
