// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A training step against a reference trace: gradients, losses, gradient norms and parameters.
#ifndef CLEAVE_TOOLS_VERIFYTRAINING_H
#define CLEAVE_TOOLS_VERIFYTRAINING_H

#include "CommandLine.h"
#include "Session.h"
#include "VerifyReport.h"

namespace cleave::tool {

/// True if the inputs are those of a training step: it takes a learning rate.
bool isTrainingStep(llvm::ArrayRef<cleave_tensor_info> inputs);

/// The settings of a training step as host tensors: learning_rate, beta1, beta2, eps, weight_decay,
/// max_grad_norm (0: no clipping), those of them that the entry takes.
struct StepSettings {
  double learningRate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weightDecay = 0.1,
         maxGradNorm = 1;
  std::vector<HostTensor> tensors(llvm::ArrayRef<cleave_tensor_info> inputs) const;
};

/// Checks everything that args.reference holds, with the optimizer's settings from the
/// reference.json beside it: the loss and `grad.*` of one batch, then the trace of
/// `train.input_ids`, `train.labels` with `train.losses`, `train.grad_norms` and `step5.*`.
llvm::Expected<Report> verifyTraining(const Executable &executable, const std::string &entry,
                                      const VerifyArgs &args);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_VERIFYTRAINING_H
