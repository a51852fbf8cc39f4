// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attention for x86-64-v4.
#include <immintrin.h>

namespace {

using Vec = __m512;
constexpr int kLanes = 16;
constexpr int kTileRows = 6; // 6 x 4 accumulators, 4 loads and a broadcast: 29 of 32 registers
constexpr int kTileVecs = 4;

inline Vec load(const float *p) { return _mm512_loadu_ps(p); }
inline void store(float *p, Vec x) { _mm512_storeu_ps(p, x); }
inline Vec splat(float x) { return _mm512_set1_ps(x); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
inline Vec div(Vec a, Vec b) { return _mm512_div_ps(a, b); }
// b if one of them is a NaN.
inline Vec max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
inline Vec round(Vec x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline float horizontalMax(Vec x) { return _mm512_reduce_max_ps(x); }
inline float horizontalSum(Vec x) { return _mm512_reduce_add_ps(x); }

// x * 2^n for whole n; anything below the smallest denormal is 0.
inline Vec scaleByPower(Vec x, Vec n) { return _mm512_scalef_ps(x, n); }
constexpr float kLowestPower = -160.0f;
inline Vec flushBelow(Vec x, Vec) { return x; }

// x where |y| < bound, else otherwise.
inline Vec selectSmall(Vec y, float bound, Vec x, Vec otherwise) {
  __mmask16 small = _mm512_cmp_ps_mask(_mm512_abs_ps(y), splat(bound), _CMP_LT_OQ);
  return _mm512_mask_blend_ps(small, otherwise, x);
}
// x in lanes first..last-1, else otherwise.
inline Vec selectLanes(int first, int last, Vec x, Vec otherwise) {
  unsigned below = first <= 0 ? 0u : first >= kLanes ? 0xffffu : (1u << first) - 1;
  unsigned upTo = last <= 0 ? 0u : last >= kLanes ? 0xffffu : (1u << last) - 1;
  return _mm512_mask_blend_ps(__mmask16(upTo & ~below), otherwise, x);
}

// Collects whether a value that is not finite was seen.
struct NotFinite {
  __mmask16 seen = 0;
  void look(Vec x) {
    // Quiet and signalling NaN, both infinities.
    seen = _kor_mask16(seen, _mm512_fpclass_ps_mask(x, 0x01 | 0x08 | 0x10 | 0x80));
  }
  bool any() const { return seen != 0; }
};

inline Vec loadBf16(const unsigned short *p) {
  __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
// Round to nearest, ties to even; a NaN stays a NaN.
inline void storeBf16(unsigned short *p, Vec x) {
  __m512i bits = _mm512_castps_si512(x);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  rounded = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p),
                      _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
}

inline Vec loadF16(const unsigned short *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
}
inline void storeF16(unsigned short *p, Vec x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p),
                      _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

// Transposes a square of vectors.
inline void transpose(Vec (&x)[kLanes]) {
  Vec y[kLanes];
#pragma unroll
  for (int i = 0; i < 16; i += 4) {
    Vec a = _mm512_unpacklo_ps(x[i], x[i + 1]), b = _mm512_unpackhi_ps(x[i], x[i + 1]);
    Vec c = _mm512_unpacklo_ps(x[i + 2], x[i + 3]), d = _mm512_unpackhi_ps(x[i + 2], x[i + 3]);
    y[i] = _mm512_shuffle_ps(a, c, 0x44);
    y[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
    y[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
    y[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
  }
  // y[4*i + j] holds, in 128-bit lane l, column 4*l + j of rows 4*i..4*i+3.
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    Vec a = _mm512_shuffle_f32x4(y[j], y[4 + j], 0x44);
    Vec b = _mm512_shuffle_f32x4(y[8 + j], y[12 + j], 0x44);
    Vec c = _mm512_shuffle_f32x4(y[j], y[4 + j], 0xee);
    Vec d = _mm512_shuffle_f32x4(y[8 + j], y[12 + j], 0xee);
    x[j] = _mm512_shuffle_f32x4(a, b, 0x88);
    x[4 + j] = _mm512_shuffle_f32x4(a, b, 0xdd);
    x[8 + j] = _mm512_shuffle_f32x4(c, d, 0x88);
    x[12 + j] = _mm512_shuffle_f32x4(c, d, 0xdd);
  }
}

} // namespace

#include "drivers/host/attention_item.h"

namespace cleave::host {
const AttentionKernels kAttentionAvx512 = {attentionItem, attentionScratchBytes};
} // namespace cleave::host
