// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A named tensor of an executable's signature or state, and the block of it that a device holds.
#ifndef CLEAVE_RUNTIME_CORE_TENSOR_H
#define CLEAVE_RUNTIME_CORE_TENSOR_H

#include "base/dtype.h"
#include "core/mesh.h"

namespace cleave::rt {

inline constexpr size_t kMaxRank = 16;

struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<uint64_t> shape;             ///< global
  std::vector<uint64_t> localShape;        ///< padded: ceil(n/k) a dimension
  std::vector<std::vector<AxisPart>> dims; ///< sharding axes of each dimension
  std::vector<uint64_t> shards;            ///< shard count of each dimension
  fb::Region region = fb::Region::State;
  std::string shardingText;           ///< `[{"dp"}, {}]`
  uint64_t offset = 0, bytes = 0;     ///< in the region, on every device
  std::optional<double> defaultValue; ///< of all elements, where an input is not given

  /// Reads and checks a tensor; `region` and `regionBytes` say where it must lie.
  static StatusOr<TensorInfo> fromSchema(const fb::Tensor &tensor, const Mesh &mesh,
                                         fb::Region region, uint64_t regionBytes);
  uint64_t elements() const;
  uint64_t globalBytes() const { return elements() * sizeOf(dtype); }
};

/// The block of a tensor on one device: in each dimension the first element and how many of the
/// local ones are real, the rest being padding.
struct ShardBox {
  std::vector<uint64_t> start, valid;
  bool empty() const;
  bool padded(const TensorInfo &tensor) const { return valid != tensor.localShape; }
};
ShardBox shardBox(const TensorInfo &tensor, const Mesh &mesh, uint32_t device);
/// True if this is the first of the devices that hold the same block.
bool isFirstReplica(const TensorInfo &tensor, const Mesh &mesh, uint32_t device);

/// A view of host memory: strides in bytes.
struct StridedView {
  DType dtype;
  std::vector<int64_t> strides;
};
/// Row-major strides in bytes.
std::vector<int64_t> rowMajorStrides(std::span<const uint64_t> shape, DType dtype);

/// Copies a device's block out of a global array into its local, row-major buffer, converting
/// between floating-point types. Padding is not written.
void scatterBlock(const TensorInfo &tensor, const ShardBox &box, const void *global,
                  const StridedView &view, void *local);
/// The reverse: writes the real elements of a local buffer into a row-major global array of the
/// tensor's type.
void gatherBlock(const TensorInfo &tensor, const ShardBox &box, const void *local, void *global);

/// `[512, 64]`.
std::string shapeText(std::span<const uint64_t> shape);

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_CORE_TENSOR_H
