// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "core/drivers.h"

#include "absl/strings/str_join.h"
#include "drivers/host/host_driver.h"
#include "drivers/null/null_driver.h"

namespace cleave::rt {

std::vector<std::string> driverNames() { return {"host", "null"}; }

StatusOr<std::unique_ptr<hal::Driver>> createDriver(absl::string_view name,
                                                    const hal::DriverOptions &options) {
  if (name == "host")
    return host::createDriver(options);
  if (name == "null")
    return null::createDriver(options);
  return absl::NotFoundError(absl::StrCat("there is no driver '", printable(name),
                                          "'; this build has ",
                                          absl::StrJoin(driverNames(), ", ")));
}

} // namespace cleave::rt
