// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of a training run: a folder with one subfolder a checkpoint and a file `latest` that
// names the newest complete one.
//
//   latest                          step-000200
//   step-000200/model.safetensors       parameters by checkpoint name, global, loadable as a model
//   step-000200/optimizer.safetensors   all other states by their own names, global
//   step-000200/trainer.json            step, position in the data, seed, and a hash of every
//   tensor
//
// A checkpoint is written to a temporary folder, forced to the disk and renamed; then `latest` is
// replaced in the same way. Whatever ends the process in between, `latest` names a checkpoint that
// is complete.
#ifndef CLEAVE_TRAINING_CHECKPOINTS_H
#define CLEAVE_TRAINING_CHECKPOINTS_H

#include "cleave/Import/HuggingFace/Safetensors.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cleave::training {

/// A tensor as a checkpoint holds it.
struct CheckpointTensor {
  std::string name;
  safetensors::DType dtype;
  llvm::SmallVector<int64_t, 4> shape;
};

/// What a run needs beside the tensors to go on.
struct Progress {
  uint64_t step = 0;         ///< steps done
  uint64_t dataPosition = 0; ///< windows of the data used
  uint64_t tokensSeen = 0;
  uint64_t seed = 0; ///< of the order of the data
  // What the position means only for: checked when a run goes on.
  uint64_t sequence = 0, dataTokens = 0;
  double evaluationFraction = 0;
  /// Settings of the run, for the record and for warnings: learning rate, schedule, ...
  std::map<std::string, std::string> settings;
};

/// Which tensors a checkpoint holds, in two files.
struct CheckpointContents {
  std::vector<CheckpointTensor> model, optimizer;
};

enum class CheckpointPart { Model, Optimizer };

/// Gives the bytes of a tensor to write, row-major and little-endian.
using TensorSource =
    llvm::function_ref<llvm::Error(CheckpointPart part, size_t index, std::vector<char> &bytes)>;

/// One complete checkpoint, opened and checked.
class LoadedCheckpoint {
public:
  /// Reads a checkpoint that must hold exactly `expected`. Every tensor's name, type, shape and
  /// hash are checked.
  static llvm::Expected<LoadedCheckpoint> open(const std::string &folder,
                                               const CheckpointContents &expected);

  const std::string &folder() const { return folder_; }
  const Progress &progress() const { return progress_; }
  /// Of the tensor at `index` of the contents expected.
  llvm::StringRef bytes(CheckpointPart part, size_t index) const;

private:
  std::string folder_;
  Progress progress_;
  std::unique_ptr<safetensors::File> model_, optimizer_;
  std::vector<llvm::StringRef> modelBytes_, optimizerBytes_;
};

/// The folder of the newest checkpoint in the folder of a run; "" if there is none. An error if
/// `latest` is damaged or names a folder that is not there.
llvm::Expected<std::string> latestCheckpoint(const std::string &path);

class CheckpointFolder {
public:
  struct Options {
    /// How many checkpoints stay; at least 1.
    uint64_t keep = 2;
    /// For tests: end the process by SIGKILL before this file operation, counted from 1; 0: never.
    uint64_t killAtOperation = 0;
  };

  /// Makes the folder if there is none, and removes what an interrupted run left half done.
  static llvm::Expected<CheckpointFolder> open(llvm::StringRef path, const Options &options);

  const std::string &path() const { return path_; }
  llvm::Expected<std::string> latest() const { return latestCheckpoint(path_); }
  /// Writes a checkpoint, makes it the latest, and removes the oldest ones. The files at `copies`
  /// (config.json, tokenizer, ...) go into it too.
  llvm::Error save(const Progress &progress, const CheckpointContents &contents,
                   TensorSource source, llvm::ArrayRef<std::string> copies = {});

  /// How many file operations save() has done.
  uint64_t operations() const { return operations_; }

private:
  llvm::Error removeOld(const std::string &newest);
  llvm::Error removeFolder(const std::string &name);
  /// Counts a file operation.
  void beforeOperation();

  std::string path_;
  Options options_;
  uint64_t operations_ = 0;
};

/// The files of a model's folder beside its weights (config.json, generation_config.json,
/// tokenizer) that are there.
std::vector<std::string> companionFiles(llvm::StringRef modelFolder);

} // namespace cleave::training

#endif // CLEAVE_TRAINING_CHECKPOINTS_H
