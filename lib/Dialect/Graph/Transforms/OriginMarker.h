// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Gives new ops the marks of the op they come from.

#ifndef CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_ORIGINMARKER_H
#define CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_ORIGINMARKER_H

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "mlir/IR/Builders.h"

namespace cleave::graph {

/// While it listens to a builder, ops that are inserted get the block and instance of `origin`.
struct OriginMarker : mlir::OpBuilder::Listener {
  explicit OriginMarker(mlir::Operation *origin = nullptr) : origin(origin) {}

  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override {
    mark(op);
  }
  void mark(mlir::Operation *op) const {
    if (!origin)
      return;
    for (llvm::StringRef name : {llvm::StringRef(CleaveDialect::kBlockAttr),
                                 llvm::StringRef(CleaveDialect::kInstanceAttr)})
      if (mlir::Attribute attribute = origin->getDiscardableAttr(name))
        op->setDiscardableAttr(name, attribute);
  }

  mlir::Operation *origin;
};

} // namespace cleave::graph

#endif // CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_ORIGINMARKER_H
