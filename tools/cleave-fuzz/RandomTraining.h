// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Training steps of random programs.

#ifndef CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMTRAINING_H
#define CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMTRAINING_H

#include "CaseRun.h"
#include "RandomProgram.h"

namespace cleave::fuzz {

/// How a seed trains its program.
struct TrainingChoice {
  bool isAdam = true, momentum = false;
  int64_t microbatches = 1;
  bool masterWeights = false, narrowGradients = false; ///< of programs in bf16
  bool scalesLoss = false;
};

/// Puts the entry `train_step` in the place of a program's @main (`ProgramOptions::isTraining`):
/// derivatives, maybe several microbatches, an optimizer whose states have shardings of their own.
/// Errors go to the context's diagnostics.
llvm::LogicalResult makeTrainingStep(mlir::ModuleOp module, const ProgramOptions &options);

/// Makes random arguments of a training step legal: mean squares that are not negative, numbers as
/// they are in training. Those of AdamW's epsilon are large, so that a gradient near 0 is not
/// decided by rounding.
void setStepNumbers(mlir::func::FuncOp step, Tensors &arguments);

/// Compares the step's gradients with the loss along a random direction, in float64. Gives what is
/// wrong, or "". `isSmooth` is false where the loss has a kink too near for the comparison.
llvm::FailureOr<std::string> checkGradients(mlir::func::FuncOp step, const Tensors &arguments,
                                            uint64_t seed, bool &isSmooth);

} // namespace cleave::fuzz

#endif // CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMTRAINING_H
