// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The drivers that this build has.
#ifndef CLEAVE_RUNTIME_CORE_DRIVERS_H
#define CLEAVE_RUNTIME_CORE_DRIVERS_H

#include "hal/hal.h"

namespace cleave::rt {

std::vector<std::string> driverNames();
StatusOr<std::unique_ptr<hal::Driver>> createDriver(absl::string_view name,
                                                    const hal::DriverOptions &options);

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_CORE_DRIVERS_H
