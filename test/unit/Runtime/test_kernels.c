// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Kernels with the ABI of compiled ones.
#include <stdint.h>

// out[i] = in[i] > 0 ? in[i] : 0, for scalars[0] elements.
void test_relu(void *const *buffers, const int64_t *scalars) {
  const float *in = buffers[0];
  float *out = buffers[1];
  for (int64_t i = 0; i < scalars[0]; ++i)
    out[i] = in[i] > 0 ? in[i] : (in[i] == in[i] ? 0 : in[i]);
}

// out[i] = a[i] + b[i] for 8 elements.
void test_add8(void *const *buffers, const int64_t *scalars) {
  const float *a = buffers[0], *b = buffers[1];
  float *out = buffers[2];
  (void)scalars;
  for (int i = 0; i < 8; ++i)
    out[i] = a[i] + b[i];
}
