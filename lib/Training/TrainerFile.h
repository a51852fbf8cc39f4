// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The texts in a checkpoint: trainer.json and the headers of the files of tensors.
#ifndef CLEAVE_LIB_TRAINING_TRAINERFILE_H
#define CLEAVE_LIB_TRAINING_TRAINERFILE_H

#include "cleave/Training/Checkpoints.h"

namespace cleave::training {

/// The XXH3 hash of every tensor's bytes.
using TensorHashes = std::map<std::string, uint64_t>;

struct TrainerFile {
  Progress progress;
  TensorHashes modelHashes, optimizerHashes;

  std::string text() const;
  static llvm::Expected<TrainerFile> parse(llvm::StringRef text);
};

/// What comes before the tensors in a .safetensors file that holds them in this order.
std::string safetensorsHeader(llvm::ArrayRef<CheckpointTensor> tensors);

} // namespace cleave::training

#endif // CLEAVE_LIB_TRAINING_TRAINERFILE_H
