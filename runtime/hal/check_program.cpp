// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "hal/check_program.h"

namespace cleave::hal {
namespace {

template <typename... Ts> struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts> Overloaded(Ts...) -> Overloaded<Ts...>;

} // namespace

std::vector<MemoryUse> memoryUses(const Operation &operation, std::span<const KernelDecl> kernels) {
  return std::visit(
      Overloaded{
          [&](const LaunchCommand &c) {
            std::vector<MemoryUse> uses;
            for (size_t i = 0; i < c.buffers.size(); ++i)
              uses.push_back({c.buffers[i], kernels[c.kernel].access[i]});
            return uses;
          },
          [](const GemmCommand &c) {
            return std::vector<MemoryUse>{{c.a, Access::Read},
                                          {c.b, Access::Read},
                                          {c.c, c.accumulate ? Access::ReadWrite : Access::Write}};
          },
          [](const AttentionCommand &c) {
            return std::vector<MemoryUse>{{c.q, Access::Read},
                                          {c.k, Access::Read},
                                          {c.v, Access::Read},
                                          {c.dropout.seed, Access::Read},
                                          {c.dropout.step, Access::Read},
                                          {c.out, Access::Write},
                                          {c.lse, Access::Write}};
          },
          [](const AttentionGradCommand &c) {
            const AttentionCommand &f = c.forward;
            return std::vector<MemoryUse>{{f.q, Access::Read},
                                          {f.k, Access::Read},
                                          {f.v, Access::Read},
                                          {f.out, Access::Read},
                                          {f.lse, Access::Read},
                                          {c.dout, Access::Read},
                                          {f.dropout.seed, Access::Read},
                                          {f.dropout.step, Access::Read},
                                          {c.dq, Access::Write},
                                          {c.dk, Access::Write},
                                          {c.dv, Access::Write}};
          },
          [](const CopyCommand &c) {
            return std::vector<MemoryUse>{{c.src, Access::Read}, {c.dst, Access::Write}};
          },
          [](const FillCommand &c) { return std::vector<MemoryUse>{{c.dst, Access::Write}}; },
          [](const CollectiveCommand &c) {
            std::vector<MemoryUse> uses;
            for (const CollectivePart &part : c.parts) {
              uses.push_back({part.src, Access::Read});
              uses.push_back({part.dst, Access::Write});
            }
            return uses;
          }},
      operation);
}

bool overlap(const Slice &a, const Slice &b) {
  return a.region == b.region && a.bytes && b.bytes && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

std::string commandText(const ProgramDesc &desc, uint32_t device, size_t index) {
  std::string text = absl::StrCat("device ", device, " command ", index);
  uint32_t label = desc.devices[device][index].label;
  if (label < desc.labels.size())
    absl::StrAppend(&text, " (", rt::printable(desc.labels[label]), ")");
  return text;
}

namespace {

Status checkCommand(const ProgramDesc &desc, std::span<const KernelDecl> kernels, uint32_t device,
                    size_t index) {
  const Command &command = desc.devices[device][index];
  for (uint32_t w : command.waits)
    if (w >= index)
      return absl::InvalidArgumentError(
          absl::StrCat("waits for command ", w, ", which is not an earlier one"));
  if (const auto *launch = std::get_if<LaunchCommand>(&command.operation)) {
    if (launch->kernel >= kernels.size())
      return absl::InvalidArgumentError(
          absl::StrCat("kernel ", launch->kernel, " of ", kernels.size()));
    const KernelDecl &decl = kernels[launch->kernel];
    if (launch->buffers.size() != decl.bufferBytes.size() || launch->scalars.size() != decl.scalars)
      return absl::InvalidArgumentError(absl::StrCat(
          launch->buffers.size(), " buffers and ", launch->scalars.size(),
          " scalars for a kernel of ", decl.bufferBytes.size(), " and ", decl.scalars));
    for (size_t i = 0; i < launch->buffers.size(); ++i)
      if (launch->buffers[i].bytes < decl.bufferBytes[i])
        return absl::InvalidArgumentError(
            absl::StrCat("buffer ", i, " has ", launch->buffers[i].bytes,
                         " bytes, the kernel touches ", decl.bufferBytes[i]));
  }
  if (const auto *collective = std::get_if<CollectiveCommand>(&command.operation)) {
    if (collective->group >= desc.groups.size())
      return absl::InvalidArgumentError(
          absl::StrCat("group ", collective->group, " of ", desc.groups.size()));
    const Group &group = desc.groups[collective->group];
    if (collective->rank >= group.size() || group[collective->rank] != device)
      return absl::InvalidArgumentError(absl::StrCat("rank ", collective->rank, " of group ",
                                                     collective->group, " is not this device"));
    bool mayBeGroup = collective->kind == fb::CollectiveKind::AllReduce ||
                      collective->kind == fb::CollectiveKind::AllGather ||
                      collective->kind == fb::CollectiveKind::ReduceScatter;
    if (collective->parts.empty() || (collective->parts.size() > 1 && !mayBeGroup))
      return absl::InvalidArgumentError(
          absl::StrCat(collective->parts.size(), " parts of a collective that ",
                       mayBeGroup ? "needs at least one" : "has one"));
    for (int64_t rank : {collective->peer, collective->source})
      if (rank < -1 || rank >= int64_t(group.size()))
        return absl::InvalidArgumentError(
            absl::StrCat("peer ", rank, " in a group of ", group.size()));
  }
  for (const MemoryUse &use : memoryUses(command.operation, kernels)) {
    const Slice &s = use.slice;
    uint64_t limit = desc.regionBytes[size_t(s.region)];
    if (s.offset > limit || s.bytes > limit - s.offset)
      return absl::OutOfRangeError(absl::StrCat("bytes ", s.offset, " to ", s.offset + s.bytes,
                                                " leave the ", fb::EnumNameRegion(s.region),
                                                " region of ", limit, " bytes"));
  }
  return absl::OkStatus();
}

} // namespace

Status checkProgram(const ProgramDesc &desc, std::span<const KernelDecl> kernels) {
  for (const Group &group : desc.groups)
    for (uint32_t device : group)
      if (device >= desc.devices.size())
        return absl::InvalidArgumentError(
            absl::StrCat("a group names device ", device, " of ", desc.devices.size()));
  for (uint32_t d = 0; d < desc.devices.size(); ++d)
    for (size_t i = 0; i < desc.devices[d].size(); ++i)
      if (Status status = checkCommand(desc, kernels, d, i); !status.ok())
        return rt::annotate(status, commandText(desc, d, i));
  return absl::OkStatus();
}

Status checkBindings(const ProgramDesc &desc, const Bindings &bindings) {
  if (bindings.size() != desc.devices.size())
    return absl::InvalidArgumentError(absl::StrCat("buffers are bound for ", bindings.size(),
                                                   " devices, the program has ",
                                                   desc.devices.size()));
  for (uint32_t d = 0; d < bindings.size(); ++d) {
    for (size_t r = 0; r < kNumRegions; ++r) {
      const Buffer *buffer = bindings[d][r];
      uint64_t needed = desc.regionBytes[r];
      if (needed == 0)
        continue;
      if (!buffer || buffer->device() != d || buffer->bytes() < needed)
        return absl::InvalidArgumentError(absl::StrCat(
            "device ", d, " region ", fb::EnumNameRegion(Region(r)), " needs ", needed,
            " bytes and has ",
            !buffer                 ? std::string("no buffer")
            : buffer->device() != d ? absl::StrCat("a buffer of device ", buffer->device())
                                    : absl::StrCat("a buffer of ", buffer->bytes(), " bytes")));
    }
  }
  return absl::OkStatus();
}

} // namespace cleave::hal
