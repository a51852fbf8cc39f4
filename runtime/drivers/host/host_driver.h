// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The embedded driver: logical devices on the cores of this machine.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_HOST_DRIVER_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_HOST_DRIVER_H

#include "hal/hal.h"

namespace cleave::host {

hal::StatusOr<std::unique_ptr<hal::Driver>> createDriver(const hal::DriverOptions &options);

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_HOST_DRIVER_H
