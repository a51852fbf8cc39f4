// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "RandomShardings.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::fuzz;

Mesh fuzz::randomMesh(RandomSource &random) {
  static constexpr const char *kNames[] = {"a", "b", "c"};
  SmallVector<Mesh::Axis> axes;
  int64_t count = random.between(1, 3), devices = 1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t size = random.between(i == 0 ? 2 : 1, 4);
    if (devices * size > 8)
      size = 1;
    // One axis alone may be as large as the whole.
    if (count == 1 && random.chance(30))
      size = random.between(5, 8);
    axes.push_back({kNames[i], uint32_t(size)});
    devices *= size;
  }
  return Mesh(axes);
}

Layout fuzz::randomLayout(RandomSource &random, const Mesh &mesh, unsigned rank) {
  SmallVector<AxisRef> parts;
  for (uint32_t i = 0; i < mesh.axes().size(); ++i) {
    AxisRef axis = mesh.axis(i);
    SmallVector<uint32_t, 4> divisors;
    for (uint32_t d = 2; d < axis.size; ++d)
      if (axis.size % d == 0)
        divisors.push_back(d);
    if (divisors.empty() || !random.chance(30)) {
      parts.push_back(axis);
      continue;
    }
    uint32_t major = random.pick<uint32_t>(divisors);
    parts.push_back({i, 1, major});
    parts.push_back({i, major, axis.size / major});
  }
  random.shuffle(parts);
  Layout layout = Layout::replicated(rank);
  if (rank == 0)
    return layout;
  for (const AxisRef &part : parts)
    if (part.size > 1 && random.chance(65))
      appendAxis(layout.dims[random.below(rank)], part);
  return layout;
}

ShardingAttr fuzz::randomSharding(RandomSource &random, FlatSymbolRefAttr meshSym, const Mesh &mesh,
                                  unsigned rank, bool closed) {
  MLIRContext *context = meshSym.getContext();
  Layout layout = randomLayout(random, mesh, rank);
  SmallVector<DimShardingAttr> dims;
  for (const AxisList &axes : layout.dims) {
    bool open = !closed && random.chance(50);
    std::optional<int64_t> priority;
    if (!closed && (open || !axes.empty()) && random.chance(15))
      priority = random.below(3);
    dims.push_back(
        DimShardingAttr::get(context, axisAttrsOf(context, mesh, axes), !open, priority));
  }
  SmallVector<AxisRef> replicated;
  if (!closed && random.chance(10))
    for (uint32_t i = 0; i < mesh.axes().size(); ++i)
      if (mesh.axis(i).size > 1 && !axesOverlap(layout.usedAxes(), mesh.axis(i)))
        replicated.push_back(mesh.axis(i));
  return ShardingAttr::get(meshSym, dims, axisAttrsOf(context, mesh, replicated));
}
