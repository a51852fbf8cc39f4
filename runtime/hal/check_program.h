// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Checks of a program that every driver makes before it touches one.
#ifndef CLEAVE_RUNTIME_HAL_CHECK_PROGRAM_H
#define CLEAVE_RUNTIME_HAL_CHECK_PROGRAM_H

#include "hal/hal.h"

namespace cleave::hal {

/// A part of memory that a command touches.
struct MemoryUse {
  Slice slice;
  Access access = Access::Read;
};

/// Everything a command reads and writes on its own device.
std::vector<MemoryUse> memoryUses(const Operation &operation, std::span<const KernelDecl> kernels);
bool overlap(const Slice &a, const Slice &b);

/// `device 3 command 12 (gemm of ...)`.
std::string commandText(const ProgramDesc &desc, uint32_t device, size_t index);

/// Slices lie in their regions, waits name earlier commands, groups and ranks exist, kernels exist.
Status checkProgram(const ProgramDesc &desc, std::span<const KernelDecl> kernels);
/// The buffers bound to a program exist, are on the right devices and large enough.
Status checkBindings(const ProgramDesc &desc, const Bindings &bindings);

} // namespace cleave::hal

#endif // CLEAVE_RUNTIME_HAL_CHECK_PROGRAM_H
