// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The backward half of a function.

#ifndef CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_BACKWARD_H
#define CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_BACKWARD_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave::graph {

/// Called for each argument whose gradient is complete, in the order in which they are; ops may be
/// built where the gradient was.
using ArgumentGradient =
    llvm::function_ref<void(mlir::OpBuilder &, unsigned argument, mlir::Value gradient)>;

/// Appends the gradients of `loss`, a value of the function, by some of its arguments, before the
/// terminator. Gradient ops get the block and instance of the op that they are the derivative of,
/// and its name after `grad.`; the gradient by an op's result gets the result's logical axes. No
/// gradient is reported for an argument that the loss does not depend on. On failure an error has
/// been emitted.
/// `seed` is what the loss itself gets as its gradient; null: 1.
/// Ops may be replaced by forms that save what gradients reuse; `loss` is kept up to date.
llvm::LogicalResult appendBackward(mlir::func::FuncOp function, mlir::Value &loss,
                                   llvm::ArrayRef<unsigned> arguments, ArgumentGradient report,
                                   mlir::Value seed = {});

} // namespace cleave::graph

#endif // CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_BACKWARD_H
