// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What ops that drop elements share.

#ifndef CLEAVE_LIB_DIALECT_GRAPH_IR_DROPOUT_H
#define CLEAVE_LIB_DIALECT_GRAPH_IR_DROPOUT_H

#include "cleave/Dialect/Graph/IR/GraphOps.h"

namespace cleave::graph {

/// The local operand in the place of an optional operand of the op; null if there is none.
mlir::Value localOperand(mlir::OperandRange optional, mlir::ValueRange localOperands);

/// The offset of the positions of a device's part: `offset` (null: 0) and, along the dimensions of
/// `layout` that are sharded, the part's place times the stride. Null if it is 0.
mlir::Value localPositionOffset(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value offset,
                                llvm::ArrayRef<int64_t> strides, const Layout &layout,
                                llvm::ArrayRef<int64_t> localShape, const PartitionInfo &info);

/// What is dropped in one of `count` microbatches, whose rows are dealt in turn. Where `index` is a
/// value, the place of its first row goes to `offset`, which is added to.
DropoutAttr dropoutOfMicrobatch(mlir::OpBuilder &builder, mlir::Location loc, DropoutAttr dropout,
                                llvm::ArrayRef<int64_t> strides, mlir::OpFoldResult index,
                                int64_t count, mlir::MutableOperandRange offset);

/// Checks that seed and step come together.
llvm::LogicalResult verifySeedAndStep(mlir::Operation *op, mlir::Value seed, mlir::Value step);

} // namespace cleave::graph

#endif // CLEAVE_LIB_DIALECT_GRAPH_IR_DROPOUT_H
