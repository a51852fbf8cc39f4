// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Storage and construction of the attributes.

#include "cleave/Dialect/Cleave/IR/CleaveAttributes.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cleave;

#include "cleave/Dialect/Cleave/IR/CleaveEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "cleave/Dialect/Cleave/IR/CleaveAttributes.cpp.inc"

void CleaveDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "cleave/Dialect/Cleave/IR/CleaveAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Plain values in storage
//===----------------------------------------------------------------------===//

llvm::hash_code cleave::hash_value(const Mesh &mesh) {
  llvm::hash_code hash = llvm::hash_combine_range(mesh.deviceIds());
  for (const Mesh::Axis &axis : mesh.axes())
    hash = llvm::hash_combine(hash, axis.name, axis.size);
  return hash;
}

bool cleave::operator==(const Factor &a, const Factor &b) {
  return std::tie(a.size, a.kind, a.reduction, a.viaDecomposition, a.padSafe) ==
         std::tie(b.size, b.kind, b.reduction, b.viaDecomposition, b.padSafe);
}

bool cleave::operator==(const FactorRule &a, const FactorRule &b) {
  return a.factors == b.factors && a.operands == b.operands && a.results == b.results &&
         a.jointlyLinear == b.jointlyLinear && a.separatelyLinear == b.separatelyLinear &&
         a.opPriority == b.opPriority;
}

llvm::hash_code cleave::hash_value(const FactorRule &rule) {
  llvm::hash_code hash =
      llvm::hash_combine(rule.jointlyLinear, rule.separatelyLinear, rule.opPriority);
  for (const Factor &factor : rule.factors)
    hash = llvm::hash_combine(hash, factor.size, factor.kind, factor.reduction,
                              factor.viaDecomposition, factor.padSafe);
  for (const auto &tensors :
       {ArrayRef<TensorFactors>(rule.operands), ArrayRef<TensorFactors>(rule.results)})
    for (const TensorFactors &tensor : tensors) {
      hash = llvm::hash_combine(hash, tensor.size());
      for (const DimFactors &dim : tensor)
        hash = llvm::hash_combine(hash, llvm::hash_combine_range(dim));
    }
  return hash;
}

//===----------------------------------------------------------------------===//
// MeshAttr
//===----------------------------------------------------------------------===//

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError, Mesh mesh) {
  return verify(emitError, mesh.axes(), mesh.deviceIds());
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<Mesh::Axis> axes, ArrayRef<int64_t> deviceIds) {
  llvm::SmallDenseSet<StringRef> names;
  int64_t devices = 1;
  for (const Mesh::Axis &axis : axes) {
    if (axis.name.empty())
      return emitError() << "mesh axis has an empty name; give each axis a name";
    if (!names.insert(axis.name).second)
      return emitError() << "mesh axis \"" << axis.name
                         << "\" is named twice; each axis needs a name of its own";
    if (axis.size < 1)
      return emitError() << "size of mesh axis \"" << axis.name << "\" must be at least 1, found "
                         << axis.size;
    if (llvm::MulOverflow(devices, int64_t(axis.size), devices) ||
        devices > std::numeric_limits<int32_t>::max())
      return emitError() << "mesh has more than 2147483647 devices; make its axes smaller";
  }
  if (deviceIds.empty())
    return success();
  if (axes.empty()) {
    if (deviceIds.size() != 1 || deviceIds[0] < 0)
      return emitError() << "a mesh without axes has one device; device_ids must be one number, at "
                            "least 0";
    return success();
  }
  if (int64_t(deviceIds.size()) != devices)
    return emitError() << "device_ids has " << deviceIds.size() << " entries, but the mesh has "
                       << devices << " devices; list each device once";
  llvm::SmallVector<bool> seen(devices);
  for (int64_t id : deviceIds) {
    if (id < 0 || id >= devices)
      return emitError() << "device_ids holds " << id << ", expected numbers from 0 to "
                         << devices - 1;
    if (seen[id])
      return emitError() << "device_ids holds " << id << " twice; list each device once";
    seen[id] = true;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Shardings and logical axes
//===----------------------------------------------------------------------===//

ShardingAttr ShardingAttr::getFullyOpen(FlatSymbolRefAttr mesh, unsigned rank) {
  SmallVector<DimShardingAttr> dims(rank, DimShardingAttr::get(mesh.getContext(), {}, false));
  return get(mesh, dims);
}

ShardingAttr ShardingAttr::getFullyClosed(FlatSymbolRefAttr mesh, unsigned rank) {
  SmallVector<DimShardingAttr> dims(rank, DimShardingAttr::get(mesh.getContext(), {}, true));
  return get(mesh, dims);
}

ShardingAttr ShardingAttr::getClosed() const {
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : getDimShardings())
    dims.push_back(DimShardingAttr::get(getContext(), dim.getAxes(), true));
  return get(getMesh(), dims, getReplicatedAxes(), getUnreducedAxes(), getReduction());
}

ShardingAttr ShardingAttr::getReduced() const {
  return get(getMesh(), getDimShardings(), getReplicatedAxes());
}

std::optional<unsigned> LogicalAxesAttr::find(StringRef name) const {
  for (auto [index, attr] : llvm::enumerate(getNames()))
    if (attr.getValue() == name)
      return index;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// ShardAttr
//===----------------------------------------------------------------------===//

LogicalResult ShardAttr::verify(function_ref<InFlightDiagnostic()> emitError, FlatSymbolRefAttr,
                                ArrayRef<AxisListAttr> dimAxes, ArrayRef<int64_t> globalShape,
                                ArrayRef<AxisRefAttr>, Reduction) {
  if (dimAxes.size() != globalShape.size())
    return emitError() << "shard encoding lists axes for " << dimAxes.size()
                       << " dimensions, but its global shape has " << globalShape.size();
  for (int64_t size : globalShape)
    if (size < 0)
      return emitError() << "shard encoding has a global size of " << size
                         << "; sizes must be at least 0";
  return success();
}

LogicalResult ShardAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                        function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getGlobalShape().size())
    return emitError() << "shard encoding has rank " << getGlobalShape().size()
                       << ", but the tensor has rank " << shape.size();
  return success();
}
