// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Diagnostics.h"
#include "CommandLine.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace cleave::tool;

static std::string oneLine(const llvm::Twine &message) {
  std::string text = message.str();
  for (char &c : text)
    if (c == '\n' || c == '\r')
      c = ' ';
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return text;
}

int cleave::tool::reportError(llvm::StringRef command, const llvm::Twine &message) {
  llvm::outs().flush();
  llvm::errs() << "cleave " << command << ": error: " << oneLine(message) << "\n";
  return kBadInput;
}

void cleave::tool::reportWarning(llvm::StringRef command, const llvm::Twine &message) {
  llvm::errs() << "cleave " << command << ": warning: " << oneLine(message) << "\n";
}

std::string cleave::tool::describeLocation(mlir::Location loc) {
  if (auto name = llvm::dyn_cast<mlir::NameLoc>(loc))
    return name.getName().str();
  if (auto file = llvm::dyn_cast<mlir::FileLineColLoc>(loc))
    return (file.getFilename().getValue() + ":" + llvm::Twine(file.getLine()) + ":" +
            llvm::Twine(file.getColumn()))
        .str();
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc))
    for (mlir::Location part : fused.getLocations())
      if (std::string text = describeLocation(part); !text.empty())
        return text;
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(loc))
    return describeLocation(call.getCallee());
  return "";
}

DiagnosticPrinter::DiagnosticPrinter(mlir::MLIRContext *context, llvm::StringRef command)
    : command_(command), handler_(context, [this](mlir::Diagnostic &d) { return handle(d); }) {}

void DiagnosticPrinter::printWarnings() const {
  for (const std::string &warning : warnings_)
    reportWarning(command_, warning);
}

mlir::LogicalResult DiagnosticPrinter::handle(mlir::Diagnostic &diagnostic) {
  std::string where = describeLocation(diagnostic.getLocation());
  std::string text = diagnostic.str();
  // Many messages begin with the op, whose name is the place.
  if (!where.empty() && !llvm::StringRef(text).starts_with(where + " ("))
    text = where + ": " + text;
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    text += "; " + note.str();
  if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
    // What follows the first error is its consequence.
    if (!hadError_)
      reportError(command_, text);
    hadError_ = true;
  } else if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning &&
             !llvm::is_contained(warnings_, text)) {
    warnings_.push_back(text);
  }
  return mlir::success();
}
