// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Plain loops that the compiler turns into vector code. As in all files of an instruction set, no
// header with inline functions is included (see attention_kernels.h).
#include "drivers/host/float_conversion.h"

namespace cleave::host {

void bf16ToF32(const uint16_t *from, float *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = __builtin_bit_cast(float, uint32_t(from[i]) << 16);
}

void f16ToF32(const uint16_t *from, float *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = float(__builtin_bit_cast(_Float16, from[i]));
}

void f32ToBf16(const float *from, uint16_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = __builtin_bit_cast(uint32_t, from[i]);
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    to[i] = uint16_t((from[i] != from[i] ? bits | 0x400000 : rounded) >> 16);
  }
}

void f32ToF16(const float *from, uint16_t *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = __builtin_bit_cast(uint16_t, _Float16(from[i]));
}

} // namespace cleave::host
