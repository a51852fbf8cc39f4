// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "core/tensor.h"

#include "absl/strings/str_join.h"
#include "base/checked.h"
#include <algorithm>
#include <cmath>

namespace cleave::rt {
namespace {

/// Copies a box of up to kMaxRank dimensions between two strided arrays, innermost runs at once.
/// Dimensions that are contiguous on both sides are merged first.
void copyBox(std::vector<uint64_t> extents, const char *src, DType srcType,
             std::vector<int64_t> srcStrides, char *dst, DType dstType,
             std::vector<int64_t> dstStrides) {
  for (uint64_t e : extents)
    if (e == 0)
      return;
  int64_t srcSize = int64_t(sizeOf(srcType)), dstSize = int64_t(sizeOf(dstType));
  // Drop dimensions of one element, then merge neighbours.
  std::vector<uint64_t> ext;
  std::vector<int64_t> ss, ds;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1)
      continue;
    if (!ext.empty() && ss.back() == srcStrides[i] * int64_t(extents[i]) &&
        ds.back() == dstStrides[i] * int64_t(extents[i])) {
      ext.back() *= extents[i];
      ss.back() = srcStrides[i];
      ds.back() = dstStrides[i];
      continue;
    }
    ext.push_back(extents[i]);
    ss.push_back(srcStrides[i]);
    ds.push_back(dstStrides[i]);
  }
  uint64_t run = 1;
  if (!ext.empty() && ss.back() == srcSize && ds.back() == dstSize) {
    run = ext.back();
    ext.pop_back();
    ss.pop_back();
    ds.pop_back();
  }
  std::vector<uint64_t> index(ext.size(), 0);
  while (true) {
    convertElements(srcType, src, dstType, dst, run);
    size_t d = ext.size();
    while (d-- > 0) {
      src += ss[d];
      dst += ds[d];
      if (++index[d] < ext[d])
        break;
      src -= ss[d] * int64_t(ext[d]);
      dst -= ds[d] * int64_t(ext[d]);
      index[d] = 0;
    }
    if (d == size_t(-1))
      return;
  }
}

std::string describeSharding(const std::vector<std::vector<AxisPart>> &dims, const Mesh &mesh) {
  return absl::StrCat("[",
                      absl::StrJoin(dims, ", ",
                                    [&](std::string *out, const std::vector<AxisPart> &dim) {
                                      absl::StrAppend(
                                          out, "{",
                                          absl::StrJoin(dim, ", ",
                                                        [&](std::string *o, const AxisPart &p) {
                                                          absl::StrAppend(o, mesh.toString(p));
                                                        }),
                                          "}");
                                    }),
                      "]");
}

} // namespace

