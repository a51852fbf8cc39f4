// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/null/order_check.h"

#include "absl/strings/str_join.h"
#include <algorithm>
#include <map>
#include <set>

namespace cleave::null {
namespace {

using hal::Access;
using hal::Command;
using hal::MemoryUse;
using hal::ProgramDesc;
using hal::Status;

using DeviceUses = std::vector<std::vector<MemoryUse>>; ///< of each command

DeviceUses usesOf(const std::vector<Command> &commands, std::span<const hal::KernelDecl> kernels) {
  DeviceUses uses;
  for (const Command &command : commands)
    uses.push_back(hal::memoryUses(command.operation, kernels));
  return uses;
}

std::string sliceText(const hal::Slice &s) {
  return absl::StrCat(fb::EnumNameRegion(s.region), " bytes ", s.offset, " to ",
                      s.offset + s.bytes);
}

/// For each stream, the commands on it.
std::map<uint8_t, std::vector<uint32_t>> streamsOf(const std::vector<Command> &commands) {
  std::map<uint8_t, std::vector<uint32_t>> streams;
  for (uint32_t i = 0; i < commands.size(); ++i)
    streams[commands[i].stream].push_back(i);
  return streams;
}

Status checkDeviceRaces(const ProgramDesc &desc, uint32_t device, const DeviceUses &uses) {
  const std::vector<Command> &commands = desc.devices[device];
  // clocks[i][s]: commands of stream s below this index are done before command i starts.
  std::vector<std::map<uint8_t, uint32_t>> clocks(commands.size());
  std::map<uint8_t, uint32_t> last;
  auto streams = streamsOf(commands);
  for (uint32_t i = 0; i < commands.size(); ++i) {
    auto &clock = clocks[i];
    auto follow = [&](uint32_t before) {
      for (auto [stream, bound] : clocks[before])
        clock[stream] = std::max(clock[stream], bound);
      uint32_t &own = clock[commands[before].stream];
      own = std::max(own, before + 1);
    };
    if (auto it = last.find(commands[i].stream); it != last.end())
      follow(it->second);
    for (uint32_t w : commands[i].waits)
      follow(w);
    last[commands[i].stream] = i;

    for (const auto &[stream, indices] : streams) {
      if (stream == commands[i].stream)
        continue;
      auto first = std::lower_bound(indices.begin(), indices.end(), clock[stream]);
      for (auto j = first; j != indices.end() && *j < i; ++j)
        for (const MemoryUse &a : uses[i])
          for (const MemoryUse &b : uses[*j])
            if ((a.access != Access::Read || b.access != Access::Read) &&
                hal::overlap(a.slice, b.slice))
              return absl::FailedPreconditionError(absl::StrCat(
                  "race: ", hal::commandText(desc, device, i), " and ",
                  hal::commandText(desc, device, *j), " both touch ", sliceText(b.slice),
                  ", one writes, and neither waits for the other"));
    }
  }
  return absl::OkStatus();
}

/// Disjoint, merged byte ranges.
class ByteSet {
public:
  void add(uint64_t begin, uint64_t end) {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second >= begin)
      --it;
    while (it != ranges_.end() && it->first <= end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      it = ranges_.erase(it);
    }
    ranges_[begin] = end;
  }
  bool contains(uint64_t begin, uint64_t end) const {
    auto it = ranges_.upper_bound(begin);
    return it != ranges_.begin() && std::prev(it)->second >= end;
  }

private:
  std::map<uint64_t, uint64_t> ranges_;
};

} // namespace

Status checkRaces(const ProgramDesc &desc, std::span<const hal::KernelDecl> kernels) {
  for (uint32_t d = 0; d < desc.devices.size(); ++d)
    CLEAVE_RETURN_IF_ERROR(checkDeviceRaces(desc, d, usesOf(desc.devices[d], kernels)));
  return absl::OkStatus();
}

Status checkReads(const ProgramDesc &desc, std::span<const hal::KernelDecl> kernels) {
  for (uint32_t d = 0; d < desc.devices.size(); ++d) {
    ByteSet written[hal::kNumRegions];
    for (size_t i = 0; i < desc.devices[d].size(); ++i) {
      std::vector<MemoryUse> uses = hal::memoryUses(desc.devices[d][i].operation, kernels);
      for (const MemoryUse &use : uses) {
        const hal::Slice &s = use.slice;
        bool produced = s.region == hal::Region::Scratch || s.region == hal::Region::Output;
        if (produced && use.access != Access::Write && s.bytes &&
            !written[size_t(s.region)].contains(s.offset, s.offset + s.bytes))
          return absl::FailedPreconditionError(absl::StrCat(hal::commandText(desc, d, i), " reads ",
                                                            sliceText(s),
                                                            ", of which some were never written"));
      }
      for (const MemoryUse &use : uses)
        if (use.access != Access::Read && use.slice.bytes)
          written[size_t(use.slice.region)].add(use.slice.offset,
                                                use.slice.offset + use.slice.bytes);
    }
  }
  return absl::OkStatus();
}

Status checkProgress(const ProgramDesc &desc) {
  struct Stream {
    uint32_t device;
    std::vector<uint32_t> commands;
    size_t next = 0;
  };
  std::vector<Stream> streams;
  std::vector<std::vector<bool>> done;
  for (uint32_t d = 0; d < desc.devices.size(); ++d) {
    done.emplace_back(desc.devices[d].size());
    for (auto &[stream, commands] : streamsOf(desc.devices[d]))
      streams.push_back({d, std::move(commands)});
  }
  std::map<std::pair<uint32_t, uint64_t>, std::set<uint32_t>> arrived; // devices at a meeting
  std::set<std::pair<uint32_t, uint64_t>> met;
  for (bool progress = true; progress;) {
    progress = false;
    for (Stream &s : streams) {
      for (; s.next < s.commands.size(); ++s.next) {
        uint32_t index = s.commands[s.next];
        const Command &command = desc.devices[s.device][index];
        if (!std::all_of(command.waits.begin(), command.waits.end(),
                         [&](uint32_t w) { return done[s.device][w]; }))
          break;
        const auto *c = std::get_if<hal::CollectiveCommand>(&command.operation);
        if (c && c->kind != fb::CollectiveKind::AllSlice) {
          std::pair<uint32_t, uint64_t> key{c->group, c->tag};
          auto &devices = arrived[key];
          progress |= devices.insert(s.device).second;
          if (devices.size() == desc.groups[c->group].size())
            met.insert(key);
          if (!met.count(key))
            break;
        }
        done[s.device][index] = true;
        progress = true;
      }
    }
  }
  for (const Stream &s : streams) {
    if (s.next == s.commands.size())
      continue;
    uint32_t index = s.commands[s.next];
    const auto *c = std::get_if<hal::CollectiveCommand>(&desc.devices[s.device][index].operation);
    if (!c)
      continue;
    auto it = arrived.find({c->group, c->tag});
    if (it == arrived.end() || !it->second.count(s.device))
      continue;
    std::set<uint32_t> missing(desc.groups[c->group].begin(), desc.groups[c->group].end());
    for (uint32_t d : it->second)
      missing.erase(d);
    return absl::AbortedError(absl::StrCat("stuck at ", hal::commandText(desc, s.device, index),
                                           ": devices ", absl::StrJoin(it->second, ", "),
                                           " arrived, devices ", absl::StrJoin(missing, ", "),
                                           " did not"));
  }
  return absl::OkStatus();
}

} // namespace cleave::null
