// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What `cleave train` says at its end.
#ifndef CLEAVE_TOOLS_CLEAVE_TRAINREPORT_H
#define CLEAVE_TOOLS_CLEAVE_TRAINREPORT_H

#include "TrainingProgram.h"

#include "llvm/Support/JSON.h"

namespace cleave::tool {

/// JSON has no NaN.
llvm::json::Value numberOrNull(double value);

/// One run's outcome; what is printed goes to standard output.
struct TrainReport {
  int64_t devices = 0;
  training::Progress progress;
  uint64_t stepsRun = 0, skippedSteps = 0;
  double seconds = 0; ///< of all steps, without evaluation and checkpoints
  double tokensPerSecond = 0;
  double mfu = 0; ///< 0: not known
  TrainingMemory memory;
  std::vector<uint64_t> allocatedBytes; ///< of each device
  StepResult last;
  std::optional<double> evaluationLoss;
  std::string resumedFrom, checkpoint; ///< folders; empty: none

  void print() const;
  void printJson() const;
};

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_CLEAVE_TRAINREPORT_H
