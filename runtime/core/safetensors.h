// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints in safetensors files: one file, or several with an index. Files are mapped, and only
// the bytes that are asked for are read.
#ifndef CLEAVE_RUNTIME_CORE_SAFETENSORS_H
#define CLEAVE_RUNTIME_CORE_SAFETENSORS_H

#include "base/dtype.h"
#include "core/container.h"
#include <map>

namespace cleave::rt {

/// One tensor of a checkpoint.
struct CheckpointTensor {
  std::string dtypeName;      ///< as the file has it
  std::optional<DType> dtype; ///< none if the runtime does not know it
  std::vector<uint64_t> shape;
  std::span<const uint8_t> data;
};

/// One safetensors file. Opening checks the whole header: sizes, ranges, overlaps, gaps.
class SafetensorsFile {
public:
  static StatusOr<std::unique_ptr<SafetensorsFile>> open(const std::string &path);
  const std::map<std::string, CheckpointTensor> &tensors() const { return tensors_; }

private:
  Status parse(std::span<const uint8_t> file);
  std::shared_ptr<Bytes> bytes_;
  std::map<std::string, CheckpointTensor> tensors_;
};

/// A folder with model.safetensors or model.safetensors.index.json and its files.
class Checkpoint {
public:
  static StatusOr<std::unique_ptr<Checkpoint>> open(const std::string &folder);
  /// The tensor of a name; an error names the folder or the file that lacks it.
  StatusOr<const CheckpointTensor *> find(const std::string &name);
  /// Path of the file that holds a tensor, for messages.
  std::string fileOf(const std::string &name) const;

private:
  Status readIndex(const std::string &path);
  std::string folder_;
  std::map<std::string, std::string> fileNames_; ///< tensor -> file, when there is an index
  std::map<std::string, std::unique_ptr<SafetensorsFile>> files_; ///< opened, by file name
};

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_CORE_SAFETENSORS_H
