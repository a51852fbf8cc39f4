// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pieces of syntax that attributes and operations share.

#ifndef CLEAVE_LIB_DIALECT_CLEAVE_IR_ATTRIBUTEFORMAT_H
#define CLEAVE_LIB_DIALECT_CLEAVE_IR_ATTRIBUTEFORMAT_H

#include "cleave/Dialect/Cleave/IR/CleaveAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace cleave {

/// `"tp"` or `"tp":(2)2`.
mlir::ParseResult parseAxisRef(mlir::AsmParser &parser, AxisRefAttr &axis);
void printAxisRef(mlir::AsmPrinter &printer, AxisRefAttr axis);
/// `"dp", "tp":(2)2`, between the delimiters given.
mlir::ParseResult parseAxisRefs(mlir::AsmParser &parser, mlir::AsmParser::Delimiter delimiter,
                                llvm::SmallVectorImpl<AxisRefAttr> &axes);
void printAxisRefs(mlir::AsmPrinter &printer, llvm::ArrayRef<AxisRefAttr> axes);
/// A reduction's name; without one, sum if `optional`.
mlir::ParseResult parseReductionKeyword(mlir::AsmParser &parser, bool optional,
                                        Reduction &reduction);

// Directives of the declarative assembly formats.
mlir::ParseResult parseAxisList(mlir::AsmParser &parser, AxisListAttr &axes);
void printAxisList(mlir::AsmPrinter &printer, mlir::Operation *op, AxisListAttr axes);
mlir::ParseResult parseReduction(mlir::AsmParser &parser, ReductionAttr &reduction);
void printReduction(mlir::AsmPrinter &printer, mlir::Operation *op, ReductionAttr reduction);
/// `: A` where operand and result have one type, otherwise `: A -> B`.
mlir::ParseResult parseOperandAndResultType(mlir::AsmParser &parser, mlir::Type &operand,
                                            mlir::Type &result);
void printOperandAndResultType(mlir::AsmPrinter &printer, mlir::Operation *op, mlir::Type operand,
                               mlir::Type result);

} // namespace cleave

#endif // CLEAVE_LIB_DIALECT_CLEAVE_IR_ATTRIBUTEFORMAT_H
