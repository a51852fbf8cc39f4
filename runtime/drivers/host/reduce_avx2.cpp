// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reductions with AVX2.
#include "drivers/host/reduce_loops.h"

namespace cleave::host {
void reduceAvx2(const ReduceArgs &args) { reduce(args); }
} // namespace cleave::host
