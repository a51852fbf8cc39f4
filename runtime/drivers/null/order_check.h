// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What can be said of a program without running it: no two streams of a device touch the same bytes
// unordered, nothing is read that nobody wrote, and every collective meets.
#ifndef CLEAVE_RUNTIME_DRIVERS_NULL_ORDER_CHECK_H
#define CLEAVE_RUNTIME_DRIVERS_NULL_ORDER_CHECK_H

#include "hal/check_program.h"

namespace cleave::null {

/// Races: commands on different streams of a device with no chain of waits between them that touch
/// common bytes, one of them writing.
hal::Status checkRaces(const hal::ProgramDesc &desc, std::span<const hal::KernelDecl> kernels);
/// Reads of scratch or output bytes that no earlier command of the program wrote.
hal::Status checkReads(const hal::ProgramDesc &desc, std::span<const hal::KernelDecl> kernels);
/// Plays the program without doing anything: an error names the collective that some devices reach
/// and others do not.
hal::Status checkProgress(const hal::ProgramDesc &desc);

} // namespace cleave::null

#endif // CLEAVE_RUNTIME_DRIVERS_NULL_ORDER_CHECK_H
