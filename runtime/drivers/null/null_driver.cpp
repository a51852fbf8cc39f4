// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/null/null_driver.h"

#include "drivers/null/order_check.h"
#include <algorithm>
#include <mutex>
#include <set>

namespace cleave::null {
namespace {

using hal::Status;
using hal::StatusOr;

/// What is alive. Shared with the objects, so that they may die after the driver.
struct Registry {
  std::mutex mutex;
  std::set<const hal::Buffer *> buffers;
  uint64_t programs = 0, modules = 0;
};

class NullBuffer : public hal::Buffer {
public:
  NullBuffer(uint32_t device, uint64_t bytes, std::shared_ptr<Registry> registry)
      : Buffer(device, bytes), registry_(std::move(registry)) {
    std::lock_guard<std::mutex> lock(registry_->mutex);
    registry_->buffers.insert(this);
  }
  ~NullBuffer() override {
    std::lock_guard<std::mutex> lock(registry_->mutex);
    registry_->buffers.erase(this);
  }

private:
  std::shared_ptr<Registry> registry_;
};

class NullModule : public hal::Module {
public:
  NullModule(std::span<const hal::KernelDecl> decls, std::shared_ptr<Registry> registry)
      : decls(decls.begin(), decls.end()), registry_(std::move(registry)) {
    std::lock_guard<std::mutex> lock(registry_->mutex);
    ++registry_->modules;
  }
  ~NullModule() override {
    std::lock_guard<std::mutex> lock(registry_->mutex);
    --registry_->modules;
  }
  std::vector<hal::KernelDecl> decls;

private:
  std::shared_ptr<Registry> registry_;
};

class NullProgram : public hal::Program {
public:
  NullProgram(hal::ProgramDesc desc, std::shared_ptr<Registry> registry)
      : desc_(std::move(desc)), registry_(std::move(registry)) {
    std::lock_guard<std::mutex> lock(registry_->mutex);
    ++registry_->programs;
  }
  ~NullProgram() override {
    std::lock_guard<std::mutex> lock(registry_->mutex);
    --registry_->programs;
  }
  Status run(const hal::Bindings &bindings) override {
    {
      std::lock_guard<std::mutex> lock(registry_->mutex);
      for (const auto &regions : bindings)
        for (const hal::Buffer *buffer : regions)
          if (buffer && !registry_->buffers.count(buffer))
            return absl::FailedPreconditionError("a program runs on a buffer that was freed");
    }
    CLEAVE_RETURN_IF_ERROR(hal::checkBindings(desc_, bindings));
    return checkProgress(desc_);
  }

private:
  hal::ProgramDesc desc_;
  std::shared_ptr<Registry> registry_;
};

class NullDriver : public hal::Driver {
public:
  explicit NullDriver(const hal::DriverOptions &options) : numDevices_(options.numDevices) {}
  absl::string_view name() const override { return "null"; }
  uint32_t numDevices() const override { return numDevices_; }
  bool computes() const override { return false; }

  StatusOr<std::unique_ptr<hal::Buffer>> allocate(uint32_t device, uint64_t bytes) override {
    if (device >= numDevices_)
      return absl::InvalidArgumentError(absl::StrCat("device ", device, " of ", numDevices_));
    return std::unique_ptr<hal::Buffer>(std::make_unique<NullBuffer>(device, bytes, registry_));
  }
  uint64_t allocatedBytes(uint32_t device) const override {
    std::lock_guard<std::mutex> lock(registry_->mutex);
    uint64_t bytes = 0;
    for (const hal::Buffer *buffer : registry_->buffers)
      bytes += buffer->device() == device ? buffer->bytes() : 0;
    return bytes;
  }
  Status upload(hal::Buffer &buffer, uint64_t offset, std::span<const uint8_t> data) override {
    return checkRange(buffer, offset, data.size());
  }
  Status download(hal::Buffer &buffer, uint64_t offset, std::span<uint8_t> data) override {
    std::fill(data.begin(), data.end(), uint8_t(0));
    return checkRange(buffer, offset, data.size());
  }
  Status set(hal::Buffer &buffer, uint64_t offset, uint64_t bytes, uint8_t) override {
    return checkRange(buffer, offset, bytes);
  }
  StatusOr<std::unique_ptr<hal::Module>>
  loadModule(std::span<const hal::KernelImage>, std::span<const hal::KernelDecl> kernels) override {
    return std::unique_ptr<hal::Module>(std::make_unique<NullModule>(kernels, registry_));
  }
  StatusOr<std::unique_ptr<hal::Program>> prepare(hal::ProgramDesc desc,
                                                  hal::Module *module) override {
    if (desc.devices.size() != numDevices_)
      return absl::InvalidArgumentError(absl::StrCat("a program for ", desc.devices.size(),
                                                     " devices, the driver has ", numDevices_));
    std::span<const hal::KernelDecl> kernels;
    if (module)
      kernels = static_cast<NullModule *>(module)->decls;
    CLEAVE_RETURN_IF_ERROR(hal::checkProgram(desc, kernels));
    CLEAVE_RETURN_IF_ERROR(checkRaces(desc, kernels));
    CLEAVE_RETURN_IF_ERROR(checkReads(desc, kernels));
    return std::unique_ptr<hal::Program>(std::make_unique<NullProgram>(std::move(desc), registry_));
  }
  Status close() override {
    std::lock_guard<std::mutex> lock(registry_->mutex);
    uint64_t bytes = 0;
    for (const hal::Buffer *buffer : registry_->buffers)
      bytes += buffer->bytes();
    if (registry_->buffers.empty() && registry_->programs == 0 && registry_->modules == 0)
      return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("still alive: ", registry_->buffers.size(), " buffers of ", bytes, " bytes, ",
                     registry_->programs, " programs, ", registry_->modules, " modules"));
  }

private:
  static Status checkRange(const hal::Buffer &buffer, uint64_t offset, uint64_t bytes) {
    if (offset > buffer.bytes() || bytes > buffer.bytes() - offset)
      return absl::OutOfRangeError(absl::StrCat("bytes ", offset, " to ", offset + bytes,
                                                " of a buffer of ", buffer.bytes()));
    return absl::OkStatus();
  }
  uint32_t numDevices_;
  std::shared_ptr<Registry> registry_ = std::make_shared<Registry>();
};

} // namespace

StatusOr<std::unique_ptr<hal::Driver>> createDriver(const hal::DriverOptions &options) {
  return std::unique_ptr<hal::Driver>(std::make_unique<NullDriver>(options));
}

} // namespace cleave::null
