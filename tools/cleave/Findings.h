// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a checked run found: instructions that gave infinities or NaNs.
#ifndef CLEAVE_TOOLS_FINDINGS_H
#define CLEAVE_TOOLS_FINDINGS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>
#include <vector>

namespace cleave::tool {

struct Finding {
  std::string operation, site, kernel;
  int64_t values = 0;
  std::vector<int64_t> devices;
  bool fromFinite = false; ///< the instruction read none
};

/// By the position of the instruction.
using Findings = std::map<int64_t, Finding>;

/// From what cleave_session_run_checked writes.
Findings readFindings(const llvm::json::Value &report);

/// `the gemm of model.layers.0.mlp.up_proj, instruction 7, with 384 such values on devices 0, 1`.
std::string describe(int64_t instruction, const Finding &finding);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_FINDINGS_H
