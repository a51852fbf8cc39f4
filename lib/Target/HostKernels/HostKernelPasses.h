// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The steps from kernel bodies to a shared object.
#ifndef CLEAVE_LIB_TARGET_HOSTKERNELS_HOSTKERNELPASSES_H
#define CLEAVE_LIB_TARGET_HOSTKERNELS_HOSTKERNELPASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace cleave {

/// Replaces f32 transcendental functions and bf16 conversions by arithmetic.
void expandMath(mlir::func::FuncOp kernel);

/// Lowers functions over buffers (LinalgToRowLoops) to the LLVM dialect, arguments as bare
/// pointers.
mlir::LogicalResult lowerLoopsToLLVM(mlir::ModuleOp module);

/// Gives every function of `module` the exported entry `void NAME(void *const *buffers, const
/// int64_t *scalars)`, which calls it; the function itself becomes local and keeps its noalias
/// arguments.
void addKernelEntries(llvm::Module &module);

/// Optimises `module` for the machine and gives the bytes of an object file.
llvm::Expected<std::string> emitObject(llvm::Module &module, llvm::TargetMachine &machine);

/// Links one object file to a shared object in this process. The result depends on the C library's
/// mathematics (libm) if the object calls functions. `emptyObject` is an object file of the same
/// target with nothing in it.
llvm::Expected<std::string> linkSharedObject(llvm::StringRef object, llvm::StringRef emptyObject);

} // namespace cleave

#endif // CLEAVE_LIB_TARGET_HOSTKERNELS_HOSTKERNELPASSES_H
