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

/// While alive, takes the diagnostics of a context: prints the first error, and keeps every
/// distinct warning for a command that succeeds, so that a failure is one line.
class DiagnosticPrinter {
public:
  DiagnosticPrinter(mlir::MLIRContext *context, llvm::StringRef command);
  bool hadError() const { return hadError_; }
  void printWarnings() const;

private:
  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);

  std::string command_;
  bool hadError_ = false;
  std::vector<std::string> warnings_;
  mlir::ScopedDiagnosticHandler handler_;
};

/// Runs `action` and takes the first error that it reports, for an error of the tool.
template <typename Action>
auto collectingError(mlir::MLIRContext *context, std::string &text, Action action) {
  mlir::ScopedDiagnosticHandler handler(context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && text.empty())
      text = diagnostic.str();
    return mlir::success();
  });
  return action();
}

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_DIAGNOSTICS_H
