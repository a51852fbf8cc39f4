// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the partition pass tells an op about its local form.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_PARTITIONINFO_H
#define CLEAVE_DIALECT_CLEAVE_IR_PARTITIONINFO_H

#include "cleave/Layout/FactorRule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cleave {

struct PartitionInfo {
  const Mesh &mesh;
  mlir::FlatSymbolRefAttr meshSym;
  /// The axes that shard each factor of `rule`; operand and result layouts follow from them.
  FactorAxes factorAxes;
  const FactorRule &rule;
  llvm::SmallVector<Layout> operandLayouts;
  llvm::SmallVector<Layout> resultLayouts;
  /// One a result, with the #cleave.shard encoding.
  llvm::SmallVector<mlir::RankedTensorType> localResultTypes;

  /// The global index of this device's first element along a dimension sharded by `axes`: its
  /// coordinate times `localSize`, as an index value. The constant 0 if `axes` is empty.
  mlir::Value shardOffset(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<AxisRef> axes, int64_t localSize) const;
};

} // namespace cleave

#endif // CLEAVE_DIALECT_CLEAVE_IR_PARTITIONINFO_H
