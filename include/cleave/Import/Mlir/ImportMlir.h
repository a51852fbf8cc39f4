// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The front door for programs written in MLIR.
#ifndef CLEAVE_IMPORT_MLIR_IMPORTMLIR_H
#define CLEAVE_IMPORT_MLIR_IMPORTMLIR_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace cleave {

/// Parses and verifies a file of the cleave and graph dialects. It must define a function with
/// `cleave.entry`, with the name `entry` if that is not empty. The error is one line and begins
/// with the file and, for a fault in the text, line and column.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importMlir(llvm::StringRef path, llvm::StringRef entry, mlir::MLIRContext *context);

} // namespace cleave

#endif // CLEAVE_IMPORT_MLIR_IMPORTMLIR_H
