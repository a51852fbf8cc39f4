// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One case: compile a random program and compare what it computes with the unsharded program.

#ifndef CLEAVE_TOOLS_CLEAVE_FUZZ_CASECHECK_H
#define CLEAVE_TOOLS_CLEAVE_FUZZ_CASECHECK_H

#include "CaseRun.h"
#include "RandomProgram.h"

#include <map>
#include <optional>
#include <string>

namespace cleave::fuzz {

struct CheckOptions {
  double tolerance = 1e-9; ///< largest |a - b| / max(1, |b|)
  /// Also makes an executable of the case and runs it; `ProgramOptions::isEntry` must be set.
  bool run = false;
  RunOptions runs;
};

/// What cases covered, summed up.
struct Coverage {
  int64_t cases = 0, failed = 0;
  int64_t nothingSent = 0; ///< cases without a collective
  int64_t unevenCases = 0; ///< cases with a dimension that does not divide
  int64_t warnings = 0;
  std::map<std::string, int64_t> ops; ///< of the cleave dialect in local programs, by name
  int64_t partialPassed = 0;          ///< values that stay partial through an op
  int64_t gradients = 0;              ///< steps whose gradients were compared with differences
  int64_t becomesPartial = 0;         ///< whole values that are kept on one coordinate
  RunCoverage runs;
};

/// Checks one case. On failure gives the phase and what is wrong with it.
std::optional<std::string> checkCase(mlir::MLIRContext *context, const ProgramOptions &program,
                                     const CheckOptions &options, Coverage &coverage);

} // namespace cleave::fuzz

#endif // CLEAVE_TOOLS_CLEAVE_FUZZ_CASECHECK_H
