// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The elementwise part of attention's gradient, included by one file an instruction set. Only plain
// loops: the compiler vectorises them. No header with inline functions that other
// files use may be included here, since
// the linker might take its copy compiled for these instructions for the whole program.
#ifndef CLEAVE_ROWS_NAME
#error "define CLEAVE_ROWS_NAME"
#endif

#include "drivers/host/attention_dropout.h"

namespace cleave::host {

namespace {

/// e^x for x <= 88; 0 below -87. Relative error about 1e-7.
inline float expApproximation(float x) {
  x = x < -87.0f ? -87.0f : x;
  // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits; also for a NaN,
  // which no conversion to an integer may be given.
  float shifted = x * 1.44269504f + 12582912.0f;
  float n = shifted - 12582912.0f;
  float r = __builtin_fmaf(n, -0.693359375f, x);
  r = __builtin_fmaf(n, 2.12194440e-4f, r);
  float p = 1.9875691500e-4f;
  p = __builtin_fmaf(p, r, 1.3981999507e-3f);
  p = __builtin_fmaf(p, r, 8.3334519073e-3f);
  p = __builtin_fmaf(p, r, 4.1665795894e-2f);
  p = __builtin_fmaf(p, r, 1.6666665459e-1f);
  p = __builtin_fmaf(p, r, 5.0000001201e-1f);
  p = __builtin_fmaf(p, r * r, r) + 1.0f;
  unsigned bits = (__builtin_bit_cast(unsigned, shifted) << 23) + 0x3f800000u;
  float power = __builtin_bit_cast(float, bits);
  return p * power;
}

/// tanh(x), by e^(2|x|).
inline float tanhApproximation(float x) {
  float size = x < 0 ? -x : x;
  float e = expApproximation(size > 20.0f ? -40.0f : -2.0f * size);
  float t = (1.0f - e) / (1.0f + e);
  return x < 0 ? -t : t;
}

} // namespace

/// For a row of `n` raw products: scores in place (scaled and capped), outside of [first, last)
/// left.
void CLEAVE_ROWS_NAME(Scores)(float *s, int first, int last, float scale, float softcap) {
  if (softcap > 0)
    for (int i = first; i < last; ++i)
      s[i] = softcap * tanhApproximation(s[i] * scale / softcap);
  else
    for (int i = first; i < last; ++i)
      s[i] *= scale;
}

/// Folds the scores in [first, last) into a running maximum and sum of exponentials.
void CLEAVE_ROWS_NAME(Fold)(const float *s, int first, int last, float *maximum, float *sum) {
  float most = *maximum;
  for (int i = first; i < last; ++i)
    most = s[i] > most ? s[i] : most;
  float total = 0;
#pragma clang loop vectorize(enable)
  for (int i = first; i < last; ++i) {
#pragma clang fp reassociate(on)
    total += expApproximation(s[i] - most);
  }
  if (last > first) {
    *sum =
        *sum * (*maximum == -__builtin_inff() ? 0.0f : expApproximation(*maximum - most)) + total;
    *maximum = most;
  }
}

/// Scores become probabilities and `dp` (dout v') becomes ds, scaled; both are 0 outside [first,
/// last).
void CLEAVE_ROWS_NAME(Differentiate)(float *s, float *dp, int n, int first, int last, float lse,
                                     float delta, float scale, float softcap) {
  for (int i = 0; i < first; ++i)
    s[i] = dp[i] = 0;
  if (softcap > 0)
    for (int i = first; i < last; ++i) {
      float t = s[i] / softcap;
      float p = expApproximation(s[i] - lse);
      dp[i] = p * (dp[i] - delta) * (1.0f - t * t) * scale;
      s[i] = p;
    }
  else
    for (int i = first; i < last; ++i) {
      float p = expApproximation(s[i] - lse);
      dp[i] = p * (dp[i] - delta) * scale;
      s[i] = p;
    }
  for (int i = last; i < n; ++i)
    s[i] = dp[i] = 0;
}

/// mask[j], for keys in [first, last) of those from a position on: 0 for those that are dropped,
/// else the draw's scale. There is room for `last` rounded up to a multiple of 64; others may be
/// anything.
void CLEAVE_ROWS_NAME(Mask)(const DropoutDraw &draw, uint64_t position, int first, int last,
                            float *mask) {
  for (int block = first / kDropoutKeys * kDropoutKeys; block < last; block += kDropoutKeys) {
    uint32_t words[kDropoutKeys];
    drawWords(draw, position + uint64_t(block), words);
    for (int j = 0; j < kDropoutKeys; ++j)
      mask[block + j] = words[j] < draw.threshold ? 0.0f : draw.scale;
  }
}

/// x in [first, last) by its mask; what is dropped is 0, whatever it was.
void CLEAVE_ROWS_NAME(Drop)(float *x, const float *mask, int first, int last) {
  for (int i = first; i < last; ++i)
    x[i] = mask[i] == 0.0f ? 0.0f : x[i] * mask[i];
}

} // namespace cleave::host
