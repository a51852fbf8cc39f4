// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Between the attributes of the IR and the plain values of the Layout library, and where the IR
// keeps the sharding of a value.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_LAYOUTCONVERSION_H
#define CLEAVE_DIALECT_CLEAVE_IR_LAYOUTCONVERSION_H

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace cleave {

//===----------------------------------------------------------------------===//
// Meshes and axes
//===----------------------------------------------------------------------===//

/// The mesh as a plain value, which lives as long as the context.
const Mesh &meshOf(MeshAttr mesh);
const Mesh &meshOf(MeshOp mesh);
/// The mesh of this name in the nearest symbol table above `from`; null if there is none. Meshes
/// stand at the top of a module, which makes this cheap; the result may be kept.
const Mesh *findMesh(mlir::Operation *from, mlir::FlatSymbolRefAttr symbol);

/// Fails if the mesh has no such axis, or the sub-axis does not divide it.
mlir::FailureOr<AxisRef> axisOf(AxisRefAttr axis, const Mesh &mesh);
/// Canonical: adjacent parts are merged and axes of size 1 dropped.
mlir::FailureOr<AxisList> axesOf(llvm::ArrayRef<AxisRefAttr> axes, const Mesh &mesh);
AxisRefAttr axisAttrOf(mlir::MLIRContext *context, const Mesh &mesh, const AxisRef &axis);
llvm::SmallVector<AxisRefAttr> axisAttrsOf(mlir::MLIRContext *context, const Mesh &mesh,
                                           llvm::ArrayRef<AxisRef> axes);
AxisListAttr axisListOf(mlir::MLIRContext *context, const Mesh &mesh, llvm::ArrayRef<AxisRef> axes);

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Fails where axisOf does. Open dimensions, priorities and replicated axes are not part of a
/// layout.
mlir::FailureOr<Layout> layoutOf(ShardingAttr sharding, const Mesh &mesh);
/// Of a verified encoding.
Layout layoutOf(ShardAttr shard, const Mesh &mesh);
ShardingAttr shardingOf(mlir::MLIRContext *context, mlir::FlatSymbolRefAttr meshSym,
                        const Mesh &mesh, const Layout &layout, bool closed = true);
ShardAttr shardOf(mlir::MLIRContext *context, mlir::FlatSymbolRefAttr meshSym, const Mesh &mesh,
                  const Layout &layout, llvm::ArrayRef<int64_t> globalShape);

/// The local type of a tensor of type `global` laid out by `layout`; it carries the encoding.
mlir::RankedTensorType localType(mlir::RankedTensorType global, mlir::FlatSymbolRefAttr meshSym,
                                 const Mesh &mesh, const Layout &layout);
/// The global type of a local one: without the encoding. A type without encoding is global.
mlir::RankedTensorType globalType(mlir::RankedTensorType type);
/// The encoding of a local tensor type; null for any other type.
ShardAttr getShard(mlir::Type type);
inline ShardAttr getShard(mlir::Value value) { return getShard(value.getType()); }

//===----------------------------------------------------------------------===//
// Shardings of values
//===----------------------------------------------------------------------===//

/// The sharding that the IR gives for `value`; null if it has none.
ShardingAttr getSharding(mlir::Value value);
/// Sets it, or removes it if null. For many arguments of one function use setArgumentShardings: one
/// argument alone costs time linear in the number of arguments.
void setSharding(mlir::Value value, ShardingAttr sharding);
void setArgumentShardings(mlir::FunctionOpInterface function,
                          llvm::ArrayRef<ShardingAttr> shardings);
/// The sharding of a function's result.
ShardingAttr getResultSharding(mlir::FunctionOpInterface function, unsigned index);
void setResultSharding(mlir::FunctionOpInterface function, unsigned index, ShardingAttr sharding);
/// Those of all results at once, each null where there is none.
llvm::SmallVector<ShardingAttr> getResultShardings(mlir::FunctionOpInterface function);
void setResultShardings(mlir::FunctionOpInterface function, llvm::ArrayRef<ShardingAttr> shardings);
/// The logical names of a value's dimensions; null if it has none.
LogicalAxesAttr getLogicalAxes(mlir::Value value);

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// The symbol of the mesh that a collective acts on: from its sharding, or its types.
mlir::FlatSymbolRefAttr getMeshSymbol(CollectiveOpInterface collective);
/// The collective as a plain value. Of a verified op.
ReshardStep stepOf(CollectiveOpInterface collective, const Mesh &mesh);
/// The layout that a collective makes of `operand`, from the step's kind, axes and dimensions. On
/// failure `error` says what does not fit.
mlir::FailureOr<Layout> applyStep(const ReshardStep &step, llvm::ArrayRef<int64_t> globalShape,
                                  const Layout &operand, const Mesh &mesh, std::string &error);
/// Builds the collective of a step. An operand with a #cleave.shard encoding gives the local form,
/// any other the global form, with the step's result as sharding.
mlir::Value createCollective(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value operand,
                             const ReshardStep &step, mlir::FlatSymbolRefAttr meshSym,
                             const Mesh &mesh);

} // namespace cleave

#endif // CLEAVE_DIALECT_CLEAVE_IR_LAYOUTCONVERSION_H
