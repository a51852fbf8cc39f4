// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reductions with AVX-512.
#include "drivers/host/reduce_loops.h"

namespace cleave::host {
void reduceAvx512(const ReduceArgs &args) { reduce(args); }
} // namespace cleave::host
