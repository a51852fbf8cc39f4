// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Between attributes and plain layouts.

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"

using namespace mlir;
using namespace cleave;

//===----------------------------------------------------------------------===//
// Meshes and axes
//===----------------------------------------------------------------------===//

const Mesh &cleave::meshOf(MeshAttr mesh) { return mesh.getMesh(); }

const Mesh &cleave::meshOf(MeshOp mesh) { return mesh.getLayoutMesh(); }

const Mesh *cleave::findMesh(Operation *from, FlatSymbolRefAttr symbol) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(from, symbol);
  return mesh ? &mesh.getLayoutMesh() : nullptr;
}

FailureOr<AxisRef> cleave::axisOf(AxisRefAttr axis, const Mesh &mesh) {
  std::optional<uint32_t> index = mesh.findAxis(axis.getName());
  if (!index)
    return failure();
  if (!axis.isSubAxis())
    return mesh.axis(*index);
  int64_t size = mesh.axes()[*index].size;
  int64_t covered;
  if (llvm::MulOverflow(axis.getPreSize(), axis.getSize(), covered) || covered > size ||
      size % covered != 0)
    return failure();
  return AxisRef{*index, uint32_t(axis.getPreSize()), uint32_t(axis.getSize())};
}

FailureOr<AxisList> cleave::axesOf(ArrayRef<AxisRefAttr> axes, const Mesh &mesh) {
  AxisList list;
  for (AxisRefAttr axis : axes) {
    FailureOr<AxisRef> ref = axisOf(axis, mesh);
    if (failed(ref))
      return failure();
    if (ref->size > 1)
      appendAxis(list, *ref);
  }
  return list;
}

AxisRefAttr cleave::axisAttrOf(MLIRContext *context, const Mesh &mesh, const AxisRef &axis) {
  const Mesh::Axis &whole = mesh.axes()[axis.axis];
  if (axis.size == whole.size)
    return AxisRefAttr::get(context, whole.name);
  return AxisRefAttr::get(context, whole.name, axis.preSize, axis.size);
}

SmallVector<AxisRefAttr> cleave::axisAttrsOf(MLIRContext *context, const Mesh &mesh,
                                             ArrayRef<AxisRef> axes) {
  return llvm::map_to_vector(axes,
                             [&](const AxisRef &axis) { return axisAttrOf(context, mesh, axis); });
}

AxisListAttr cleave::axisListOf(MLIRContext *context, const Mesh &mesh, ArrayRef<AxisRef> axes) {
  return AxisListAttr::get(context, axisAttrsOf(context, mesh, axes));
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// The partial axes of a layout are in order and canonical.
static FailureOr<AxisList> sortedAxesOf(ArrayRef<AxisRefAttr> axes, const Mesh &mesh) {
  FailureOr<AxisList> list = axesOf(axes, mesh);
  if (failed(list))
    return failure();
  return sortedAxes(*list);
}

FailureOr<Layout> cleave::layoutOf(ShardingAttr sharding, const Mesh &mesh) {
  Layout layout;
  for (DimShardingAttr dim : sharding.getDimShardings()) {
    FailureOr<AxisList> axes = axesOf(dim.getAxes(), mesh);
    if (failed(axes))
      return failure();
    layout.dims.push_back(std::move(*axes));
  }
  FailureOr<AxisList> partial = sortedAxesOf(sharding.getUnreducedAxes(), mesh);
  if (failed(partial))
    return failure();
  layout.partial = std::move(*partial);
  if (!layout.partial.empty())
    layout.partialKind = sharding.getReduction();
  return layout;
}

Layout cleave::layoutOf(ShardAttr shard, const Mesh &mesh) {
  auto verified = [&](FailureOr<AxisList> axes) {
    assert(succeeded(axes) && "the encoding must be verified");
    return std::move(*axes);
  };
  Layout layout;
  for (AxisListAttr axes : shard.getDimAxes())
    layout.dims.push_back(verified(axesOf(axes.getAxes(), mesh)));
  layout.partial = verified(sortedAxesOf(shard.getUnreducedAxes(), mesh));
  if (!layout.partial.empty())
    layout.partialKind = shard.getReduction();
  return layout;
}

ShardingAttr cleave::shardingOf(MLIRContext *context, FlatSymbolRefAttr meshSym, const Mesh &mesh,
                                const Layout &layout, bool closed) {
  auto dims = llvm::map_to_vector(layout.dims, [&](const AxisList &axes) {
    return DimShardingAttr::get(context, axisAttrsOf(context, mesh, axes), closed);
  });
  return ShardingAttr::get(meshSym, dims, {}, axisAttrsOf(context, mesh, layout.partial),
                           layout.partial.empty() ? Reduction::Sum : layout.partialKind);
}

ShardAttr cleave::shardOf(MLIRContext *context, FlatSymbolRefAttr meshSym, const Mesh &mesh,
                          const Layout &layout, ArrayRef<int64_t> globalShape) {
  auto dims = llvm::map_to_vector(
      layout.dims, [&](const AxisList &axes) { return axisListOf(context, mesh, axes); });
  return ShardAttr::get(meshSym, dims, globalShape, axisAttrsOf(context, mesh, layout.partial),
                        layout.partial.empty() ? Reduction::Sum : layout.partialKind);
}

RankedTensorType cleave::localType(RankedTensorType global, FlatSymbolRefAttr meshSym,
                                   const Mesh &mesh, const Layout &layout) {
  return RankedTensorType::get(
      localShape(global.getShape(), layout), global.getElementType(),
      shardOf(global.getContext(), meshSym, mesh, layout, global.getShape()));
}

RankedTensorType cleave::globalType(RankedTensorType type) {
  ShardAttr shard = getShard(type);
  return shard ? RankedTensorType::get(shard.getGlobalShape(), type.getElementType()) : type;
}

ShardAttr cleave::getShard(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<ShardAttr>(tensor.getEncoding()) : ShardAttr();
}
