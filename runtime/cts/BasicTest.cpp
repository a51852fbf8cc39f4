// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Buffers, bounds, order of streams, kernels, and what is refused.

#include "Conformance.h"
#include <cmath>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>

namespace cleave::cts {
namespace {

using hal::CollectiveCommand;
using hal::CopyCommand;
using hal::FillCommand;
using hal::GemmCommand;
using rt::DType;
using testing::HasSubstr;

class Basic : public Conformance {};
INSTANTIATE_TEST_SUITE_P(Cts, Basic, testing::ValuesIn(configurations()), nameOf);

TEST_P(Basic, Bounds) {
  CLEAVE_CTS_START(2, "");
  hal::Buffer *b = buffer(1, 100);
  EXPECT_EQ(b->device(), 1u);
  EXPECT_EQ(b->bytes(), 100u);
  std::vector<uint8_t> data(60);
  EXPECT_EQ(driver_->upload(*b, 40, data), absl::OkStatus());
  EXPECT_FALSE(driver_->upload(*b, 41, data).ok());
  EXPECT_FALSE(driver_->upload(*b, ~uint64_t(0), data).ok());
  EXPECT_FALSE(driver_->download(*b, 41, data).ok());
  EXPECT_FALSE(driver_->set(*b, 0, 101, 1).ok());
  EXPECT_FALSE(driver_->allocate(2, 1).ok());
  EXPECT_TRUE(driver_->allocate(0, 0).ok());
}

TEST_P(Basic, Content) {
  CLEAVE_CTS_START(1, "memory content");
  scratch(64, 7);
  write(0, 8, {1, 2, 3});
  EXPECT_THAT(read(0, 6, 6), testing::ElementsAre(7, 7, 1, 2, 3, 7));
}

TEST_P(Basic, FillAndCopy) {
  CLEAVE_CTS_START(2, "results");
  scratch(1024);
  struct Case {
    DType type;
    double value, expected;
  };
  const Case cases[] = {{DType::F32, 1.5, 1.5},     {DType::F64, -2.25, -2.25},
                        {DType::BF16, 3, 3},        {DType::F16, 0.5, 0.5},
                        {DType::I64, -7, -7},       {DType::I32, -100, -100},
                        {DType::U8, 200, 200},      {DType::I8, -3, -3},
                        {DType::U16, 65535, 65535}, {DType::I1, 1, 1}};
  for (const Case &c : cases) {
    desc_.devices.assign(2, {});
    uint64_t bytes = 25 * rt::sizeOf(c.type);
    for (uint32_t d = 0; d < 2; ++d) {
      uint32_t fill = add(d, FillCommand{slice(0, bytes), c.type, c.value}, 0);
      add(d, CopyCommand{slice(0, bytes), slice(512, bytes)}, 1, {fill});
    }
    ASSERT_EQ(run(), absl::OkStatus());
    for (uint32_t d = 0; d < 2; ++d)
      EXPECT_EQ(decode(c.type, read(d, 512, bytes)), std::vector<double>(25, c.expected));
  }
}

TEST_P(Basic, StreamsRunInOrderAndWaitsOrderThem) {
  CLEAVE_CTS_START(1, "results");
  scratch(256);
  // A chain that goes back and forth between two streams, each step copying what the last wrote.
  uint32_t last = add(0, FillCommand{slice(0, 64), DType::I32, 1}, 0);
  for (int i = 0; i < 10; ++i) {
    uint8_t stream = uint8_t((i + 1) % 2);
    uint64_t from = uint64_t(i % 2) * 64, to = 64 - from;
    last = add(0, CopyCommand{slice(from, 64), slice(to, 64)}, stream, {last});
    last = add(0, FillCommand{slice(from, 64), DType::I32, double(i)}, stream);
  }
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(decode(DType::I32, read(0, 0, 64)), std::vector<double>(16, 1.0));
  EXPECT_EQ(decode(DType::I32, read(0, 64, 64)), std::vector<double>(16, 9.0));
}

TEST_P(Basic, RunsAgainAndOnOtherBuffers) {
  CLEAVE_CTS_START(1, "results");
  scratch(128);
  add(0, CopyCommand{slice(0, 64), slice(64, 64)});
  ASSERT_EQ(prepare(), absl::OkStatus());
  for (uint8_t i = 1; i < 4; ++i) {
    if (i == 3) { // other memory
      hal::Buffer *other = buffer(0, 128);
      bindings_[0][size_t(hal::Region::Scratch)] = other;
    }
    write(0, 0, std::vector<uint8_t>(64, i));
    ASSERT_EQ(program_->run(bindings_), absl::OkStatus());
    EXPECT_EQ(read(0, 64, 64), std::vector<uint8_t>(64, i));
  }
}

TEST_P(Basic, RefusesBadPrograms) {
  CLEAVE_CTS_START(2, "");
  scratch(128);
  auto refused = [&](const char *part) {
    hal::Status status = prepare();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
    desc_.devices.assign(2, {});
  };
  add(1, CopyCommand{slice(0, 64), slice(65, 64)});
  refused("device 1 command 0 (test step 0): bytes 65 to 129 leave the Scratch region of 128");
  add(0, CopyCommand{slice(0, 8), {hal::Region::State, 0, 8}});
  refused("leave the State region of 0");
  add(0, FillCommand{slice(0, 8), DType::F32, 0}, 0, {0});
  refused("waits for command 0, which is not an earlier one");
  hal::LaunchCommand launch;
  add(0, launch);
  refused("kernel 0 of 0");
  CollectiveCommand c;
  add(0, c);
  refused("group 0 of 0");
  desc_.groups = {{1}};
  add(0, c);
  refused("rank 0 of group 0 is not this device");
  desc_.groups = {{0}};
  c.parts.clear();
  add(0, c);
  refused("0 parts of a collective that needs at least one");
  c.kind = fb::CollectiveKind::Permute;
  c.parts.resize(2);
  add(0, c);
  refused("2 parts of a collective that has one");
  desc_.groups = {{0, 5}};
  add(0, c);
  refused("a group names device 5 of 2");
  desc_.groups.clear();
  desc_.devices.resize(3);
  refused("a program for 3 devices");
}

TEST_P(Basic, RefusesBadBindings) {
  CLEAVE_CTS_START(2, "");
  scratch(128);
  ASSERT_EQ(prepare(), absl::OkStatus());
  ASSERT_EQ(program_->run(bindings_), absl::OkStatus());
  auto refused = [&](hal::Buffer *b, const char *part) {
    hal::Bindings bindings = bindings_;
    bindings[1][size_t(hal::Region::Scratch)] = b;
    EXPECT_THAT(std::string(program_->run(bindings).message()), HasSubstr(part));
  };
  refused(nullptr, "device 1 region Scratch needs 128 bytes and has no buffer");
  refused(buffer(0, 128), "a buffer of device 0");
  refused(buffer(1, 127), "a buffer of 127 bytes");
  EXPECT_FALSE(program_->run(hal::Bindings(1)).ok());
}

TEST_P(Basic, SaysWhereItIsStuck) {
  CLEAVE_CTS_START(4, "");
  scratch(64);
  desc_.groups = {{0, 1, 2, 3}};
  for (uint32_t d : {0, 2, 3}) {
    add(d, FillCommand{slice(0, 64), DType::F32, 1});
    CollectiveCommand c;
    c.rank = d;
    c.parts[0].src = c.parts[0].dst = slice(0, 64);
    c.parts[0].inner = 16;
    add(d, c);
  }
  ASSERT_EQ(prepare(), absl::OkStatus());
  hal::Status status = program_->run(bindings_);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("(test step 1)"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("devices 0, 2, 3 arrived, devices 1 did not"));
}

TEST_P(Basic, SaysWhenTwoWaitForEachOther) {
  CLEAVE_CTS_START(2, "");
  scratch(128);
  desc_.groups = {{0, 1}};
  for (uint32_t d = 0; d < 2; ++d) {
    add(d, FillCommand{slice(0, 128), DType::F32, 1});
    for (uint64_t tag : {d, 1 - d}) { // in different orders
      CollectiveCommand c;
      c.rank = d;
      c.tag = tag;
      c.parts[0].src = c.parts[0].dst = slice(64 * tag, 64);
      c.parts[0].inner = 16;
      add(d, c);
    }
  }
  ASSERT_EQ(prepare(), absl::OkStatus());
  hal::Status status = program_->run(bindings_);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("arrived"));
}

TEST_P(Basic, Launch) {
  CLEAVE_CTS_START(2, "");
  std::ifstream in(CLEAVE_CTS_KERNELS, std::ios::binary);
  std::vector<uint8_t> object{std::istreambuf_iterator<char>(in), {}};
  std::vector<hal::KernelImage> images{{"x86-64-v3", object}};
  std::vector<hal::KernelDecl> decls{
      {"cts_scale", {64, 64}, {hal::Access::Read, hal::Access::Write}, 2}};
  auto module = driver_->loadModule(images, decls);
  ASSERT_TRUE(module.ok()) << module.status().message();
  scratch(128);
  for (uint32_t d = 0; d < 2; ++d) {
    add(d, FillCommand{slice(0, 64), DType::F32, 3});
    hal::LaunchCommand launch;
    launch.buffers = {slice(0, 64), slice(64, 64)};
    launch.scalars = {16, int64_t(d) + 10};
    add(d, launch);
  }
  ASSERT_EQ(run(module->get()), absl::OkStatus());
  if (driver_->computes())
    for (uint32_t d = 0; d < 2; ++d)
      EXPECT_EQ(decode(DType::F32, read(d, 64, 64)), std::vector<double>(16, 3.0 * (d + 10)));
  program_.reset();
  std::get<hal::LaunchCommand>(desc_.devices[0][1].operation).buffers[1].bytes = 60;
  EXPECT_THAT(std::string(prepare(module->get()).message()), HasSubstr("the kernel touches 64"));
}

TEST_P(Basic, ModulesThatDoNotFit) {
  CLEAVE_CTS_START(1, "results");
  std::ifstream in(CLEAVE_CTS_KERNELS, std::ios::binary);
  std::vector<uint8_t> object{std::istreambuf_iterator<char>(in), {}}, garbage(1000, 1);
  std::vector<hal::KernelDecl> decls{{"cts_scale", {}, {}, 0}}, missing{{"memcpy", {}, {}, 0}};
  auto message = [&](const hal::KernelImage &image, const std::vector<hal::KernelDecl> &kernels) {
    return std::string(driver_->loadModule({&image, 1}, kernels).status().message());
  };
  EXPECT_THAT(message({"native:z80", object}, decls),
              HasSubstr("the executable has kernels for native:z80, and this machine is"));
  EXPECT_THAT(message({"x86-64-v3", garbage}, decls), HasSubstr("can not be loaded"));
  EXPECT_THAT(message({"x86-64-v3", object}, missing), HasSubstr("there is no kernel 'memcpy'"));
}

TEST_P(Basic, FindsRaces) {
  CLEAVE_CTS_START(1, "static checks");
  scratch(256);
  add(0, FillCommand{slice(0, 64), DType::F32, 1}, 0);
  add(0, FillCommand{slice(60, 64), DType::F32, 2}, 1);
  EXPECT_THAT(std::string(prepare().message()),
              HasSubstr("race: device 0 command 1 (test step 1) and device 0 command 0 (test step "
                        "0) both touch Scratch bytes 0 to 64"));
  desc_.devices[0][1].waits = {0};
  EXPECT_EQ(prepare(), absl::OkStatus());
  // A chain over a third stream orders two others.
  desc_.devices[0].clear();
  uint32_t a = add(0, FillCommand{slice(0, 64), DType::F32, 1}, 0);
  uint32_t b = add(0, FillCommand{slice(128, 64), DType::F32, 1}, 2, {a});
  add(0, CopyCommand{slice(0, 64), slice(64, 64)}, 1, {b});
  EXPECT_EQ(prepare(), absl::OkStatus());
  // Every part of a collective counts.
  CollectiveCommand c;
  c.parts.resize(2);
  c.parts[0].src = c.parts[0].dst = slice(192, 16);
  c.parts[1].src = c.parts[1].dst = slice(64, 16);
  c.parts[0].inner = c.parts[1].inner = 4;
  desc_.groups = {{0}};
  add(0, c, 3, {b});
  EXPECT_THAT(std::string(prepare().message()),
              HasSubstr("race: device 0 command 3 (test step 3) and device 0 command 2 (test step "
                        "2) both touch Scratch bytes 64 to 128"));
  desc_.devices[0].pop_back();
  // Two reads do not race.
  add(0, CopyCommand{slice(0, 64), slice(192, 64)}, 0);
  EXPECT_EQ(prepare(), absl::OkStatus());
}

TEST_P(Basic, FindsReadsOfNothing) {
  CLEAVE_CTS_START(1, "static checks");
  scratch(256);
  add(0, FillCommand{slice(0, 64), DType::F32, 1}, 0);
  add(0, FillCommand{slice(64, 32), DType::F32, 1}, 0);
  add(0, CopyCommand{slice(0, 96), slice(128, 96)}, 0);
  EXPECT_EQ(prepare(), absl::OkStatus());
  add(0, CopyCommand{slice(0, 100), slice(128, 100)}, 0);
  EXPECT_THAT(std::string(prepare().message()),
              HasSubstr("reads Scratch bytes 0 to 100, of which some were never written"));
}

TEST_P(Basic, FindsLeaks) {
  CLEAVE_CTS_START(1, "static checks");
  buffer(0, 100);
  EXPECT_THAT(std::string(driver_->close().message()),
              HasSubstr("still alive: 1 buffers of 100 bytes, 0 programs, 0 modules"));
  scratch(64);
  ASSERT_EQ(prepare(), absl::OkStatus());
  buffers_.clear();
  EXPECT_THAT(std::string(program_->run(bindings_).message()),
              HasSubstr("runs on a buffer that was freed"));
}

} // namespace
} // namespace cleave::cts
