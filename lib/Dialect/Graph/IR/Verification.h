// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Checks that ops share. All of them look at shapes and element types only, never at encodings.

#ifndef CLEAVE_LIB_DIALECT_GRAPH_IR_VERIFICATION_H
#define CLEAVE_LIB_DIALECT_GRAPH_IR_VERIFICATION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace cleave::graph {

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
/// `tensor<4x8xf32>`, without an encoding.
std::string typeText(llvm::ArrayRef<int64_t> shape, mlir::Type elementType);
std::string typeText(mlir::RankedTensorType type);
/// `[0, 2]`.
std::string listText(llvm::ArrayRef<int64_t> list);

/// The op's tensors all have one shape and element type.
llvm::LogicalResult verifyElementwise(mlir::Operation *op);
/// The result has this shape and element type, which follow from the op's operands.
llvm::LogicalResult verifyResult(mlir::Operation *op, unsigned result,
                                 llvm::ArrayRef<int64_t> shape, mlir::Type elementType);
/// `dims` are distinct dimensions of a tensor of this rank; `name` says which attribute it is.
llvm::LogicalResult verifyDims(mlir::Operation *op, llvm::StringRef name,
                               llvm::ArrayRef<int64_t> dims, int64_t rank, bool increasing = false);
/// An operand (named `name`) has this type.
llvm::LogicalResult verifyOperand(mlir::Operation *op, llvm::StringRef name, mlir::Value value,
                                  llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

} // namespace cleave::graph

#endif // CLEAVE_LIB_DIALECT_GRAPH_IR_VERIFICATION_H
