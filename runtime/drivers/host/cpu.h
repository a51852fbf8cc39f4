// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What this machine's processor can do.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_CPU_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_CPU_H

#include <string>

namespace cleave::host {

bool hasIsaV3();
bool hasIsaV4();
/// The name that "native:<name>" kernels carry.
std::string cpuName();
/// Cores that this process may use.
unsigned availableCores();

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_CPU_H