StatusOr<TensorInfo> TensorInfo::fromSchema(const fb::Tensor &tensor, const Mesh &mesh,
                                            fb::Region region, uint64_t regionBytes) {
  TensorInfo t;
  t.name = tensor.name()->str();
  std::string where = absl::StrCat("tensor '", printable(t.name), "'");
  auto fail = [&](auto &&...parts) {
    return absl::DataLossError(absl::StrCat(where, " ", parts...));
  };
  if (t.name.empty())
    return absl::DataLossError("a tensor has no name");
  t.dtype = tensor.dtype();
  if (!isKnown(t.dtype))
    return fail("has unknown element type ", int(t.dtype));
  t.region = tensor.region();
  if (t.region != region)
    return fail("lies in region ", int(t.region), ", not ", int(region));
  t.shape.assign(tensor.shape()->begin(), tensor.shape()->end());
  const auto &dims = *tensor.sharding()->dims();
  if (t.shape.size() > kMaxRank)
    return fail("has ", t.shape.size(), " dimensions, at most ", kMaxRank, " are allowed");
  if (dims.size() != t.shape.size())
    return fail("has ", t.shape.size(), " dimensions, its sharding has ", dims.size());
  std::vector<AxisPart> used;
  Checked local(sizeOf(t.dtype)), global(sizeOf(t.dtype));
  for (size_t d = 0; d < t.shape.size(); ++d) {
    const fb::DimAxes *dim = dims.Get(flatbuffers::uoffset_t(d));
    auto parts = mesh.axisParts(dim->axes());
    if (!parts.ok())
      return annotate(parts.status(), where);
    for (const AxisPart &part : *parts) {
      for (const AxisPart &other : used)
        if (Mesh::overlap(part, other))
          return fail("is sharded twice by axis '", printable(mesh.axisName(part.axis)), "'");
      used.push_back(part);
    }
    uint64_t count = shardCount(*parts), n = t.shape[d];
    t.shards.push_back(count);
    t.localShape.push_back(n / count + (n % count != 0));
    t.dims.push_back(*std::move(parts));
    local = local * Checked(t.localShape.back());
    global = global * Checked(std::max<uint64_t>(n, 1));
  }
  t.shardingText = describeSharding(t.dims, mesh);
  t.offset = tensor.offset();
  t.bytes = tensor.bytes();
  // Half of the range is left so that signed strides and sums of sizes can not overflow.
  if (!global.atMost(uint64_t(1) << 62))
    return fail("of shape ", shapeText(t.shape), " is too large");
  if (!local.equals(t.bytes))
    return fail("takes ", local.value(), " bytes on a device by its shape, but ", t.bytes,
                " by its size");
  if (t.offset % sizeOf(t.dtype) != 0)
    return fail("is at offset ", t.offset, ", not a multiple of its element size");
  if (!(Checked(t.offset) + Checked(t.bytes)).atMost(regionBytes))
    return fail("at offset ", t.offset, " with ", t.bytes, " bytes leaves its region of ",
                regionBytes, " bytes");
  if (auto number = tensor.default_value()) {
    if (region != fb::Region::Input || !(isFloat(t.dtype) || t.dtype == DType::I64))
      return fail("has a default; only inputs of floats or I64 have one");
    bool whole = *number == std::trunc(*number) && std::abs(*number) <= 0x1p53;
    if (!std::isfinite(*number) || (t.dtype == DType::I64 && !whole))
      return fail("has the default ", *number, ", which its type does not hold");
    t.defaultValue = *number;
  }
  return t;
}

uint64_t TensorInfo::elements() const {
  uint64_t n = 1;
  for (uint64_t s : shape)
    n *= s;
  return n;
}

bool ShardBox::empty() const {
  return std::any_of(valid.begin(), valid.end(), [](uint64_t v) { return v == 0; });
}

ShardBox shardBox(const TensorInfo &tensor, const Mesh &mesh, uint32_t device) {
  ShardBox box;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    uint64_t n = tensor.shape[d], local = tensor.localShape[d];
    uint64_t start = std::min(n, mesh.coordinate(device, tensor.dims[d]) * local);
    box.start.push_back(start);
    box.valid.push_back(std::min(local, n - start));
  }
  return box;
}

bool isFirstReplica(const TensorInfo &tensor, const Mesh &mesh, uint32_t device) {
  // The first replica has digit 0 wherever the sharding does not look: taking the sharded digits
  // away leaves position 0.
  std::vector<AxisPart> all;
  for (const auto &dim : tensor.dims)
    all.insert(all.end(), dim.begin(), dim.end());
  return mesh.group(device, all).front() == 0;
}

std::vector<int64_t> rowMajorStrides(std::span<const uint64_t> shape, DType dtype) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = int64_t(sizeOf(dtype));
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= int64_t(shape[d]);
  }
  return strides;
}

void scatterBlock(const TensorInfo &tensor, const ShardBox &box, const void *global,
                  const StridedView &view, void *local) {
  if (box.empty())
    return;
  const char *src = static_cast<const char *>(global);
  for (size_t d = 0; d < box.start.size(); ++d)
    src += view.strides[d] * int64_t(box.start[d]);
  copyBox(box.valid, src, view.dtype, view.strides, static_cast<char *>(local), tensor.dtype,
          rowMajorStrides(tensor.localShape, tensor.dtype));
}

void gatherBlock(const TensorInfo &tensor, const ShardBox &box, const void *local, void *global) {
  if (box.empty())
    return;
  std::vector<int64_t> strides = rowMajorStrides(tensor.shape, tensor.dtype);
  char *dst = static_cast<char *>(global);
  for (size_t d = 0; d < box.start.size(); ++d)
    dst += strides[d] * int64_t(box.start[d]);
  copyBox(box.valid, static_cast<const char *>(local), tensor.dtype,
          rowMajorStrides(tensor.localShape, tensor.dtype), dst, tensor.dtype, strides);
}

std::string shapeText(std::span<const uint64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

} // namespace cleave::rt
