// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attention for x86-64-v3.
#include <immintrin.h>

namespace {

using Vec = __m256;
constexpr int kLanes = 8;
constexpr int kTileRows = 6; // 6 x 2 accumulators, 2 loads and a broadcast: 15 of 16 registers
constexpr int kTileVecs = 2;

inline Vec load(const float *p) { return _mm256_loadu_ps(p); }
inline void store(float *p, Vec x) { _mm256_storeu_ps(p, x); }
inline Vec splat(float x) { return _mm256_set1_ps(x); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
inline Vec sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
inline Vec div(Vec a, Vec b) { return _mm256_div_ps(a, b); }
// b if one of them is a NaN.
inline Vec max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline Vec min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
inline Vec round(Vec x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline float horizontalMax(Vec x) {
  __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_max_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
}
inline float horizontalSum(Vec x) {
  __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_add_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
}

// x * 2^n for x about 1 and whole n >= kLowestPower.
inline Vec scaleByPower(Vec x, Vec n) {
  __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), exponent));
}
constexpr float kLowestPower = -125.0f;
// x, or 0 where the power was at or below the lowest one.
inline Vec flushBelow(Vec x, Vec power) {
  return _mm256_andnot_ps(_mm256_cmp_ps(power, splat(kLowestPower), _CMP_LE_OQ), x);
}

// x where |y| < bound, else otherwise.
inline Vec selectSmall(Vec y, float bound, Vec x, Vec otherwise) {
  Vec size = _mm256_andnot_ps(splat(-0.0f), y);
  return _mm256_blendv_ps(otherwise, x, _mm256_cmp_ps(size, splat(bound), _CMP_LT_OQ));
}
// x in lanes first..last-1, else otherwise.
inline Vec selectLanes(int first, int last, Vec x, Vec otherwise) {
  __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i from = _mm256_cmpgt_epi32(lane, _mm256_set1_epi32(first - 1));
  __m256i to = _mm256_cmpgt_epi32(_mm256_set1_epi32(last), lane);
  return _mm256_blendv_ps(otherwise, x, _mm256_castsi256_ps(_mm256_and_si256(from, to)));
}

// Collects whether a value that is not finite was seen.
struct NotFinite {
  Vec seen = _mm256_setzero_ps();
  void look(Vec x) {
    Vec zero = _mm256_sub_ps(x, x); // a NaN for a NaN or an infinity
    seen = _mm256_or_ps(seen, _mm256_cmp_ps(zero, zero, _CMP_UNORD_Q));
  }
  bool any() const { return _mm256_movemask_ps(seen) != 0; }
};

inline Vec loadBf16(const unsigned short *p) {
  __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}
// Round to nearest, ties to even; a NaN stays a NaN.
inline void storeBf16(unsigned short *p, Vec x) {
  __m256i bits = _mm256_castps_si256(x);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  rounded = _mm256_castps_si256(_mm256_blendv_ps(
      _mm256_castsi256_ps(rounded), _mm256_castsi256_ps(quiet), _mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
  rounded = _mm256_srli_epi32(rounded, 16);
  _mm_storeu_si128(
      reinterpret_cast<__m128i *>(p),
      _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1)));
}

inline Vec loadF16(const unsigned short *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
}
inline void storeF16(unsigned short *p, Vec x) {
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p),
                   _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

// Transposes a square of vectors.
inline void transpose(Vec (&x)[kLanes]) {
  Vec y[kLanes];
#pragma unroll
  for (int i = 0; i < 8; i += 4) {
    Vec a = _mm256_unpacklo_ps(x[i], x[i + 1]), b = _mm256_unpackhi_ps(x[i], x[i + 1]);
    Vec c = _mm256_unpacklo_ps(x[i + 2], x[i + 3]), d = _mm256_unpackhi_ps(x[i + 2], x[i + 3]);
    y[i] = _mm256_shuffle_ps(a, c, 0x44);
    y[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
    y[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
    y[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    x[j] = _mm256_permute2f128_ps(y[j], y[4 + j], 0x20);
    x[4 + j] = _mm256_permute2f128_ps(y[j], y[4 + j], 0x31);
  }
}

} // namespace

#include "drivers/host/attention_item.h"

namespace cleave::host {
const AttentionKernels kAttentionAvx2 = {attentionItem, attentionScratchBytes};
} // namespace cleave::host
