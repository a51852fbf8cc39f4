// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Writes a function whose arguments and results come one by one.

#ifndef CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_FUNCTIONWRITER_H
#define CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_FUNCTIONWRITER_H

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave::graph {

class FunctionWriter {
public:
  /// A new function, before the builder's insertion point.
  FunctionWriter(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name);
  /// A copy of a function under another name, put before it; it has the function's arguments, but
  /// not its results.
  FunctionWriter(mlir::func::FuncOp from, llvm::StringRef name);

  mlir::BlockArgument addArgument(mlir::Type type, mlir::DictionaryAttr attributes,
                                  mlir::Location loc);
  void addResult(mlir::Value value, mlir::DictionaryAttr attributes);
  /// A builder before the return.
  mlir::OpBuilder body();
  /// Gives the function its type and its return the results, and removes what nobody uses. The
  /// function is an entry.
  void finish();

  mlir::func::FuncOp function;
  /// What the function that was copied returned.
  llvm::SmallVector<mlir::Value> returned;

private:
  llvm::SmallVector<mlir::Attribute> argumentAttributes, resultAttributes;
  llvm::SmallVector<mlir::Value> results;
};

} // namespace cleave::graph

#endif // CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_FUNCTIONWRITER_H
