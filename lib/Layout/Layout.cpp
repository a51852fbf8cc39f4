// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/Layout.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace cleave;

bool Layout::isReplicated() const {
  return partial.empty() && llvm::all_of(dims, [](const AxisList &axes) { return axes.empty(); });
}

AxisList Layout::usedAxes() const {
  AxisList used;
  for (const AxisList &axes : dims)
    used.append(axes.begin(), axes.end());
  used.append(partial.begin(), partial.end());
  return used;
}

bool Layout::operator==(const Layout &o) const {
  return dims == o.dims && partial == o.partial &&
         (partial.empty() || partialKind == o.partialKind);
}

llvm::hash_code cleave::hash_value(const Layout &layout) {
  uint64_t hash = layout.rank();
  auto mix = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull, hash ^= hash >> 29;
  };
  auto mixAxes = [&mix](const AxisList &axes) {
    mix(axes.size());
    for (const AxisRef &ref : axes)
      mix(uint64_t(ref.axis) << 58 ^ uint64_t(ref.preSize) << 29 ^ ref.size);
  };
  for (const AxisList &axes : layout.dims)
    mixAxes(axes);
  mixAxes(layout.partial);
  if (!layout.partial.empty())
    mix(uint64_t(layout.partialKind));
  return hash;
}

//===------------------------------------------------------------------------------------------===//
// Sizes
//===------------------------------------------------------------------------------------------===//

int64_t cleave::localSize(int64_t n, int64_t k) { return n / k + (n % k != 0); }

int64_t cleave::validSize(int64_t n, int64_t k, int64_t c) {
  int64_t local = localSize(n, k);
  return std::clamp<int64_t>(n - c * local, 0, local);
}

llvm::SmallVector<int64_t> cleave::localShape(llvm::ArrayRef<int64_t> globalShape,
                                              const Layout &layout) {
  llvm::SmallVector<int64_t> shape(globalShape.begin(), globalShape.end());
  for (auto [size, axes] : llvm::zip(shape, layout.dims))
    size = localSize(size, shardCount(axes));
  return shape;
}

int64_t cleave::localElements(llvm::ArrayRef<int64_t> globalShape, const Layout &layout) {
  int64_t count = 1;
  for (int64_t size : localShape(globalShape, layout))
    count *= size;
  return count;
}

bool cleave::isEven(llvm::ArrayRef<int64_t> globalShape, const Layout &layout) {
  for (auto [size, axes] : llvm::zip(globalShape, layout.dims))
    if (size % shardCount(axes) != 0)
      return false;
  return true;
}

bool cleave::isAligned(int64_t n, int64_t outer, int64_t inner) {
  // Blocks have the same size both ways; they start at the same places if the outer block holds
  // whole inner ones. With at most one element only shard 0 holds anything.
  return outer == 1 || n <= 1 || localSize(n, outer) % inner == 0;
}

//===------------------------------------------------------------------------------------------===//
// Text
//===------------------------------------------------------------------------------------------===//

std::string cleave::toString(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes) {
  std::string text = "{";
  llvm::ListSeparator comma;
  for (const AxisRef &ref : axes) {
    llvm::StringRef separator = comma;
    text += separator;
    text += '"' + mesh.axes()[ref.axis].name + '"';
    if (ref != mesh.axis(ref.axis))
      text += ":(" + std::to_string(ref.preSize) + ")" + std::to_string(ref.size);
  }
  return text + "}";
}

std::string cleave::toString(const Mesh &mesh, const Layout &layout) {
  std::string text = "[";
  llvm::ListSeparator comma;
  for (const AxisList &axes : layout.dims) {
    llvm::StringRef separator = comma;
    text += separator;
    text += toString(mesh, axes);
  }
  text += "]";
  if (!layout.partial.empty()) {
    static constexpr const char *kNames[] = {"sum", "max", "min"};
    text += std::string(" partial=") + kNames[unsigned(layout.partialKind)] +
            toString(mesh, layout.partial);
  }
  return text;
}
