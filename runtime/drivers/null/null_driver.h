// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A driver that computes nothing and checks how it is used: bounds, ordering, races, collectives
// that do not meet, buffers and programs that outlive their use.
#ifndef CLEAVE_RUNTIME_DRIVERS_NULL_NULL_DRIVER_H
#define CLEAVE_RUNTIME_DRIVERS_NULL_NULL_DRIVER_H

#include "hal/hal.h"

namespace cleave::null {

hal::StatusOr<std::unique_ptr<hal::Driver>> createDriver(const hal::DriverOptions &options);

} // namespace cleave::null

#endif // CLEAVE_RUNTIME_DRIVERS_NULL_NULL_DRIVER_H
