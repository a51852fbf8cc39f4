// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The last part of a case: lower its local program to an executable, run that on the host, and
// compare what comes out with the unsharded program in float64.

#ifndef CLEAVE_TOOLS_CLEAVE_FUZZ_CASERUN_H
#define CLEAVE_TOOLS_CLEAVE_FUZZ_CASERUN_H

#include "cleave/Interpreter/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cleave::fuzz {

struct RunOptions {
  uint64_t seed = 0;
  int64_t interleavings = 1; ///< random legal ones, beside the run in order
  /// The limits of a difference in a result, whichever is larger: `floor` times the result's
  /// largest magnitude (at least 1), and `factor` times what rounding every op of the unsharded
  /// program to its type does to that result. Sums in another order, and kernels that keep more
  /// digits than the program says, stay far below; a wrong element does not.
  double floor = 1e-5, factor = 32;
};

/// What runs did, summed up.
struct RunCoverage {
  int64_t runs = 0, kernels = 0, products = 0, attentions = 0, copies = 0, updates = 0;
  int64_t buckets = 0;                        ///< collectives of several parts
  std::map<std::string, int64_t> collectives; ///< instructions by kind
  double closest = 0; ///< largest difference of a result, in units of its limit
};

using Tensors = std::vector<std::shared_ptr<const interpreter::Tensor>>;

/// `module` holds one entry in local form, and is lowered in place. `arguments`, `expected` (in
/// float64) and `rounded` (the same, every op rounded to its type) are global. On failure gives the
/// phase and what is wrong with it; what passes report goes to the context's diagnostics.
std::optional<std::string> runCase(mlir::ModuleOp module, const Tensors &arguments,
                                   const Tensors &expected, const Tensors &rounded,
                                   const RunOptions &options, RunCoverage &coverage);

} // namespace cleave::fuzz

#endif // CLEAVE_TOOLS_CLEAVE_FUZZ_CASERUN_H
