// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Kernel bodies on tensors become fused loops over buffers.
#ifndef CLEAVE_CONVERSION_LINALGTOROWLOOPS_H
#define CLEAVE_CONVERSION_LINALGTOROWLOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave {

/// On a linalg.generic that adds updates at positions that are data: the dimension of the result
/// whose position the first input gives. As it stands the op looks through all updates for each
/// element, and adds those that are meant for it; where it makes a kernel's only output each update
/// is added where it belongs.
inline constexpr llvm::StringLiteral kScatterAxisAttr = "cleave.scatter_axis";

/// Replaces `kernel`, a function over tensors and index scalars, by one of the same name over
/// buffers: (inputs..., outputs..., scalars...). See the pass of the same name.
mlir::LogicalResult lowerKernelToRowLoops(mlir::func::FuncOp kernel);

} // namespace cleave

#endif // CLEAVE_CONVERSION_LINALGTOROWLOOPS_H
