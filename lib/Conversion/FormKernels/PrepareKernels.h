// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What kernel formation rewrites before it groups ops.
#ifndef CLEAVE_LIB_CONVERSION_FORMKERNELS_PREPAREKERNELS_H
#define CLEAVE_LIB_CONVERSION_FORMKERNELS_PREPAREKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave {

/// Writes masks as comparisons and selections, except where a matrix product can leave out what is
/// masked; replaces ops whose parts belong to different kernels by their decompositions.
mlir::LogicalResult prepareKernels(mlir::func::FuncOp function);

} // namespace cleave

#endif // CLEAVE_LIB_CONVERSION_FORMKERNELS_PREPAREKERNELS_H
