// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Compiles kernel bodies to shared objects for the host's CPU.
#ifndef CLEAVE_TARGET_HOSTKERNELS_HOSTKERNELS_H
#define CLEAVE_TARGET_HOSTKERNELS_HOSTKERNELS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace cleave {

struct HostKernelOptions {
  /// One object each: "x86-64-v3", "x86-64-v4" (or another CPU name LLVM knows), "native".
  std::vector<std::string> targets = {"x86-64-v3", "x86-64-v4"};
};

struct HostKernelObject {
  std::string isa;    ///< as asked for; "native" becomes "native:" and hostCpuName()
  std::string object; ///< bytes of an ELF shared object
};

/// Compiles every `exec.kernel` of `module` for each target; in a module without any, every
/// function (on tensors as LinalgToRowLoops takes them, or on buffers). The module stays as it is.
/// Each becomes an exported function `void NAME(void *const *buffers, const int64_t *scalars)`:
/// buffers are the inputs, then the outputs, all 64-byte aligned and not overlapping. Equal modules
/// give equal bytes.
mlir::FailureOr<std::vector<HostKernelObject>> compileKernels(mlir::ModuleOp module,
                                                              const HostKernelOptions &options);

/// Adds what translation to LLVM needs to a registry.
void registerHostKernelDialects(mlir::DialectRegistry &registry);

} // namespace cleave

#endif // CLEAVE_TARGET_HOSTKERNELS_HOSTKERNELS_H
