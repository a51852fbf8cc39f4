// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A compiled train_step: its signature, its states as checkpoints hold them, and one step of it.
#ifndef CLEAVE_TOOLS_TRAININGPROGRAM_H
#define CLEAVE_TOOLS_TRAININGPROGRAM_H

#include "Session.h"

#include "cleave/Training/Checkpoints.h"
#include <cmath>
#include <optional>

namespace cleave::tool {

/// The scalar inputs of a step, by their names.
using Hyperparameters = std::vector<std::pair<std::string, double>>;

struct StepResult {
  double loss = 0, gradientNorm = 0;
  std::optional<double> lossScale; ///< that the step used; empty: the loss is not scaled

  /// The gradients overflowed, and the step kept all states to try a smaller scale. Of the smallest
  /// scale, 1, there is none.
  bool isSkipped() const {
    return lossScale && *lossScale > 1 && std::isfinite(loss) && !std::isfinite(gradientNorm);
  }
};

/// Bytes on one device.
struct TrainingMemory {
  uint64_t weights = 0, optimizer = 0, otherStates = 0, temporary = 0, total = 0;
};

class TrainingProgram {
public:
  static llvm::Expected<TrainingProgram> create(const Executable &executable,
                                                const SessionOptions &options);

  uint64_t batch() const { return batch_; }
  uint64_t sequence() const { return sequence_; }
  /// Rows of a batch of evaluate(); 0 if the executable can not evaluate.
  uint64_t evaluationBatch() const { return evaluationBatch_; }
  const training::CheckpointContents &contents() const { return contents_; }
  const TrainingMemory &memory() const { return memory_; }

  // The states. The first two make those of the optimizer zeros.
  llvm::Error loadWeights(llvm::StringRef folder);
  llvm::Error initialize(uint64_t seed);
  llvm::Error restore(const training::LoadedCheckpoint &checkpoint);
  llvm::Expected<HostTensor> state(training::CheckpointPart part, size_t index);
  llvm::Expected<std::vector<HostTensor>> states();

  /// All numbers that the step takes: those given, else the executable's defaults.
  llvm::Expected<Hyperparameters> numbers(const Hyperparameters &given) const;
  /// What a program with dropout draws by, with the number of its step.
  void setDropoutSeed(uint64_t seed) { dropoutSeed_ = seed; }
  /// What step() gives the program.
  std::vector<HostTensor> inputs(llvm::ArrayRef<int64_t> tokens,
                                 const Hyperparameters &values) const;
  /// One step on [batch, sequence] tokens, which are their own labels: the program shifts them.
  llvm::Expected<StepResult> step(llvm::ArrayRef<int64_t> tokens, const Hyperparameters &values);
  /// The same, looking at what every instruction gives: those that gave infinities or NaNs.
  llvm::Expected<llvm::json::Value> checkedStep(llvm::ArrayRef<int64_t> tokens,
                                                const Hyperparameters &values);
  /// Bytes that the buffers of each device take.
  llvm::Expected<std::vector<uint64_t>> allocatedBytes() {
    return session_.allocatedBytes(devices_);
  }
  /// The loss of the forward pass on [evaluationBatch, sequence] tokens.
  llvm::Expected<double> evaluate(llvm::ArrayRef<int64_t> tokens);
  llvm::Error close() { return session_.close(); }

private:
  llvm::Error readSignature(const Executable &executable);
  llvm::Error readStates(const Executable &executable);
  llvm::Error clearOptimizer();
  llvm::Expected<double> scalar(const std::string &entry, const cleave_tensor_info &info);

  Session session_;
  uint32_t devices_ = 1;
  uint64_t batch_ = 0, sequence_ = 0, evaluationBatch_ = 0;
  std::vector<cleave_tensor_info> scalars_; ///< the scalar inputs
  cleave_tensor_info loss_ = {}, gradientNorm_ = {}, evaluationLoss_ = {};
  std::optional<cleave_tensor_info> lossScale_;
  std::vector<cleave_tensor_info> model_, optimizer_; ///< as in contents_
  bool hasDropout_ = false;
  uint64_t dropoutSeed_ = 0;
  training::CheckpointContents contents_;
  TrainingMemory memory_;
};

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_TRAININGPROGRAM_H
