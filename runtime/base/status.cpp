// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "base/status.h"

#include "absl/strings/escaping.h"

namespace cleave::rt {

std::string printable(absl::string_view text) {
  constexpr size_t kLimit = 200;
  std::string escaped = absl::CHexEscape(text.substr(0, kLimit));
  if (text.size() > kLimit)
    absl::StrAppend(&escaped, "... (", text.size(), " characters)");
  return escaped;
}

Status annotate(const Status &status, absl::string_view where) {
  if (status.ok())
    return status;
  return Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

Status advise(const Status &status, absl::string_view advice) {
  if (status.ok())
    return status;
  return Status(status.code(), absl::StrCat(status.message(), "; ", advice));
}

} // namespace cleave::rt
