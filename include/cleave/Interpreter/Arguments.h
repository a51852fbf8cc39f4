// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Arguments of a function: random ones, and those that files hold.

#ifndef CLEAVE_INTERPRETER_ARGUMENTS_H
#define CLEAVE_INTERPRETER_ARGUMENTS_H

#include "cleave/Import/HuggingFace/Safetensors.h"
#include "cleave/Interpreter/Interpreter.h"

namespace cleave::interpreter {

/// Random global arguments of a function. Integers that are used as ids stay below the sizes of the
/// tables (or logits) they pick from.
mlir::FailureOr<std::vector<TensorRef>> randomArguments(mlir::FunctionOpInterface function,
                                                        uint64_t seed);

/// Global arguments from files, each found in the first file that has it: an argument with
/// `cleave.input` by that name, one with `cleave.state` by the state's checkpoint name.
mlir::FailureOr<std::vector<TensorRef>>
loadArguments(mlir::FunctionOpInterface function, llvm::ArrayRef<safetensors::Checkpoint> files);

} // namespace cleave::interpreter

#endif // CLEAVE_INTERPRETER_ARGUMENTS_H
