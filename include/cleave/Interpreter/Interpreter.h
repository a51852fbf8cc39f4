// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The reference interpreter of graph and cleave programs: slow and plain, in f64. It is the oracle
// that compiled programs are compared with.

#ifndef CLEAVE_INTERPRETER_INTERPRETER_H
#define CLEAVE_INTERPRETER_INTERPRETER_H

#include "cleave/Interpreter/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <functional>
#include <memory>

namespace cleave::interpreter {

struct Options {
  /// Rounds the floats of every result to its element type, as a device would.
  bool round = false;
  /// Poisons the padding of every local result, so that whoever reads padding without a mask is
  /// found.
  bool poisonPadding = true;
  /// Called after every graph op that has no regions, with its tensors on one device; null for an
  /// operand that is an index.
  std::function<void(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands,
                     llvm::ArrayRef<const Tensor *> results)>
      observe = nullptr;
};

/// Tensors are shared between values that are equal by definition.
using TensorRef = std::shared_ptr<const Tensor>;

/// Number of devices that run the function: those of its `cleave.mesh` in local form, otherwise 1.
mlir::FailureOr<int64_t> numDevices(mlir::FunctionOpInterface function);

/// Runs a function on all its devices in lockstep: `arguments[device][i]` is argument i, and result
/// [device][i] is result i. In global form there is one device, shardings have no meaning and
/// collectives are the identity; in local form collectives exchange between devices. On failure an
/// error has been emitted at the op.
mlir::FailureOr<std::vector<std::vector<TensorRef>>>
interpret(mlir::FunctionOpInterface function, llvm::ArrayRef<std::vector<TensorRef>> arguments,
          const Options &options = {});

/// Runs a function in either form on global arguments, and gives global results: in local form
/// arguments are cut by their types' encodings and results are put together by theirs. Fails also
/// if devices that should hold equal parts of a result do not.
mlir::FailureOr<std::vector<TensorRef>> interpretGlobal(mlir::FunctionOpInterface function,
                                                        llvm::ArrayRef<TensorRef> arguments,
                                                        const Options &options = {});

} // namespace cleave::interpreter

#endif // CLEAVE_INTERPRETER_INTERPRETER_H
