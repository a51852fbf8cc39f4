// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Axis arithmetic. A part of an axis covers the digits [preSize, preSize * size) of the axis in
// multiplicative terms; two parts can stand beside each other only if the end of the major one
// divides the start of the minor one.

#include "cleave/Layout/Mesh.h"

#include <algorithm>
#include <numeric>

using namespace cleave;

static uint64_t endOf(const AxisRef &ref) { return uint64_t(ref.preSize) * ref.size; }

bool AxisRef::overlaps(const AxisRef &o) const {
  if (axis != o.axis || size == 1 || o.size == 1)
    return false;
  const AxisRef &major = preSize <= o.preSize ? *this : o;
  const AxisRef &minor = preSize <= o.preSize ? o : *this;
  return minor.preSize % endOf(major) != 0;
}

//===------------------------------------------------------------------------------------------===//
// Mesh
//===------------------------------------------------------------------------------------------===//

Mesh::Mesh(llvm::ArrayRef<Axis> axes, llvm::ArrayRef<int64_t> deviceIds)
    : axes_(axes.begin(), axes.end()), deviceIds_(deviceIds.begin(), deviceIds.end()) {}

int64_t Mesh::numDevices() const {
  int64_t count = 1;
  for (const Axis &axis : axes_)
    count *= axis.size;
  return count;
}

std::optional<uint32_t> Mesh::findAxis(llvm::StringRef name) const {
  for (auto [index, axis] : llvm::enumerate(axes_))
    if (axis.name == name)
      return index;
  return std::nullopt;
}

/// Distance in row-major mesh positions between two neighbours along `ref`.
static int64_t strideOf(const Mesh &mesh, const AxisRef &ref) {
  int64_t stride = mesh.axes()[ref.axis].size / endOf(ref);
  for (const Mesh::Axis &axis : mesh.axes().drop_front(ref.axis + 1))
    stride *= axis.size;
  return stride;
}

int64_t Mesh::coordinate(int64_t device, const AxisRef &ref) const {
  return device / strideOf(*this, ref) % ref.size;
}

int64_t Mesh::coordinate(int64_t device, llvm::ArrayRef<AxisRef> axes) const {
  int64_t result = 0;
  for (const AxisRef &ref : axes)
    result = result * ref.size + coordinate(device, ref);
  return result;
}

int64_t Mesh::withCoordinate(int64_t device, llvm::ArrayRef<AxisRef> axes, int64_t value) const {
  for (const AxisRef &ref : llvm::reverse(axes)) {
    device += (value % ref.size - coordinate(device, ref)) * strideOf(*this, ref);
    value /= ref.size;
  }
  return device;
}

llvm::SmallVector<int64_t> Mesh::group(int64_t device, llvm::ArrayRef<AxisRef> axes) const {
  llvm::SmallVector<int64_t> members;
  int64_t count = shardCount(axes);
  members.reserve(count);
  for (int64_t value = 0; value < count; ++value)
    members.push_back(withCoordinate(device, axes, value));
  return members;
}

bool Mesh::operator==(const Mesh &o) const {
  auto sameAxis = [](const Axis &a, const Axis &b) { return a.size == b.size && a.name == b.name; };
  return std::equal(axes_.begin(), axes_.end(), o.axes_.begin(), o.axes_.end(), sameAxis) &&
         deviceIds_ == o.deviceIds_;
}

//===------------------------------------------------------------------------------------------===//
// Axis lists
//===------------------------------------------------------------------------------------------===//

int64_t cleave::shardCount(llvm::ArrayRef<AxisRef> axes) {
  int64_t count = 1;
  for (const AxisRef &ref : axes)
    count *= ref.size;
  return count;
}

void cleave::appendAxis(AxisList &list, AxisRef ref) {
  if (ref.size == 1)
    return;
  if (!list.empty() && list.back().axis == ref.axis && endOf(list.back()) == ref.preSize)
    list.back().size *= ref.size;
  else
    list.push_back(ref);
}

AxisList cleave::canonicalAxes(llvm::ArrayRef<AxisRef> axes) {
  AxisList result;
  for (const AxisRef &ref : axes)
    appendAxis(result, ref);
  return result;
}

AxisList cleave::sortedAxes(llvm::ArrayRef<AxisRef> axes) {
  AxisList sorted(axes.begin(), axes.end());
  llvm::sort(sorted);
  return canonicalAxes(sorted);
}

bool cleave::axesOverlap(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b) {
  for (const AxisRef &x : a)
    for (const AxisRef &y : b)
      if (x.overlaps(y))
        return true;
  return false;
}

AxisList cleave::takeMajor(AxisRef &ref, uint32_t size) {
  AxisList taken;
  appendAxis(taken, {ref.axis, ref.preSize, size});
  ref = {ref.axis, ref.preSize * size, ref.size / size};
  return taken;
}

/// Walks both lists from the major end while they agree; returns what they share and leaves in
/// `restOfA` what `a` has beyond it.
static AxisList splitCommonPrefix(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b,
                                  AxisList &restOfA) {
  AxisList common;
  size_t i = 0, j = 0;
  AxisRef x{0, 1, 1}, y{0, 1, 1};
  while (true) {
    while (x.size == 1 && i < a.size())
      x = a[i++];
    while (y.size == 1 && j < b.size())
      y = b[j++];
    if (x.size == 1 || y.size == 1 || x.axis != y.axis || x.preSize != y.preSize)
      break;
    uint32_t shared = std::gcd(x.size, y.size);
    if (shared == 1)
      break;
    for (const AxisRef &ref : takeMajor(x, shared))
      appendAxis(common, ref);
    takeMajor(y, shared);
  }
  appendAxis(restOfA, x);
  for (const AxisRef &ref : a.drop_front(i))
    appendAxis(restOfA, ref);
  return common;
}

AxisList cleave::commonPrefix(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b) {
  AxisList rest;
  return splitCommonPrefix(a, b, rest);
}

std::optional<AxisList> cleave::removePrefix(llvm::ArrayRef<AxisRef> axes,
                                             llvm::ArrayRef<AxisRef> prefix) {
  AxisList rest;
  AxisList common = splitCommonPrefix(axes, prefix, rest);
  if (shardCount(common) != shardCount(prefix))
    return std::nullopt;
  return rest;
}

AxisList cleave::subtractAxes(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<AxisRef> remove) {
  AxisList kept(axes.begin(), axes.end());
  for (const AxisRef &cut : remove) {
    AxisList next;
    for (const AxisRef &ref : kept) {
      if (!ref.overlaps(cut)) {
        next.push_back(ref);
        continue;
      }
      // The parts of `ref` before and after the cut; only those that are whole digits remain.
      if (cut.preSize > ref.preSize && cut.preSize % ref.preSize == 0 &&
          endOf(ref) % cut.preSize == 0)
        next.push_back({ref.axis, ref.preSize, cut.preSize / ref.preSize});
      if (endOf(cut) < endOf(ref) && endOf(cut) % ref.preSize == 0 && endOf(ref) % endOf(cut) == 0)
        next.push_back({ref.axis, uint32_t(endOf(cut)), uint32_t(endOf(ref) / endOf(cut))});
    }
    kept = std::move(next);
  }
  return canonicalAxes(kept);
}
