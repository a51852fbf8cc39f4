// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The element type of gradients.

#ifndef CLEAVE_LIB_DIALECT_GRAPH_IR_GRADIENTTYPE_H
#define CLEAVE_LIB_DIALECT_GRAPH_IR_GRADIENTTYPE_H

#include "mlir/IR/Value.h"

namespace cleave::graph {

/// The element type in which to sum the gradient by an operand: the operand's, but a parameter that
/// was narrowed for the op gets its gradient in its own width.
mlir::Type gradientElementType(mlir::Value operand);

} // namespace cleave::graph

#endif // CLEAVE_LIB_DIALECT_GRAPH_IR_GRADIENTTYPE_H
