// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "FunctionMesh.h"

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/SourceName.h"

using namespace mlir;
using namespace cleave;

/// Null if no sharding names one and the module has not just one.
static FailureOr<FlatSymbolRefAttr> findMeshSymbol(func::FuncOp function) {
  FlatSymbolRefAttr found;
  Location foundAt = function.getLoc();
  auto note = [&](ShardingAttr sharding, Location loc) -> LogicalResult {
    if (!sharding || sharding.getMesh() == found)
      return success();
    if (found) {
      InFlightDiagnostic diagnostic = emitError(loc)
                                      << "function @" << function.getName() << " uses mesh "
                                      << sharding.getMesh() << " here and mesh " << found
                                      << " elsewhere; shardings of one function must name one mesh";
      diagnostic.attachNote(foundAt) << "mesh " << found << " is used here";
      return failure();
    }
    found = sharding.getMesh();
    foundAt = loc;
    return success();
  };
  if (!function.isExternal())
    for (BlockArgument argument : function.getArguments())
      if (failed(note(getSharding(argument), argument.getLoc())))
        return failure();
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (failed(note(getResultSharding(function, i), function.getLoc())))
      return failure();
  WalkResult result = function.getBody().walk([&](Operation *op) -> WalkResult {
    for (Value value : op->getResults())
      if (isa<RankedTensorType>(value.getType()))
        if (failed(note(getSharding(value), op->getLoc())))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!found) {
    auto module = function->getParentOfType<ModuleOp>();
    auto meshes = module ? llvm::to_vector(module.getOps<MeshOp>()) : SmallVector<MeshOp>();
    if (meshes.size() == 1)
      found = FlatSymbolRefAttr::get(meshes.front().getSymNameAttr());
  }
  if (found && !findMesh(function, found))
    return emitError(foundAt) << "mesh " << found << " does not exist; add a cleave.mesh of this "
                              << "name to the module";
  return found;
}

/// A tensor on a mesh has a known rank, known sizes, and integers or floats as elements.
static LogicalResult checkTensors(func::FuncOp function) {
  auto check = [&](Type type, Operation *op) -> LogicalResult {
    auto tensor = dyn_cast<TensorType>(type);
    if (!tensor || (tensor.hasStaticShape() && tensor.getElementType().isIntOrFloat()))
      return success();
    std::string name = op == function ? ("function @" + function.getName()).str() : describeOp(op);
    return op->emitError() << name << " has a value of type " << type
                           << "; on a mesh tensors have known sizes, and integers or floats as "
                              "elements";
  };
  for (Type type : function.getArgumentTypes())
    if (failed(check(type, function)))
      return failure();
  WalkResult result = function.getBody().walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (failed(check(type, op)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

FailureOr<FunctionMesh> cleave::findFunctionMesh(func::FuncOp function) {
  if (function.isExternal())
    return FunctionMesh();
  FailureOr<FlatSymbolRefAttr> symbol = findMeshSymbol(function);
  if (failed(symbol))
    return failure();
  if (!*symbol)
    return FunctionMesh();
  if (failed(checkTensors(function)))
    return failure();
  return FunctionMesh{*symbol, findMesh(function, *symbol)};
}
