// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a checked run found: instructions that gave infinities or NaNs.
#ifndef CLEAVE_TOOLS_FINDINGS_H
#define CLEAVE_TOOLS_FINDINGS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace cleave::tool {

struct Finding {
  int64_t instruction = 0;
  std::optional<int64_t> repetition; ///< from 0 on, of an instruction that is run several times
  std::string operation, site, kernel;
  int64_t values = 0;
  std::vector<int64_t> devices;
  bool fromFinite = false; ///< the instruction read none
};

/// In the order in which the instructions were run.
using Findings = std::vector<Finding>;

/// From what cleave_session_run_checked writes.
Findings readFindings(const llvm::json::Value &report);

/// `the gemm of model.layers.0.mlp.up_proj, instruction 7, with 384 such values on devices 0, 1`.
std::string describe(const Finding &finding);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_FINDINGS_H
