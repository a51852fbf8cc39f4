// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the tool says: one line an error, on stderr, with the command's name before it.
#ifndef CLEAVE_TOOLS_DIAGNOSTICS_H
#define CLEAVE_TOOLS_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/Twine.h"

namespace cleave::tool {

/// Prints `cleave COMMAND: error: MESSAGE` on one line and returns exit code 2.
int reportError(llvm::StringRef command, const llvm::Twine &message);
void reportWarning(llvm::StringRef command, const llvm::Twine &message);

/// The part of the model a location names: the outermost name, else file:line, else "".
std::string describeLocation(mlir::Location loc);

/// While alive, prints diagnostics of a context as the tool does: the first error, and every
/// distinct warning; remarks only when `verbose`.
class DiagnosticPrinter {
public:
  DiagnosticPrinter(mlir::MLIRContext *context, llvm::StringRef command, bool verbose = false);
  bool hadError() const { return hadError_; }

private:
  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);

  std::string command_;
  bool verbose_, hadError_ = false;
  std::vector<std::string> seen_;
  mlir::ScopedDiagnosticHandler handler_;
};

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_DIAGNOSTICS_H
