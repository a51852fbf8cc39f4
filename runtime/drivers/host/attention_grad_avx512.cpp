// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attention's gradient for x86-64-v4.
#define CLEAVE_ROWS_NAME(name) attentionGrad##name##Avx512
#include "drivers/host/attention_grad_rows.h"
