// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel bodies in graph ops become bodies in linalg.
#ifndef CLEAVE_CONVERSION_GRAPHTOLINALG_H
#define CLEAVE_CONVERSION_GRAPHTOLINALG_H

#include "cleave/Dialect/Exec/IR/ExecOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave {

/// Builds a function of the kernel's name and type at the builder's insertion point, with the body
/// on tensors in linalg, tensor and arith (see the pass of the same name). The kernel's named ops
/// are replaced by their decompositions. Null after a reported error.
mlir::func::FuncOp lowerKernelToLinalg(mlir::OpBuilder &builder, exec::KernelOp kernel);

} // namespace cleave

#endif // CLEAVE_CONVERSION_GRAPHTOLINALG_H
