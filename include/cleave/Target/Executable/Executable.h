// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Writes the .cleave file.
#ifndef CLEAVE_TARGET_EXECUTABLE_EXECUTABLE_H
#define CLEAVE_TARGET_EXECUTABLE_EXECUTABLE_H

#include "cleave/Target/HostKernels/HostKernels.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace cleave {

struct ExecutableOptions {
  std::string source;      ///< the imported program as text, for `cleave verify`
  std::string command;     ///< how the file was made, for people
  uint64_t tokenLimit = 0; ///< ids in input_ids and labels are below; 0: unchecked
};

/// The bytes of an executable: the 64-byte header and the FlatBuffer of schema/executable.fbs.
/// `module` holds the mesh, the states, kernels and entries of the exec dialect, with all buffers
/// placed; `objects` are its kernels, compiled. Equal modules give equal bytes. On failure an error
/// has been emitted.
mlir::FailureOr<std::string> writeExecutable(mlir::ModuleOp module,
                                             llvm::ArrayRef<HostKernelObject> objects,
                                             const ExecutableOptions &options);

} // namespace cleave

#endif // CLEAVE_TARGET_EXECUTABLE_EXECUTABLE_H
