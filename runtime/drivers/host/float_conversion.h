// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rows of bf16 and f16 to and from f32, with AVX2 and F16C.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_FLOAT_CONVERSION_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_FLOAT_CONVERSION_H

#include <cstdint>

namespace cleave::host {

void bf16ToF32(const uint16_t *from, float *to, int64_t count);
void f16ToF32(const uint16_t *from, float *to, int64_t count);
/// To nearest, ties to even; a NaN stays a NaN.
void f32ToBf16(const float *from, uint16_t *to, int64_t count);
void f32ToF16(const float *from, uint16_t *to, int64_t count);

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_FLOAT_CONVERSION_H
