// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of ops that look across devices or at a device's place in the mesh.

#ifndef CLEAVE_LIB_INTERPRETER_COLLECTIVEEVALUATORS_H
#define CLEAVE_LIB_INTERPRETER_COLLECTIVEEVALUATORS_H

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Interpreter/Interpreter.h"

namespace cleave::interpreter {

/// A collective in local form: one part a device in, one out.
mlir::FailureOr<std::vector<TensorRef>>
evaluateCollective(CollectiveOpInterface op, llvm::ArrayRef<TensorRef> parts, const Mesh &mesh);

/// cleave.mask_padding on one device.
Tensor evaluateMaskPadding(MaskPaddingOp op, const Tensor &part, const Mesh &mesh, int64_t device);

} // namespace cleave::interpreter

#endif // CLEAVE_LIB_INTERPRETER_COLLECTIVEEVALUATORS_H
