// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An executable in use: a driver, the state of every device, and the entries prepared so far.
#ifndef CLEAVE_RUNTIME_CORE_SESSION_H
#define CLEAVE_RUNTIME_CORE_SESSION_H

#include "core/executable.h"
#include "hal/hal.h"
#include <map>
#include <mutex>

namespace cleave::rt {

class Checkpoint;

struct SessionOptions {
  std::string driver = "host";
  uint32_t threads = 0;
  uint64_t interleavingSeed = 0;
  /// Padding of inputs and states, and before each run scratch and outputs, hold NaN (integers: a
  /// large value) instead of zeros or what was there: a program that looks at them shows it.
  bool poison = false;
  hal::Allocator allocator;
  bool profile = false; ///< time every instruction; see Session::profileJson
};

/// Memory of the caller: a global array.
struct HostArray {
  DType dtype = DType::F32;
  std::vector<uint64_t> shape;
  std::vector<int64_t> strides; ///< in bytes; empty: row-major
  const void *data = nullptr;
};

enum class TensorKind { Input, Output, State };

/// All functions may be called from any thread; they take turns.
class Session {
public:
  static StatusOr<std::unique_ptr<Session>> create(std::shared_ptr<const Executable> executable,
                                                   const SessionOptions &options);
  ~Session();

  const Executable &executable() const { return *executable_; }

  /// Reads every state that has a checkpoint name, each device only its shard.
  Status loadWeights(const std::string &folder);
  Status setState(absl::string_view name, const HostArray &array);
  Status setInput(absl::string_view entry, absl::string_view name, const HostArray &array);
  Status run(absl::string_view entry);
  /// The same, looking at what every instruction gives; says as JSON text which gave infinities or
  /// NaNs.
  StatusOr<std::string> runChecked(absl::string_view entry);
  /// Bytes that a device's buffers take now.
  StatusOr<uint64_t> allocatedBytes(uint32_t device);
  /// Assembles the global array, row-major, in the tensor's type. `bytes` must be its size. `entry`
  /// is not looked at for states.
  Status read(TensorKind kind, absl::string_view entry, absl::string_view name,
              std::span<uint8_t> data);
  /// Reads what one device holds, padding included.
  Status readShard(TensorKind kind, absl::string_view entry, absl::string_view name,
                   uint32_t device, std::span<uint8_t> data);
  /// How long each instruction of an entry's last run took, as JSON text.
  StatusOr<std::string> profileJson(absl::string_view entry);
  /// The tensor of a name; an error lists the names there are.
  StatusOr<const TensorInfo *> findTensor(TensorKind kind, absl::string_view entry,
                                          absl::string_view name) const;
  /// Frees everything and reports what the driver finds wrong.
  Status close();

private:
  struct EntryState {
    const EntryInfo *info = nullptr;
    std::unique_ptr<hal::Program> program;
    std::vector<std::unique_ptr<hal::Buffer>> inputs, outputs; ///< of each device
    std::vector<bool> inputSet;
    bool hasRun = false;
    double milliseconds = 0; ///< of the last run
  };
  using Buffers = std::vector<std::unique_ptr<hal::Buffer>>;

  Session(std::shared_ptr<const Executable> executable, const SessionOptions &options)
      : executable_(std::move(executable)), options_(options) {}
  Status initialize();
  StatusOr<const EntryInfo *> findEntry(absl::string_view name) const;
  /// Buffers and program of an entry, made at first use.
  StatusOr<EntryState *> prepare(absl::string_view entry);
  /// Makes `buffers` hold at least `bytes` on every device.
  Status reserve(Buffers &buffers, uint64_t bytes);
  /// Buffers that hold a tensor.
  StatusOr<Buffers *> buffersOf(TensorKind kind, absl::string_view entry);
  /// Gives every input that has a default that number.
  Status setDefaults(EntryState &entry);
  Status scatter(const TensorInfo &tensor, const HostArray &array, Buffers &buffers);
  Status writeShard(const TensorInfo &tensor, uint32_t device, const void *data,
                    const StridedView &view, hal::Buffer &buffer);
  Status checkArray(const TensorInfo &tensor, const HostArray &array, bool convertible) const;
  Status checkTokens(const TensorInfo &tensor, const HostArray &array) const;
  Status checkReady(const EntryState &entry) const;
  /// The entry with all that it needs, and the buffers that are its regions.
  StatusOr<EntryState *> prepareRun(absl::string_view entry, hal::Bindings &bindings);
  Status poisonBuffers(Buffers &buffers);

  std::shared_ptr<const Executable> executable_;
  SessionOptions options_;
  std::mutex mutex_;
  std::unique_ptr<hal::Driver> driver_;
  std::unique_ptr<hal::Module> module_;
  Buffers states_, stash_, scratch_, workspace_; ///< of each device
  std::vector<bool> stateSet_;
  std::map<std::string, EntryState, std::less<>> entries_;
};

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_CORE_SESSION_H
