// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The mesh that a function is laid out on.
#ifndef CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_FUNCTIONMESH_H
#define CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_FUNCTIONMESH_H

#include "cleave/Layout/Mesh.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave {

struct FunctionMesh {
  mlir::FlatSymbolRefAttr symbol;
  const Mesh *mesh = nullptr; ///< null: there is nothing to lay out
};

/// The mesh that a function's shardings name; if it has none, the module's only mesh. None for
/// declarations, and without a mesh. Fails with an error if shardings name several or an unknown
/// one, or if the function holds a tensor that cannot be laid out on a mesh: of unknown rank or
/// sizes, or of elements that are neither integers nor floats.
mlir::FailureOr<FunctionMesh> findFunctionMesh(mlir::func::FuncOp function);

} // namespace cleave

#endif // CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_FUNCTIONMESH_H
