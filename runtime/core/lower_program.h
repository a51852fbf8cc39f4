// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// From an entry's instruction list, which all devices share, to one command list a device, with
// every rank-dependent number evaluated.
#ifndef CLEAVE_RUNTIME_CORE_LOWER_PROGRAM_H
#define CLEAVE_RUNTIME_CORE_LOWER_PROGRAM_H

#include "core/executable.h"
#include "hal/hal.h"

namespace cleave::rt {

StatusOr<hal::ProgramDesc> lowerProgram(const Executable &executable, const EntryInfo &entry);
/// The executable's kernels as drivers see them.
std::vector<hal::KernelDecl> kernelDecls(const Executable &executable);
std::vector<hal::KernelImage> kernelImages(const Executable &executable);

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_CORE_LOWER_PROGRAM_H
