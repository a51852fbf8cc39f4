// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ops that save a result for their gradients.

#ifndef CLEAVE_LIB_DIALECT_GRAPH_IR_SAVINGFORM_H
#define CLEAVE_LIB_DIALECT_GRAPH_IR_SAVINGFORM_H

#include "mlir/IR/Operation.h"

namespace cleave::graph {

/// Replaces `op` by a form that has its results and further ones; that one takes its discardable
/// attributes.
void replaceBySavingForm(mlir::Operation *op, mlir::Operation *saving);

} // namespace cleave::graph

#endif // CLEAVE_LIB_DIALECT_GRAPH_IR_SAVINGFORM_H
