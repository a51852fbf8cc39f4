// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The conformance suite: what every driver must do. Each test runs for each driver; a driver that
// can not take part in a group of tests is listed with the reason, and its tests are skipped.
#ifndef CLEAVE_RUNTIME_CTS_CONFORMANCE_H
#define CLEAVE_RUNTIME_CTS_CONFORMANCE_H

#include "core/drivers.h"
#include "hal/hal.h"
#include <gtest/gtest.h>

namespace cleave::cts {

/// A driver and how it is started.
struct Configuration {
  const char *name;
  const char *driver;
  uint32_t threads;
  uint64_t interleavingSeed;
};
void PrintTo(const Configuration &c, std::ostream *out);
std::vector<Configuration> configurations();

/// Why a driver does not run a group of tests; empty if it does.
std::string exclusion(absl::string_view driver, absl::string_view group);

/// Numbers of any type as doubles, and their bytes.
std::vector<uint8_t> encode(rt::DType type, const std::vector<double> &values);
std::vector<double> decode(rt::DType type, std::span<const uint8_t> bytes);
/// Small whole numbers, exact in every type, from a seed.
std::vector<double> smallNumbers(size_t count, uint64_t seed, int64_t low = -8, int64_t high = 8);
/// Numbers in [-1, 1), exact in f32.
std::vector<double> fractions(size_t count, uint64_t seed);

inline std::string nameOf(const testing::TestParamInfo<Configuration> &info) {
  return info.param.name;
}

class Conformance : public testing::TestWithParam<Configuration> {
protected:
  /// Starts the driver; skips the test if the driver is excluded from its group.
  void start(uint32_t devices, absl::string_view group);
  void TearDown() override;

  /// A buffer on a device that lives until the end of the test.
  hal::Buffer *buffer(uint32_t device, uint64_t bytes);
  /// One scratch buffer a device of `bytes`, filled with `poison` bytes.
  void scratch(uint64_t bytes, uint8_t poison = 0xff);
  hal::Slice slice(uint64_t offset, uint64_t bytes) const {
    return {hal::Region::Scratch, offset, bytes};
  }
  void write(uint32_t device, uint64_t offset, const std::vector<uint8_t> &bytes);
  std::vector<uint8_t> read(uint32_t device, uint64_t offset, uint64_t bytes);

  /// Appends a command to a device's list.
  uint32_t add(uint32_t device, hal::Operation operation, uint8_t stream = 0,
               std::vector<uint32_t> waits = {});
  /// Prepares and runs what was added on the scratch buffers.
  hal::Status run(hal::Module *module = nullptr);
  hal::Status prepare(hal::Module *module = nullptr);

  std::unique_ptr<hal::Driver> driver_;
  hal::ProgramDesc desc_;
  std::unique_ptr<hal::Program> program_;
  hal::Bindings bindings_;
  std::vector<std::unique_ptr<hal::Buffer>> buffers_;
};

#define CLEAVE_CTS_START(devices, group)                                                           \
  start(devices, group);                                                                           \
  if (IsSkipped() || HasFatalFailure())                                                            \
  return

} // namespace cleave::cts

#endif // CLEAVE_RUNTIME_CTS_CONFORMANCE_H
