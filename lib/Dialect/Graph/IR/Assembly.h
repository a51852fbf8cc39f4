// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Custom directives of the assembly formats.

#ifndef CLEAVE_LIB_DIALECT_GRAPH_IR_ASSEMBLY_H
#define CLEAVE_LIB_DIALECT_GRAPH_IR_ASSEMBLY_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace cleave::graph {

/// Types of operands and one result: a single type where all are equal, else a function type.
mlir::ParseResult parseTypes(mlir::OpAsmParser &parser, llvm::ArrayRef<mlir::Type *> types);
void printTypes(mlir::OpAsmPrinter &printer, llvm::ArrayRef<mlir::Type> types);

template <typename... Types>
mlir::ParseResult parseSameTypes(mlir::OpAsmParser &parser, Types &...types) {
  return parseTypes(parser, {&types...});
}
template <typename... Types>
void printSameTypes(mlir::OpAsmPrinter &printer, mlir::Operation *, Types... types) {
  printTypes(printer, {static_cast<mlir::Type>(types)...});
}

/// `[start:limit:stride, ...]`; a stride of 1 is left out.
mlir::ParseResult parseSliceRanges(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &starts,
                                   mlir::DenseI64ArrayAttr &limits,
                                   mlir::DenseI64ArrayAttr &strides);
void printSliceRanges(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::DenseI64ArrayAttr starts, mlir::DenseI64ArrayAttr limits,
                      mlir::DenseI64ArrayAttr strides);

/// `batch [..] x [..]`, left out where there are no batch dimensions.
mlir::ParseResult parseBatchDims(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &lhs,
                                 mlir::DenseI64ArrayAttr &rhs);
void printBatchDims(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::DenseI64ArrayAttr lhs,
                    mlir::DenseI64ArrayAttr rhs);

/// Nothing is written: a predicate is always tensor<i1>.
mlir::ParseResult parseScalarPredicate(mlir::OpAsmParser &parser, mlir::Type &type);
inline void printScalarPredicate(mlir::OpAsmPrinter &, mlir::Operation *, mlir::Type) {}

} // namespace cleave::graph

#endif // CLEAVE_LIB_DIALECT_GRAPH_IR_ASSEMBLY_H
