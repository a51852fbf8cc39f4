// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/host/host_driver.h"

#include "drivers/host/cpu.h"
#include "drivers/host/host_buffer.h"
#include "drivers/host/host_program.h"
#include <cstring>
#include <system_error>

namespace cleave::host {
namespace {

constexpr uint32_t kMaxThreads = 4096;

class HostDriver : public hal::Driver {
public:
  explicit HostDriver(const hal::DriverOptions &options)
      : options_(options), live_(options.numDevices) {}

  Status initialize() {
    reduce_ = bestReduce();
    if (!reduce_)
      return absl::FailedPreconditionError(
          "the host driver needs an x86-64-v3 processor (AVX2 and FMA), this one is not");
    uint32_t workers = 1;
    if (options_.interleavingSeed == 0)
      workers = options_.threads ? options_.threads : availableCores();
    if (workers > kMaxThreads)
      return absl::InvalidArgumentError(
          absl::StrCat(workers, " threads, at most ", kMaxThreads, " are allowed"));
    workers_ = std::vector<Worker>(workers);
    if (options_.interleavingSeed != 0)
      return absl::OkStatus();
    try {
      scheduler_ = std::make_unique<Scheduler>(workers, options_.numDevices);
    } catch (const std::system_error &e) {
      return absl::ResourceExhaustedError(
          absl::StrCat("can not start ", workers, " threads: ", e.what()));
    }
    return absl::OkStatus();
  }

  absl::string_view name() const override { return "host"; }
  uint32_t numDevices() const override { return options_.numDevices; }

  hal::StatusOr<std::unique_ptr<hal::Buffer>> allocate(uint32_t device, uint64_t bytes) override {
    if (device >= options_.numDevices)
      return absl::InvalidArgumentError(
          absl::StrCat("device ", device, " of ", options_.numDevices));
    CLEAVE_ASSIGN_OR_RETURN(auto buffer,
                            HostBuffer::allocate(device, bytes, options_.allocator, live_[device]));
    return std::unique_ptr<hal::Buffer>(std::move(buffer));
  }

  uint64_t allocatedBytes(uint32_t device) const override {
    return device < live_.size() ? live_[device].load() : 0;
  }

  Status upload(hal::Buffer &buffer, uint64_t offset, std::span<const uint8_t> data) override {
    CLEAVE_RETURN_IF_ERROR(checkRange(buffer, offset, data.size()));
    if (!data.empty())
      std::memcpy(static_cast<uint8_t *>(buffer.hostPointer()) + offset, data.data(), data.size());
    return absl::OkStatus();
  }
  Status download(hal::Buffer &buffer, uint64_t offset, std::span<uint8_t> data) override {
    CLEAVE_RETURN_IF_ERROR(checkRange(buffer, offset, data.size()));
    if (!data.empty())
      std::memcpy(data.data(), static_cast<uint8_t *>(buffer.hostPointer()) + offset, data.size());
    return absl::OkStatus();
  }
  Status set(hal::Buffer &buffer, uint64_t offset, uint64_t bytes, uint8_t value) override {
    CLEAVE_RETURN_IF_ERROR(checkRange(buffer, offset, bytes));
    if (bytes)
      std::memset(static_cast<uint8_t *>(buffer.hostPointer()) + offset, value, bytes);
    return absl::OkStatus();
  }

  hal::StatusOr<std::unique_ptr<hal::Module>>
  loadModule(std::span<const hal::KernelImage> images,
             std::span<const hal::KernelDecl> kernels) override {
    CLEAVE_ASSIGN_OR_RETURN(auto module, KernelModule::load(images, kernels));
    return std::unique_ptr<hal::Module>(std::move(module));
  }

  hal::StatusOr<std::unique_ptr<hal::Program>> prepare(hal::ProgramDesc desc,
                                                       hal::Module *module) override;

private:
  static Status checkRange(const hal::Buffer &buffer, uint64_t offset, uint64_t bytes) {
    if (offset > buffer.bytes() || bytes > buffer.bytes() - offset)
      return absl::OutOfRangeError(absl::StrCat("bytes ", offset, " to ", offset + bytes,
                                                " of a buffer of ", buffer.bytes()));
    return absl::OkStatus();
  }

  class Prepared;
  hal::DriverOptions options_;
  std::vector<std::atomic<uint64_t>> live_; ///< bytes of each device's buffers
  ReduceFunction reduce_ = nullptr;
  GemmCache gemms_;
  std::vector<Worker> workers_; ///< outlive the scheduler's threads
  std::unique_ptr<Scheduler> scheduler_;
  std::mutex runMutex_; ///< one program runs at a time
};

class HostDriver::Prepared : public hal::Program {
public:
  Prepared(HostDriver &driver, std::unique_ptr<HostProgram> program)
      : driver_(driver), program_(std::move(program)) {}
  Status run(const hal::Bindings &bindings) override {
    std::lock_guard<std::mutex> lock(driver_.runMutex_);
    if (driver_.scheduler_)
      return program_->run(bindings, driver_.scheduler_.get(), 0, driver_.workers_);
    return program_->run(bindings, nullptr, driver_.options_.interleavingSeed, driver_.workers_);
  }

  hal::StatusOr<std::vector<hal::NotFinite>> runChecked(const hal::Bindings &bindings) override {
    std::lock_guard<std::mutex> lock(driver_.runMutex_);
    return program_->runChecked(bindings, driver_.workers_);
  }

  std::vector<std::vector<uint64_t>> timings() const override {
    std::lock_guard<std::mutex> lock(driver_.runMutex_);
    return program_->timings();
  }

private:
  HostDriver &driver_;
  std::unique_ptr<HostProgram> program_;
};

hal::StatusOr<std::unique_ptr<hal::Program>> HostDriver::prepare(hal::ProgramDesc desc,
                                                                 hal::Module *module) {
  if (desc.devices.size() != options_.numDevices)
    return absl::InvalidArgumentError(absl::StrCat(
        "a program for ", desc.devices.size(), " devices, the driver has ", options_.numDevices));
  CLEAVE_ASSIGN_OR_RETURN(
      auto program,
      HostProgram::make(std::move(desc), static_cast<KernelModule *>(module), gemms_, reduce_));
  if (options_.profile)
    program->enableProfile();
  return std::unique_ptr<hal::Program>(std::make_unique<Prepared>(*this, std::move(program)));
}

} // namespace

hal::StatusOr<std::unique_ptr<hal::Driver>> createDriver(const hal::DriverOptions &options) {
  auto driver = std::make_unique<HostDriver>(options);
  CLEAVE_RETURN_IF_ERROR(driver->initialize());
  return std::unique_ptr<hal::Driver>(std::move(driver));
}

} // namespace cleave::host
