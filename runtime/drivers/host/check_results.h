// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Infinities and NaNs in what a command reads and gives.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_CHECK_RESULTS_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_CHECK_RESULTS_H

#include "hal/hal.h"

namespace cleave::host {

struct ValuesNotFinite {
  uint64_t inOperands = 0, inResults = 0;
};

/// Looks at a command that has run. `bases` are the regions of its device; operands that the
/// command wrote over are seen as results. Copies, fills and what is no floating-point number are
/// passed over, as is the log-sum-exp of attention, where an infinity has a meaning.
ValuesNotFinite checkResults(const hal::Operation &operation,
                             std::span<const hal::KernelDecl> kernels, uint8_t *const *bases);

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_CHECK_RESULTS_H
