// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Conformance.h"

#include <cstring>
#include <random>

namespace cleave::cts {
namespace {

struct Exclusion {
  const char *driver, *group, *reason;
};
constexpr Exclusion kExclusions[] = {
    {"null", "results", "it does not compute"},
    {"null", "memory content", "its buffers have no memory"},
    {"host", "static checks", "it runs programs without looking for races or leaks"},
};

} // namespace

void PrintTo(const Configuration &c, std::ostream *out) { *out << c.name; }

std::vector<Configuration> configurations() {
  return {{"host_1_thread", "host", 1, 0},
          {"host_3_threads", "host", 3, 0},
          {"host_interleaved", "host", 0, 12345},
          {"null", "null", 0, 0}};
}

std::string exclusion(absl::string_view driver, absl::string_view group) {
  for (const Exclusion &e : kExclusions)
    if (driver == e.driver && group == e.group)
      return absl::StrCat("driver ", driver, " is excluded from '", group, "': ", e.reason);
  return "";
}

std::vector<uint8_t> encode(rt::DType type, const std::vector<double> &values) {
  std::vector<uint8_t> bytes(values.size() * rt::sizeOf(type));
  for (size_t i = 0; i < values.size(); ++i) {
    uint8_t *at = bytes.data() + i * rt::sizeOf(type);
    if (rt::isFloat(type)) {
      rt::convertElements(rt::DType::F64, &values[i], type, at, 1);
    } else {
      int64_t x = int64_t(values[i]);
      std::memcpy(at, &x, rt::sizeOf(type));
    }
  }
  return bytes;
}

std::vector<double> decode(rt::DType type, std::span<const uint8_t> bytes) {
  std::vector<double> values(bytes.size() / rt::sizeOf(type));
  for (size_t i = 0; i < values.size(); ++i) {
    const uint8_t *at = bytes.data() + i * rt::sizeOf(type);
    if (rt::isFloat(type)) {
      rt::convertElements(type, at, rt::DType::F64, &values[i], 1);
      continue;
    }
    bool isSigned = type >= rt::DType::I64 && type <= rt::DType::I8;
    int64_t x = 0;
    std::memcpy(&x, at, rt::sizeOf(type));
    int shift = 64 - 8 * int(rt::sizeOf(type));
    values[i] = isSigned ? double(int64_t(uint64_t(x) << shift) >> shift) : double(uint64_t(x));
  }
  return values;
}

std::vector<double> smallNumbers(size_t count, uint64_t seed, int64_t low, int64_t high) {
  std::mt19937_64 generator(seed);
  std::vector<double> values(count);
  for (double &x : values)
    x = double(low + int64_t(generator() % uint64_t(high - low + 1)));
  return values;
}

std::vector<double> fractions(size_t count, uint64_t seed) {
  std::vector<double> values = smallNumbers(count, seed, -(1 << 23), (1 << 23) - 1);
  for (double &x : values)
    x *= 0x1p-23;
  return values;
}

void Conformance::start(uint32_t devices, absl::string_view group) {
  if (std::string reason = exclusion(GetParam().driver, group); !reason.empty())
    GTEST_SKIP() << reason;
  hal::DriverOptions options;
  options.numDevices = devices;
  options.threads = GetParam().threads;
  options.interleavingSeed = GetParam().interleavingSeed;
  auto driver = rt::createDriver(GetParam().driver, options);
  ASSERT_TRUE(driver.ok()) << driver.status().message();
  driver_ = *std::move(driver);
  desc_.devices.resize(devices);
  bindings_.resize(devices);
}

void Conformance::TearDown() {
  program_.reset();
  buffers_.clear();
  if (driver_)
    EXPECT_EQ(driver_->close(), absl::OkStatus());
}

hal::Buffer *Conformance::buffer(uint32_t device, uint64_t bytes) {
  auto result = driver_->allocate(device, bytes);
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (!result.ok())
    return nullptr;
  buffers_.push_back(*std::move(result));
  return buffers_.back().get();
}

void Conformance::scratch(uint64_t bytes, uint8_t poison) {
  desc_.regionBytes[size_t(hal::Region::Scratch)] = bytes;
  for (uint32_t d = 0; d < desc_.devices.size(); ++d) {
    hal::Buffer *b = buffer(d, bytes);
    ASSERT_NE(b, nullptr);
    ASSERT_EQ(driver_->set(*b, 0, bytes, poison), absl::OkStatus());
    bindings_[d][size_t(hal::Region::Scratch)] = b;
  }
}

void Conformance::write(uint32_t device, uint64_t offset, const std::vector<uint8_t> &bytes) {
  ASSERT_EQ(driver_->upload(*bindings_[device][size_t(hal::Region::Scratch)], offset, bytes),
            absl::OkStatus());
}

std::vector<uint8_t> Conformance::read(uint32_t device, uint64_t offset, uint64_t bytes) {
  std::vector<uint8_t> result(bytes);
  EXPECT_EQ(driver_->download(*bindings_[device][size_t(hal::Region::Scratch)], offset, result),
            absl::OkStatus());
  return result;
}

uint32_t Conformance::add(uint32_t device, hal::Operation operation, uint8_t stream,
                          std::vector<uint32_t> waits) {
  hal::Command command;
  command.operation = std::move(operation);
  command.stream = stream;
  command.waits = std::move(waits);
  command.label = uint32_t(desc_.labels.size());
  desc_.labels.push_back(absl::StrCat("test step ", desc_.devices[device].size()));
  desc_.devices[device].push_back(std::move(command));
  return uint32_t(desc_.devices[device].size() - 1);
}

hal::Status Conformance::prepare(hal::Module *module) {
  auto program = driver_->prepare(desc_, module);
  if (!program.ok())
    return program.status();
  program_ = *std::move(program);
  return absl::OkStatus();
}

hal::Status Conformance::run(hal::Module *module) {
  CLEAVE_RETURN_IF_ERROR(prepare(module));
  return program_->run(bindings_);
}

} // namespace cleave::cts
