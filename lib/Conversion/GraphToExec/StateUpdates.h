// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which results may be written straight into the memory of what they update.
#ifndef CLEAVE_LIB_CONVERSION_GRAPHTOEXEC_STATEUPDATES_H
#define CLEAVE_LIB_CONVERSION_GRAPHTOEXEC_STATEUPDATES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace cleave {

/// The value whose op writes the memory of `value`: what reshapes and waits pass on.
mlir::Value producingValue(mlir::Value value);

/// For results of ops that may be written into the memory of another value, that value: a state
/// that they update, what a repeated function returned before, or a sum of repetitions that they
/// add to. The op is the last to read that value, and it either does not read it, or is a kernel
/// that depends on it element by element; such kernels get their `in_place` attribute here. Other
/// updates are computed elsewhere and copied at the end.
llvm::DenseMap<mlir::Value, mlir::Value> planUpdates(mlir::ModuleOp module);

} // namespace cleave

#endif // CLEAVE_LIB_CONVERSION_GRAPHTOEXEC_STATEUPDATES_H
