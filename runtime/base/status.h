// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The runtime's error channel: absl::Status and StatusOr, and the two macros that pass errors on.
#ifndef CLEAVE_RUNTIME_BASE_STATUS_H
#define CLEAVE_RUNTIME_BASE_STATUS_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include <string>

namespace cleave::rt {

using absl::Status;
using absl::StatusOr;

/// Text from a file as it may be shown in a one-line message: control characters and bytes that are
/// not ASCII are escaped, long text is cut.
std::string printable(absl::string_view text);

/// Adds what was being done in front of an error's message; keeps OK.
Status annotate(const Status &status, absl::string_view where);
/// Adds what to do about it behind an error's message; keeps OK.
Status advise(const Status &status, absl::string_view advice);

} // namespace cleave::rt

#define CLEAVE_RETURN_IF_ERROR(expr)                                                               \
  do {                                                                                             \
    if (::absl::Status cleaveStatus = (expr); !cleaveStatus.ok())                                  \
      return cleaveStatus;                                                                         \
  } while (false)

#define CLEAVE_CONCAT_INNER(a, b) a##b
#define CLEAVE_CONCAT(a, b) CLEAVE_CONCAT_INNER(a, b)
#define CLEAVE_ASSIGN_OR_RETURN(lhs, expr)                                                         \
  CLEAVE_ASSIGN_OR_RETURN_IMPL(CLEAVE_CONCAT(cleaveOr, __LINE__), lhs, expr)
#define CLEAVE_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr)                                               \
  auto tmp = (expr);                                                                               \
  if (!tmp.ok())                                                                                   \
    return std::move(tmp).status();                                                                \
  lhs = std::move(tmp).value()

#endif // CLEAVE_RUNTIME_BASE_STATUS_H
