// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random programs over several devices and streams, with exactly the waits that their memory needs:
// every schedule must leave the bits that running the lists one after the other leaves. A failure
// prints its seed; CLEAVE_TEST_SEED=N replays it, and CLEAVE_TEST_COUNT=N runs more.

#include "core/drivers.h"
#include "hal/check_program.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

namespace cleave::rt {
namespace {

using hal::CollectiveCommand;
using hal::Command;
using hal::CopyCommand;
using hal::FillCommand;
using hal::ProgramDesc;
using hal::Slice;

constexpr uint64_t kSlots = 12, kSlotBytes = 256, kBytes = kSlots * kSlotBytes;

Slice slot(uint64_t i) { return {hal::Region::Scratch, i * kSlotBytes, kSlotBytes}; }

/// One instruction list for all devices, as executables have it.
ProgramDesc randomProgram(std::mt19937_64 &random, uint32_t devices) {
  auto pick = [&](uint64_t n) { return random() % n; };
  ProgramDesc desc;
  desc.devices.resize(devices);
  desc.regionBytes[size_t(hal::Region::Scratch)] = kBytes;
  // Groups: all devices, pairs of neighbours, and every second.
  std::vector<std::vector<hal::Group>> partitions(3);
  partitions[0].emplace_back();
  partitions[1].resize(devices / 2);
  partitions[2].resize(2);
  for (uint32_t d = 0; d < devices; ++d) {
    partitions[0][0].push_back(d);
    partitions[1][d / 2].push_back(d);
    partitions[2][d % 2].push_back(d);
  }
  std::vector<uint32_t> firstGroup;
  for (const auto &partition : partitions) {
    firstGroup.push_back(uint32_t(desc.groups.size()));
    desc.groups.insert(desc.groups.end(), partition.begin(), partition.end());
  }

  size_t length = 10 + pick(60);
  for (uint32_t i = 0; i < length; ++i) {
    uint8_t stream = uint8_t(pick(3));
    uint64_t kind = pick(8), a = pick(kSlots), b = (a + 1 + pick(kSlots - 1)) % kSlots,
             grouped = pick(kSlots);
    double value = double(pick(100));
    uint64_t which = pick(partitions.size());
    desc.labels.push_back(absl::StrCat("step ", i));
    for (uint32_t d = 0; d < devices; ++d) {
      Command command;
      command.stream = stream;
      command.label = i;
      if (kind < 2) {
        command.operation = FillCommand{slot(a), DType::I64, value + d};
      } else if (kind < 5) {
        command.operation = CopyCommand{slot(a), slot(b)};
      } else {
        CollectiveCommand c;
        c.kind = kind == 5   ? fb::CollectiveKind::AllReduce
                 : kind == 6 ? fb::CollectiveKind::AllToAll
                             : fb::CollectiveKind::Permute;
        c.dtype = DType::I64;
        c.tag = i;
        const auto &partition = partitions[which];
        for (uint32_t g = 0; g < partition.size(); ++g)
          for (uint32_t r = 0; r < partition[g].size(); ++r)
            if (partition[g][r] == d) {
              c.group = firstGroup[which] + g;
              c.rank = r;
              uint32_t n = uint32_t(partition[g].size());
              c.peer = (r + 1) % n;
              c.source = (r + n - 1) % n;
            }
        hal::CollectivePart &part = c.parts[0];
        part.src = slot(a);
        part.dst = slot(b);
        part.inner = kSlotBytes / 8;
        if (c.kind == fb::CollectiveKind::AllToAll) { // [block, dim2] -> [dim, block2]
          uint64_t n = desc.groups[c.group].size();
          part.inner = kSlotBytes / 8 / n;
          c.middle = 1;
          part.dim = n;
          part.block = 1;
          c.dim2 = n;
          c.block2 = 1;
          c.gatherOuter = true;
          part.src.bytes = part.dst.bytes = part.inner * n * 8;
        }
        if (c.kind == fb::CollectiveKind::AllReduce && grouped != a && grouped != b) {
          c.parts.push_back(part);
          c.parts.back().dst = slot(grouped);
        }
        command.operation = c;
      }
      desc.devices[d].push_back(std::move(command));
    }
  }
  // Wait for whatever on another stream touches the same memory, where one writes.
  for (auto &commands : desc.devices) {
    for (uint32_t i = 0; i < commands.size(); ++i)
      for (uint32_t j = 0; j < i; ++j) {
        if (commands[i].stream == commands[j].stream)
          continue;
        bool conflict = false;
        for (const hal::MemoryUse &x : hal::memoryUses(commands[i].operation, {}))
          for (const hal::MemoryUse &y : hal::memoryUses(commands[j].operation, {}))
            conflict |= (x.access != hal::Access::Read || y.access != hal::Access::Read) &&
                        hal::overlap(x.slice, y.slice);
        if (conflict)
          commands[i].waits.push_back(j);
      }
  }
  return desc;
}

/// All on one stream: the order of the lists.
ProgramDesc inOrder(ProgramDesc desc) {
  for (auto &commands : desc.devices)
    for (Command &command : commands) {
      command.stream = 0;
      command.waits.clear();
    }
  return desc;
}

std::vector<uint8_t> runProgram(const ProgramDesc &desc, uint32_t threads, uint64_t seed) {
  hal::DriverOptions options;
  options.numDevices = uint32_t(desc.devices.size());
  options.threads = threads;
  options.interleavingSeed = seed;
  auto driver = createDriver("host", options);
  EXPECT_TRUE(driver.ok());
  std::vector<std::unique_ptr<hal::Buffer>> buffers;
  hal::Bindings bindings(desc.devices.size());
  for (uint32_t d = 0; d < desc.devices.size(); ++d) {
    buffers.push_back(*(*driver)->allocate(d, kBytes));
    EXPECT_EQ((*driver)->set(*buffers.back(), 0, kBytes, uint8_t(d)), absl::OkStatus());
    bindings[d][size_t(hal::Region::Scratch)] = buffers.back().get();
  }
  auto program = (*driver)->prepare(desc, nullptr);
  EXPECT_TRUE(program.ok()) << program.status().message();
  std::vector<uint8_t> result;
  if (!program.ok())
    return result;
  EXPECT_EQ((*program)->run(bindings), absl::OkStatus());
  result.resize(desc.devices.size() * kBytes);
  for (size_t d = 0; d < buffers.size(); ++d)
    EXPECT_EQ((*driver)->download(*buffers[d], 0, std::span(result).subspan(d * kBytes, kBytes)),
              absl::OkStatus());
  return result;
}

TEST(RandomProgram, EveryScheduleLeavesTheSameBits) {
  uint64_t first = 1, count = 150;
  if (const char *seed = std::getenv("CLEAVE_TEST_SEED")) {
    first = std::strtoull(seed, nullptr, 10);
    count = 1;
  }
  if (const char *text = std::getenv("CLEAVE_TEST_COUNT"))
    count = std::strtoull(text, nullptr, 10);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(absl::StrCat("replay with CLEAVE_TEST_SEED=", seed));
    std::mt19937_64 random(seed);
    uint32_t devices = uint32_t(2 * (1 + random() % 4));
    ProgramDesc desc = randomProgram(random, devices);
    std::vector<uint8_t> expected = runProgram(inOrder(desc), 1, 0);
    for (uint32_t threads : {1, 2, 7})
      ASSERT_EQ(runProgram(desc, threads, 0), expected) << threads << " threads";
    for (uint64_t order = 1; order <= 5; ++order)
      ASSERT_EQ(runProgram(desc, 0, order), expected) << "interleaving " << order;
    // And the null driver finds no race in it.
    hal::DriverOptions options;
    options.numDevices = devices;
    auto null = createDriver("null", options);
    ASSERT_TRUE(null.ok());
    hal::Status status = (*null)->prepare(desc, nullptr).status();
    // Scratch that the program reads before it writes it is all that may be said against it.
    if (!status.ok())
      EXPECT_NE(status.message().find("never written"), absl::string_view::npos) << status;
  }
}

} // namespace
} // namespace cleave::rt
