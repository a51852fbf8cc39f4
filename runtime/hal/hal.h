// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The hardware abstraction layer: what a driver gives to the runtime.
//
// A driver drives the devices of one mesh. It allocates buffers on them, loads kernel modules, and
// turns a *program* - one list of commands a device, with streams and waits - into something it can
// run again and again: the host driver schedules it over a pool of workers, a GPU driver replays it
// into streams or captures a graph. A command names memory by (region, offset); which buffer a
// region is, is bound when the program runs. So a program is built once, and microbatches or
// caller-owned arrays are a matter of binding.
//
// Order. Commands of one stream of a device run in list order. A command also starts only after the
// commands it waits for have completed; nothing else orders two streams. A collective starts when
// all participants have reached it, and then completes on all of them.
//
// Every function may be called from any thread. Programs of one driver do not run at the same time:
// a second run waits for the first.
#ifndef CLEAVE_RUNTIME_HAL_HAL_H
#define CLEAVE_RUNTIME_HAL_HAL_H

#include "base/dtype.h"
#include "base/status.h"
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace cleave::hal {

using rt::DType;
using rt::Status;
using rt::StatusOr;
using Region = fb::Region;
inline constexpr size_t kNumRegions = size_t(Region::MAX) + 1;

/// Memory on one device. Freed by its destructor, at the latest before its driver.
class Buffer {
public:
  virtual ~Buffer() = default;
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  uint32_t device() const { return device_; }
  uint64_t bytes() const { return bytes_; }
  /// Where the host may read and write it between runs; null if it can not.
  virtual void *hostPointer() { return nullptr; }

protected:
  Buffer(uint32_t device, uint64_t bytes) : device_(device), bytes_(bytes) {}

private:
  uint32_t device_;
  uint64_t bytes_;
};

/// A part of a region.
struct Slice {
  Region region = Region::Scratch;
  uint64_t offset = 0, bytes = 0;
};

/// Calls kernel `kernel` of the program's module.
struct LaunchCommand {
  uint32_t kernel = 0;
  std::vector<Slice> buffers;
  std::vector<int64_t> scalars;
};
/// c[b,m,n] = sum_k a[b,m,k] b[b,k,n] (+ c). Strides in elements.
struct GemmCommand {
  DType dtypeAB = DType::F32, dtypeC = DType::F32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  Slice a, b, c;
  std::array<int64_t, 3> aStrides{}, bStrides{}, cStrides{};
  bool accumulate = false;
};
/// Weights that attention drops, as schema/executable.fbs defines it.
struct Dropout {
  Slice seed, step;
  uint32_t threshold = 0; ///< 0: nothing is dropped
  uint32_t site = 0;
  double scale = 1;
  uint64_t position = 0;
  uint64_t batchStride = 0, queryStride = 0, headStride = 0, groupStride = 0;
};
/// Attention as schema/executable.fbs defines it.
struct AttentionCommand {
  DType dtype = DType::F32;
  int64_t batch = 0, sq = 0, skv = 0, kvHeads = 0, groups = 0, d = 0, dv = 0;
  Slice q, k, v, out, lse; ///< lse.bytes 0: not wanted
  double scale = 1, softcap = 0;
  bool causal = false;
  int64_t window = -1, queryOffset = 0, validKeys = 0;
  Dropout dropout;
};
/// Its gradients, as schema/executable.fbs defines them.
struct AttentionGradCommand {
  AttentionCommand forward; ///< out is an input here; lse.bytes 0: compute it again
  Slice dout, dq, dk, dv;
};
struct CopyCommand {
  Slice src, dst;
};
struct FillCommand {
  Slice dst;
  DType dtype = DType::F32;
  double value = 0;
};
/// The buffers of one part of a collective, and how they are cut up.
struct CollectivePart {
  Slice src, dst;
  uint64_t outer = 1, dim = 1, block = 1, inner = 1;
};
/// A collective as schema/executable.fbs defines it. Participants meet by (group, tag), once for
/// all parts.
struct CollectiveCommand {
  fb::CollectiveKind kind = fb::CollectiveKind::AllReduce;
  fb::Reduction reduction = fb::Reduction::Sum;
  DType dtype = DType::F32;
  uint32_t group = 0; ///< index into ProgramDesc::groups
  uint32_t rank = 0;  ///< this device's place in the group: its coordinate
  uint64_t tag = 0;
  std::vector<CollectivePart> parts = std::vector<CollectivePart>(1);
  uint64_t middle = 1, dim2 = 1, block2 = 1;
  bool gatherOuter = false;
  /// Permute: ranks in the group, -1 for none.
  int64_t peer = -1, source = -1;
};
using Operation = std::variant<LaunchCommand, GemmCommand, AttentionCommand, CopyCommand,
                               FillCommand, CollectiveCommand, AttentionGradCommand>;

struct Command {
  Operation operation;
  uint8_t stream = 0;
  std::vector<uint32_t> waits; ///< earlier commands of this device
  uint32_t label = 0;          ///< index into ProgramDesc::labels
};

enum class Access : uint8_t { Read = 1, Write = 2, ReadWrite = 3 };
/// What a kernel does to its buffers.
struct KernelDecl {
  std::string symbol;
  std::vector<uint64_t> bufferBytes;
  std::vector<Access> access;
  uint32_t scalars = 0;
  std::vector<DType> dtypes = {}; ///< of the buffers; empty: not known
};
struct KernelImage {
  std::string isa;
  std::span<const uint8_t> object;
};
/// Loaded kernels; must outlive the programs that use it.
class Module {
public:
  virtual ~Module() = default;
};

/// Devices that take part in collectives together, ordered by coordinate.
using Group = std::vector<uint32_t>;
struct ProgramDesc {
  std::vector<std::vector<Command>> devices;
  std::vector<Group> groups;
  std::array<uint64_t, kNumRegions> regionBytes{};
  /// What messages call a command: `gemm of model.layers.0.mlp.up_proj`.
  std::vector<std::string> labels;
};

/// The buffer that stands for each region on each device: [device][region]. A region of 0 bytes may
/// be null.
using Bindings = std::vector<std::array<Buffer *, kNumRegions>>;

/// A command that gave infinities or NaNs on a device.
struct NotFinite {
  uint32_t device = 0, command = 0;
  uint64_t values = 0;
  bool fromFinite = false; ///< it read none
};

/// A program made ready by its driver.
class Program {
public:
  virtual ~Program() = default;
  /// Runs all commands and returns when they are done.
  virtual Status run(const Bindings &bindings) = 0;
  /// Runs all commands one by one and looks for infinities and NaNs in what each gives, padding
  /// included. Slow; the results are those of run().
  virtual StatusOr<std::vector<NotFinite>> runChecked(const Bindings &) {
    return absl::UnimplementedError("the driver can not check results");
  }
  /// Nanoseconds that each command of each device took in the last run, waiting not counted; for a
  /// collective its share of the common work. Empty if the driver was not asked to profile.
  virtual std::vector<std::vector<uint64_t>> timings() const { return {}; }
};

/// Callbacks for the memory of buffers.
struct Allocator {
  void *(*allocate)(void *context, uint64_t bytes, uint64_t alignment) = nullptr;
  void (*release)(void *context, void *memory, uint64_t bytes) = nullptr;
  void *context = nullptr;
};

struct DriverOptions {
  uint32_t numDevices = 1;
  uint32_t threads = 0;          ///< host: workers; 0: one a core
  uint64_t interleavingSeed = 0; ///< host: not 0: one thread runs a random legal order
  Allocator allocator;           ///< host: where buffers live; empty: the driver's own
  bool profile = false;          ///< host: time every command
};

class Driver {
public:
  virtual ~Driver() = default;
  virtual absl::string_view name() const = 0;
  virtual uint32_t numDevices() const = 0;
  /// False if commands are checked and not executed.
  virtual bool computes() const { return true; }

  /// A buffer of unspecified content, aligned to 64 bytes or more.
  virtual StatusOr<std::unique_ptr<Buffer>> allocate(uint32_t device, uint64_t bytes) = 0;
  /// Bytes of all buffers that live on a device now.
  virtual uint64_t allocatedBytes(uint32_t device) const = 0;
  virtual Status upload(Buffer &buffer, uint64_t offset, std::span<const uint8_t> data) = 0;
  virtual Status download(Buffer &buffer, uint64_t offset, std::span<uint8_t> data) = 0;
  /// Sets bytes of a buffer to one value.
  virtual Status set(Buffer &buffer, uint64_t offset, uint64_t bytes, uint8_t value) = 0;

  /// Loads the image that suits the machine.
  virtual StatusOr<std::unique_ptr<Module>> loadModule(std::span<const KernelImage> images,
                                                       std::span<const KernelDecl> kernels) = 0;
  /// Makes a program ready to run. `module` may be null if no command launches a kernel.
  virtual StatusOr<std::unique_ptr<Program>> prepare(ProgramDesc desc, Module *module) = 0;
  /// Reports what is still alive and should not be. Called once, before the destructor.
  virtual Status close() { return absl::OkStatus(); }
};

} // namespace cleave::hal

#endif // CLEAVE_RUNTIME_HAL_HAL_H
