// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The states that a run updates, compared with the unsharded program's.
#ifndef CLEAVE_TOOLS_VERIFYSTATES_H
#define CLEAVE_TOOLS_VERIFYSTATES_H

#include "Oracle.h"
#include "Session.h"
#include "VerifyReport.h"

namespace cleave::tool {

/// What a run began with, and the states that it and the unsharded program ended with, in one
/// order. `expected` is empty where the float64 oracle did not run, `unsharded` where the unsharded
/// program did not; one of them is there.
struct UpdatedStates {
  llvm::ArrayRef<HostTensor> inputs, before; ///< `before`: all states
  llvm::ArrayRef<HostTensor> actual, unsharded;
  llvm::ArrayRef<std::vector<double>> expected;
  bool isNarrow = false; ///< the program computes in 16 bits
};

/// One report a group of states: `parameters`, and of the others those whose names end alike behind
/// a parameter's, such as `exp_avg`. Each is of the tensor that comes closest to its limit, or is
/// farthest over it.
///
/// The limit of a tensor is that of outputs: four times the error of the unsharded program, or what
/// rounding alone may do. AdamW divides a gradient's mean by its root mean square, so where a
/// gradient is near 0 noise decides how a parameter changes. Its parameters are therefore compared
/// with the update, in float64, that belongs to the program's own new moments, which are compared
/// themselves.
std::vector<OutputReport> compareStates(const UpdatedStates &states, const Oracle &oracle);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_VERIFYSTATES_H
