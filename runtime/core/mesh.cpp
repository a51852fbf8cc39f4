// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "core/mesh.h"

#include "base/checked.h"
#include <algorithm>

namespace cleave::rt {

StatusOr<Mesh> Mesh::fromSchema(const fb::Mesh &mesh) {
  Mesh result;
  if (mesh.name())
    result.name_ = mesh.name()->str();
  if (mesh.axes()->size() > kMaxAxes)
    return absl::DataLossError(absl::StrCat("the mesh has ", mesh.axes()->size(), " axes, at most ",
                                            kMaxAxes, " are allowed"));
  Checked devices(1);
  for (const fb::MeshAxis *axis : *mesh.axes()) {
    std::string name = axis->name()->str();
    if (std::find(result.names_.begin(), result.names_.end(), name) != result.names_.end())
      return absl::DataLossError(
          absl::StrCat("the mesh has two axes named '", printable(name), "'"));
    devices = devices * Checked(axis->size());
    if (axis->size() == 0 || !devices.atMost(kMaxDevices))
      return absl::DataLossError(absl::StrCat("mesh axis '", printable(name), "' of size ",
                                              axis->size(), " makes a mesh of 0 or more than ",
                                              kMaxDevices, " devices"));
    result.names_.push_back(std::move(name));
    result.sizes_.push_back(axis->size());
  }
  result.numDevices_ = uint32_t(devices.value());
  result.strides_.resize(result.sizes_.size());
  uint32_t stride = 1;
  for (size_t i = result.sizes_.size(); i-- > 0;) {
    result.strides_[i] = stride;
    stride *= result.sizes_[i];
  }
  if (mesh.device_ids() && mesh.device_ids()->size() != 0) {
    std::vector<uint64_t> ids(mesh.device_ids()->begin(), mesh.device_ids()->end());
    std::sort(ids.begin(), ids.end());
    if (ids.size() != result.numDevices_ || std::adjacent_find(ids.begin(), ids.end()) != ids.end())
      return absl::DataLossError(absl::StrCat("the mesh has ", result.numDevices_,
                                              " devices, but its device order lists ", ids.size(),
                                              " or repeats one"));
  }
  return result;
}

bool Mesh::overlap(const AxisPart &a, const AxisPart &b) {
  if (a.axis != b.axis)
    return false;
  // A part covers the digits between preSize and preSize * size.
  return uint64_t(a.preSize) < uint64_t(b.preSize) * b.size &&
         uint64_t(b.preSize) < uint64_t(a.preSize) * a.size;
}

StatusOr<std::vector<AxisPart>>
Mesh::axisParts(const flatbuffers::Vector<const fb::AxisPart *> *parts) const {
  std::vector<AxisPart> result;
  if (!parts)
    return result;
  for (const fb::AxisPart *part : *parts) {
    AxisPart p{part->axis(), part->pre_size(), part->size()};
    if (p.axis >= sizes_.size())
      return absl::DataLossError(
          absl::StrCat("axis ", p.axis, " is not one of the mesh's ", sizes_.size(), " axes"));
    uint64_t covered = uint64_t(p.preSize) * p.size;
    if (covered == 0 || sizes_[p.axis] % covered != 0)
      return absl::DataLossError(absl::StrCat("sub-axis (", p.preSize, ")", p.size,
                                              " does not divide axis '", printable(names_[p.axis]),
                                              "' of size ", sizes_[p.axis]));
    for (const AxisPart &other : result)
      if (overlap(p, other))
        return absl::DataLossError(
            absl::StrCat("axis '", printable(names_[p.axis]), "' is used twice in one list"));
    result.push_back(p);
  }
  return result;
}

uint32_t Mesh::coordinate(uint32_t device, std::span<const AxisPart> parts) const {
  uint32_t result = 0;
  for (const AxisPart &p : parts) {
    uint32_t digit = device / strides_[p.axis] % sizes_[p.axis];
    uint32_t rest = sizes_[p.axis] / (p.preSize * p.size);
    result = result * p.size + digit / rest % p.size;
  }
  return result;
}

std::vector<uint32_t> Mesh::group(uint32_t device, std::span<const AxisPart> parts) const {
  // Distance in row-major positions between neighbours along each part.
  uint32_t base = device;
  for (const AxisPart &p : parts) {
    uint32_t stride = strides_[p.axis] * (sizes_[p.axis] / (p.preSize * p.size));
    base -= device / stride % p.size * stride;
  }
  std::vector<uint32_t> result{base};
  for (const AxisPart &p : parts) {
    uint32_t stride = strides_[p.axis] * (sizes_[p.axis] / (p.preSize * p.size));
    std::vector<uint32_t> next;
    next.reserve(result.size() * p.size);
    for (uint32_t member : result)
      for (uint32_t i = 0; i < p.size; ++i)
        next.push_back(member + i * stride);
    result = std::move(next);
  }
  return result;
}

std::string Mesh::toString(const AxisPart &part) const {
  std::string text = absl::StrCat("\"", names_[part.axis], "\"");
  if (part.preSize != 1 || part.size != sizes_[part.axis])
    absl::StrAppend(&text, ":(", part.preSize, ")", part.size);
  return text;
}

uint64_t shardCount(std::span<const AxisPart> parts) {
  uint64_t n = 1;
  for (const AxisPart &p : parts)
    n *= p.size;
  return n;
}

} // namespace cleave::rt
