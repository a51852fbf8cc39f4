// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The logical device mesh of an executable, and where a tensor's shards lie on it. A device is its
// row-major position in the mesh.
#ifndef CLEAVE_RUNTIME_CORE_MESH_H
#define CLEAVE_RUNTIME_CORE_MESH_H

#include "base/status.h"
#include "cleave/schema/executable_generated.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cleave::rt {

/// A part of a mesh axis: axis = pre x size x rest, major to minor, and this is the middle part.
struct AxisPart {
  uint32_t axis = 0, preSize = 1, size = 1;
};

class Mesh {
public:
  /// More devices than this are not a mesh but a damaged file.
  static constexpr uint64_t kMaxDevices = 1 << 16;
  static constexpr size_t kMaxAxes = 16;

  /// Checks names, sizes and device ids.
  static StatusOr<Mesh> fromSchema(const fb::Mesh &mesh);

  const std::string &name() const { return name_; }
  size_t numAxes() const { return sizes_.size(); }
  const std::string &axisName(size_t i) const { return names_[i]; }
  uint32_t axisSize(size_t i) const { return sizes_[i]; }
  uint32_t numDevices() const { return numDevices_; }

  /// Reads a list of axis parts: each inside its axis, none overlapping another.
  StatusOr<std::vector<AxisPart>>
  axisParts(const flatbuffers::Vector<const fb::AxisPart *> *parts) const;
  /// True if two parts share a digit of one axis.
  static bool overlap(const AxisPart &a, const AxisPart &b);

  /// Digit of `device` along `parts`, mixed radix, major to minor.
  uint32_t coordinate(uint32_t device, std::span<const AxisPart> parts) const;
  /// The devices that differ from `device` only along `parts`, ordered by coordinate.
  std::vector<uint32_t> group(uint32_t device, std::span<const AxisPart> parts) const;
  /// `"tp"`, or `"tp":(2)2` for a part.
  std::string toString(const AxisPart &part) const;

private:
  std::string name_;
  std::vector<std::string> names_;
  std::vector<uint32_t> sizes_, strides_;
  uint32_t numDevices_ = 1;
};

/// Product of the sizes.
uint64_t shardCount(std::span<const AxisPart> parts);

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_CORE_MESH_H
