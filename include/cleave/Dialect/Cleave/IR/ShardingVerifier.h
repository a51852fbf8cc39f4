// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Checks of axes, shardings and encodings against their mesh. Each emits one error through the
// function given and says what was expected.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_SHARDINGVERIFIER_H
#define CLEAVE_DIALECT_CLEAVE_IR_SHARDINGVERIFIER_H

#include "cleave/Dialect/Cleave/IR/CleaveAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

namespace cleave {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The mesh of this name, or null after an error that lists the known ones.
const Mesh *verifyMesh(mlir::FlatSymbolRefAttr symbol, mlir::Operation *scope, EmitError emitError);

/// The axes exist, sub-axes fit, nothing is used twice and adjacent parts are merged.
llvm::LogicalResult verifyAxes(llvm::ArrayRef<AxisRefAttr> axes, const Mesh &mesh,
                               EmitError emitError);

/// A sharding of a value of this type, in the scope of an op that sees the mesh.
llvm::LogicalResult verifySharding(ShardingAttr sharding, mlir::Type type, mlir::Operation *scope,
                                   EmitError emitError);

/// Names of a tensor's dimensions: one a dimension, none twice.
llvm::LogicalResult verifyLogicalAxes(LogicalAxesAttr names, mlir::Type type, EmitError emitError);

/// The #cleave.shard encoding of a tensor type: axes, and the local shape that follows from it.
/// Types without one are correct.
llvm::LogicalResult verifyEncoding(mlir::Type type, mlir::Operation *scope, EmitError emitError);

} // namespace cleave

#endif // CLEAVE_DIALECT_CLEAVE_IR_SHARDINGVERIFIER_H
