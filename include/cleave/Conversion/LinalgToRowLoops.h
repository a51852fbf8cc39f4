// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel bodies on tensors become fused loops over buffers.
#ifndef CLEAVE_CONVERSION_LINALGTOROWLOOPS_H
#define CLEAVE_CONVERSION_LINALGTOROWLOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave {

/// Replaces `kernel`, a function over tensors and index scalars, by one of the same name over
/// buffers: (inputs..., outputs..., scalars...). See the pass of the same name.
mlir::LogicalResult lowerKernelToRowLoops(mlir::func::FuncOp kernel);

} // namespace cleave

#endif // CLEAVE_CONVERSION_LINALGTOROWLOOPS_H
