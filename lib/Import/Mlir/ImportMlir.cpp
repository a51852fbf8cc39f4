// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Import/Mlir/ImportMlir.h"
#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Graph/IR/GraphDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace cleave {
namespace {

/// Keeps the first error of a context as one line.
class FirstError {
public:
  FirstError(mlir::MLIRContext *context, StringRef file)
      : handler(context, [this, file = file.str()](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return mlir::failure();
          if (message.empty())
            message = describe(diagnostic, file);
          return mlir::success();
        }) {}

  std::string message;

private:
  static std::string describe(mlir::Diagnostic &diagnostic, StringRef file) {
    std::string text = file.str();
    if (auto at = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
      text += (":" + Twine(at.getLine()) + ":" + Twine(at.getColumn())).str();
    text += ": ";
    if (auto name = diagnostic.getLocation()->findInstanceOf<mlir::NameLoc>())
      text += (name.getName().getValue() + ": ").str();
    std::string what = diagnostic.str();
    llvm::replace(what, '\n', ' ');
    return text + what;
  }

  mlir::ScopedDiagnosticHandler handler;
};

/// Whether a function has types of what one device holds, which the compiler makes.
bool isLocal(mlir::func::FuncOp function) {
  auto hasShard = [](mlir::Type type) { return bool(getShard(type)); };
  if (function->hasAttr(CleaveDialect::kMeshAttr) ||
      llvm::any_of(function.getArgumentTypes(), hasShard) ||
      llvm::any_of(function.getResultTypes(), hasShard))
    return true;
  return function
      .walk([&](mlir::Operation *op) {
        return llvm::any_of(op->getResultTypes(), hasShard) ? mlir::WalkResult::interrupt()
                                                            : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importMlir(StringRef path, StringRef entry,
                                                       mlir::MLIRContext *context) {
  auto fault = [&](const Twine &what) { return llvm::createStringError(path + ": " + what); };
  context->loadDialect<CleaveDialect, graph::GraphDialect, mlir::func::FuncDialect>();
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return fault("cannot be read: " + buffer.getError().message() + "; check the path");
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());

  FirstError firstError(context, path);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, context);
  if (!module)
    return llvm::createStringError(firstError.message.empty() ? (path + ": cannot be parsed").str()
                                                              : firstError.message);
  llvm::SmallVector<StringRef> entries;
  for (auto func : module->getOps<mlir::func::FuncOp>())
    if (func->hasAttr(CleaveDialect::kEntryAttr) && !func.isExternal())
      entries.push_back(func.getName());
  if (entries.empty())
    return fault("expected a function with the attribute cleave.entry, found none; mark the "
                 "function to be compiled: func.func @forward(...) attributes {cleave.entry}");
  if (!entry.empty() && !llvm::is_contained(entries, entry))
    return fault("entry: expected one of " + llvm::join(entries, ", ") + ", found \"" + entry +
                 "\"");
  for (auto func : module->getOps<mlir::func::FuncOp>())
    if (isLocal(func))
      return fault("@" + func.getName() +
                   " is what one device computes already, as after the phase partition; give the "
                   "program from before that phase");
  return module;
}

} // namespace cleave
