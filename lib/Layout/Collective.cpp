// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/Collective.h"

using namespace cleave;

double cleave::ringBytes(const ReshardStep &step, llvm::ArrayRef<int64_t> globalShape,
                         int64_t elementBytes, const Layout &before) {
  double buffer = elementBytes;
  for (auto [size, axes] : llvm::zip(globalShape, before.dims))
    buffer *= double(size) / shardCount(axes);
  double n = shardCount(step.axes);
  switch (step.kind) {
  case CollectiveKind::AllReduce:
    return 2 * (n - 1) / n * buffer;
  case CollectiveKind::AllGather:
    return (n - 1) * buffer; // (n-1)/n of the result, which is n buffers
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return (n - 1) / n * buffer;
  case CollectiveKind::AllSlice:
    return 0;
  case CollectiveKind::CollectivePermute:
    return buffer;
  }
  return 0;
}

/// Axes of the mesh that shard no dimension and carry no partial value, in mesh order.
static AxisList unusedAxes(const Mesh &mesh, const Layout &layout) {
  AxisList whole;
  for (uint32_t index = 0; index < mesh.axes().size(); ++index)
    whole.push_back(mesh.axis(index));
  return subtractAxes(whole, layout.usedAxes());
}

llvm::SmallVector<int64_t> cleave::permuteSources(const Mesh &mesh, const Layout &before,
                                                  const Layout &after) {
  // A source agrees with its destination in the block index of every dimension. Copies of a block
  // differ along the axes that its layout leaves unused; they are matched in order, apart from
  // those along axes unused on both sides, which stay.
  AxisList freeBefore = unusedAxes(mesh, before), freeAfter = unusedAxes(mesh, after);
  AxisList onlyBefore = subtractAxes(freeBefore, freeAfter);
  AxisList onlyAfter = subtractAxes(freeAfter, freeBefore);
  if (subtractAxes(freeBefore, onlyBefore) != subtractAxes(freeAfter, onlyAfter))
    onlyBefore = freeBefore, onlyAfter = freeAfter; // an axis factored in two ways

  llvm::SmallVector<int64_t> sources;
  for (int64_t device = 0, count = mesh.numDevices(); device < count; ++device) {
    int64_t source = device;
    for (auto [from, to] : llvm::zip(before.dims, after.dims))
      source = mesh.withCoordinate(source, from, mesh.coordinate(device, to));
    source = mesh.withCoordinate(source, onlyBefore, mesh.coordinate(device, onlyAfter));
    sources.push_back(source);
  }
  return sources;
}
