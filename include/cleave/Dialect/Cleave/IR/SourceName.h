// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The name by which messages and reports call an op.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_SOURCENAME_H
#define CLEAVE_DIALECT_CLEAVE_IR_SOURCENAME_H

#include "mlir/IR/Operation.h"

namespace cleave {

/// The part of the model that an op comes from (`model.layers.3.self_attn.q_proj`): the outermost
/// name of its location, or empty.
llvm::StringRef sourceName(mlir::Operation *op);
/// For messages: the source name with the op's own, `model.layers.3.self_attn.q_proj
/// (graph.dot_general)`, or the op's own name alone.
std::string describeOp(mlir::Operation *op);

} // namespace cleave

#endif // CLEAVE_DIALECT_CLEAVE_IR_SOURCENAME_H
