// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>

// out[i] = in[i] * scalars[1], for scalars[0] elements.
void cts_scale(void *const *buffers, const int64_t *scalars) {
  const float *in = buffers[0];
  float *out = buffers[1];
  for (int64_t i = 0; i < scalars[0]; ++i)
    out[i] = in[i] * (float)scalars[1];
}
