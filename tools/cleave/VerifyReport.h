// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What verify found, and how it says it.
#ifndef CLEAVE_TOOLS_VERIFYREPORT_H
#define CLEAVE_TOOLS_VERIFYREPORT_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cleave::tool {

/// A note where the unsharded program is off by more than 1/256 of the largest value.
inline constexpr llvm::StringLiteral kFarFromFloat64 =
    "unsharded it is far from float64 too: float32 is too narrow for it, or both are wrong";

struct OutputReport {
  std::string name;
  double absolute = 0,
         relative = 0;   ///< worst difference, and the same over the largest expected value
  double limit = 0;      ///< of the absolute difference
  double unsharded = -1; ///< worst difference of the unsharded program; -1: not run
  std::string note;      ///< what the difference is of, where it is not of the output itself
  bool passes() const { return absolute <= limit; } // false for NaN
};

struct Comparison {
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

/// Of a smaller program in place of one that is too large for the oracle.
struct TwinReport : Comparison {
  std::string absent; ///< why there is none
  std::vector<std::pair<std::string, int64_t>> sizes;
};

struct Report : Comparison {
  std::optional<TwinReport> twin;
  bool passes() const { return Comparison::passes() && (!twin || twin->passes()); }
};

/// Prints to stdout, as text or JSON.
void printReport(const Report &report, bool json);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_VERIFYREPORT_H
