// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A logical device mesh and references to its axes. Plain values; no MLIR context.
#ifndef CLEAVE_LAYOUT_MESH_H
#define CLEAVE_LAYOUT_MESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace cleave {

/// A whole mesh axis, or a contiguous part of one (a sub-axis). An axis of size n factors as
/// preSize x size x rest, major to minor; the sub-axis is the middle part. The whole axis has
/// preSize 1 and size n. Written `"tp":(preSize)size` in the IR.
struct AxisRef {
  uint32_t axis = 0; ///< index into Mesh::axes()
  uint32_t preSize = 1;
  uint32_t size = 1;
  bool operator==(const AxisRef &o) const {
    return std::tie(axis, preSize, size) == std::tie(o.axis, o.preSize, o.size);
  }
  bool operator!=(const AxisRef &o) const { return !(*this == o); }
  bool operator<(const AxisRef &o) const {
    return std::tie(axis, preSize, size) < std::tie(o.axis, o.preSize, o.size);
  }
  /// True if the two parts cannot stand beside each other: same axis, and digits that overlap or
  /// come from different factorings of it (of size 6, `(1)2` and `(3)2`).
  bool overlaps(const AxisRef &o) const;
};

/// Axes that shard one dimension (or carry a partial value), major to minor, canonical: adjacent
/// parts of one axis are merged, no part has size 1.
using AxisList = llvm::SmallVector<AxisRef, 2>;

class Mesh {
public:
  struct Axis {
    std::string name;
    uint32_t size;
  };
  Mesh() = default;
  Mesh(llvm::ArrayRef<Axis> axes, llvm::ArrayRef<int64_t> deviceIds = {});

  llvm::ArrayRef<Axis> axes() const { return axes_; }
  /// Physical device of each row-major mesh position; empty means the identity.
  llvm::ArrayRef<int64_t> deviceIds() const { return deviceIds_; }
  int64_t numDevices() const;
  std::optional<uint32_t> findAxis(llvm::StringRef name) const;
  /// The whole axis.
  AxisRef axis(uint32_t index) const { return {index, 1, axes_[index].size}; }
  /// Digit of `device` (row-major mesh position) along `ref`, in [0, ref.size).
  int64_t coordinate(int64_t device, const AxisRef &ref) const;
  /// Mixed-radix digit of `device` along `axes`, major to minor, in [0, product of sizes).
  int64_t coordinate(int64_t device, llvm::ArrayRef<AxisRef> axes) const;
  /// `device` moved along `axes` so that its coordinate(., axes) is `value`.
  int64_t withCoordinate(int64_t device, llvm::ArrayRef<AxisRef> axes, int64_t value) const;
  /// Devices that differ from `device` only along `axes`, ordered by coordinate(., axes).
  llvm::SmallVector<int64_t> group(int64_t device, llvm::ArrayRef<AxisRef> axes) const;
  bool operator==(const Mesh &o) const;

private:
  llvm::SmallVector<Axis, 4> axes_;
  llvm::SmallVector<int64_t> deviceIds_;
};

/// Product of the sizes; 1 for an empty list.
int64_t shardCount(llvm::ArrayRef<AxisRef> axes);
/// Appends `ref`, merging it with the last part when they are adjacent digits of one axis.
void appendAxis(AxisList &list, AxisRef ref);
/// Axis-by-axis canonical form of a list.
AxisList canonicalAxes(llvm::ArrayRef<AxisRef> axes);
/// Canonical form of a list whose order carries no meaning (partial, replicated axes).
AxisList sortedAxes(llvm::ArrayRef<AxisRef> axes);
/// Splits `ref` after its major `size` (a divisor of ref.size): returns the major part and leaves
/// the minor part in `ref`. Either is empty or of size 1 where nothing is left.
AxisList takeMajor(AxisRef &ref, uint32_t size);
/// True if any part of `a` overlaps any part of `b`.
bool axesOverlap(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b);
/// Longest common major prefix, splitting a sub-axis where sizes allow it.
AxisList commonPrefix(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b);
/// If `prefix` is a major prefix of `axes` (sub-axes considered), the remaining minor part.
std::optional<AxisList> removePrefix(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<AxisRef> prefix);
/// `axes` without every digit that overlaps `remove` (the parts that remain keep their order). A
/// part that is factored in another way than the one to remove goes as a whole.
AxisList subtractAxes(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<AxisRef> remove);

} // namespace cleave

#endif // CLEAVE_LAYOUT_MESH_H
