// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A loaded and verified executable. Immutable; any number of sessions share one.
#ifndef CLEAVE_RUNTIME_CORE_EXECUTABLE_H
#define CLEAVE_RUNTIME_CORE_EXECUTABLE_H

#include "core/container.h"
#include "core/tensor.h"
#include "hal/hal.h"

namespace cleave::rt {

/// Instructions [begin, end) of an entry, run one time after the other.
struct Segment {
  uint32_t begin = 0, end = 0, repetitions = 1;
};

/// One run of an instruction.
struct InstructionRun {
  uint32_t instruction = 0, repetition = 0;
};

/// An entry point: its signature and its instruction list, with axis lists read.
struct EntryInfo {
  const fb::Entry *schema = nullptr;
  std::string name;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<uint32_t> states; ///< indices of the states it uses
  std::vector<std::vector<AxisPart>> axisLists;
  std::vector<Segment> segments; ///< cover all instructions, in order
  /// Bytes of each region on every device.
  uint64_t regionBytes[size_t(fb::Region::MAX) + 1] = {};

  const Segment &segmentOf(uint32_t instruction) const;
  /// What a command of the program is, in which every run of every segment stands.
  InstructionRun runOf(uint32_t command) const;
  /// A device's coordinate along each axis list: what expressions are evaluated over.
  std::vector<uint32_t> coordinates(const Mesh &mesh, uint32_t device) const;
};

struct StateInfo {
  TensorInfo tensor;
  fb::StateKind kind = fb::StateKind::Weight;
  std::string checkpointName;            ///< empty: not loaded, starts as zeros
  std::vector<uint64_t> checkpointShape; ///< as in the checkpoint
};

class Executable {
public:
  static StatusOr<std::shared_ptr<const Executable>> load(const std::string &path);
  static StatusOr<std::shared_ptr<const Executable>> fromMemory(std::span<const uint8_t> file);

  const fb::Executable &schema() const { return *root_; }
  const Mesh &mesh() const { return mesh_; }
  const std::vector<StateInfo> &states() const { return states_; }
  const std::vector<EntryInfo> &entries() const { return entries_; }
  const EntryInfo *findEntry(absl::string_view name) const;
  const StateInfo *findState(absl::string_view name) const;
  /// `entry 'forward' instruction 12 (gemm of model.layers.0.mlp.up_proj)`.
  std::string instructionText(const EntryInfo &entry, size_t index) const;
  /// Name of the model part an instruction comes from; empty if the file does not say.
  std::string siteName(const fb::Instr &instr) const;
  /// Everything `inspect` and `explain` show, as JSON text.
  std::string describeJson() const;
  /// Nanoseconds of each instruction on each device, summed up by what the instructions do.
  std::string profileJson(const EntryInfo &entry,
                          const std::vector<std::vector<uint64_t>> &nanoseconds,
                          double milliseconds) const;

  /// Instructions that gave infinities or NaNs, in list order, as JSON text.
  std::string notFiniteJson(const EntryInfo &entry, const std::vector<hal::NotFinite> &found) const;

private:
  static StatusOr<std::shared_ptr<const Executable>> fromBytes(std::shared_ptr<Bytes> bytes);
  Status verify();
  Status verifyStates();
  Status verifyKernels();
  Status verifyEntry(const fb::Entry &entry);
  Status verifySignature(EntryInfo &entry);
  Status verifySchedule(EntryInfo &entry);

  std::shared_ptr<Bytes> bytes_;
  const fb::Executable *root_ = nullptr;
  Mesh mesh_;
  std::vector<StateInfo> states_;
  std::vector<EntryInfo> entries_;
};

/// True if all vectors of 64-bit elements are aligned. The buffer has passed FlatBuffers' verifier.
bool isAligned(const fb::Executable &executable);

/// Name of an instruction's operation as messages and JSON show it: `gemm`, `all_reduce`, ...
const char *operationName(const fb::Instr &instr);
const char *collectiveName(fb::CollectiveKind kind);

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_CORE_EXECUTABLE_H
