// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What verify found, and how it says it.
#ifndef CLEAVE_TOOLS_VERIFYREPORT_H
#define CLEAVE_TOOLS_VERIFYREPORT_H

#include "llvm/ADT/STLExtras.h"
#include <cstdint>
#include <string>
#include <vector>

namespace cleave::tool {

struct OutputReport {
  std::string name;
  double absolute = 0,
         relative = 0;   ///< worst difference, and the same over the largest expected value
  double limit = 0;      ///< of the absolute difference
  double unsharded = -1; ///< worst difference of the unsharded program; -1: not run
  std::string note;      ///< what the difference is of, where it is not of the output itself
  bool passes() const { return absolute <= limit; } // false for NaN
};

struct Report {
  std::vector<OutputReport> outputs;
  std::string against;
  int64_t interleavings = 0;
  std::vector<std::string> differing; ///< outputs whose bits changed between runs
  uint32_t devices = 1;

  bool passes() const {
    return differing.empty() &&
           llvm::all_of(outputs, [](const OutputReport &o) { return o.passes(); });
  }
};

/// Prints to stdout, as text or JSON.
void printReport(const Report &report, bool json);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_VERIFYREPORT_H
