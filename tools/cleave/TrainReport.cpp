// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "TrainReport.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace cleave::tool;
namespace json = llvm::json;

json::Value cleave::tool::numberOrNull(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

static std::string megabytes(uint64_t bytes) {
  return llvm::formatv("{0:f2} MB", 1e-6 * double(bytes));
}

void TrainReport::printJson() const {
  json::Object report{{"devices", devices},
                      {"step", progress.step},
                      {"steps_run", stepsRun},
                      {"tokens_seen", progress.tokensSeen},
                      {"seconds", seconds},
                      {"tokens_per_second", tokensPerSecond},
                      {"memory_per_device", json::Object{{"weights", memory.weights},
                                                         {"optimizer", memory.optimizer},
                                                         {"other_states", memory.otherStates},
                                                         {"temporary", memory.temporary},
                                                         {"total", memory.total}}}};
  report["allocated_bytes_per_device"] = json::Array(allocatedBytes);
  if (stepsRun > 0) {
    report["loss"] = last.loss;
    report["grad_norm"] = numberOrNull(last.gradientNorm);
    if (last.lossScale) {
      report["loss_scale"] = *last.lossScale;
      report["skipped_steps"] = skippedSteps;
    }
  }
  if (evaluationLoss)
    report["eval_loss"] = *evaluationLoss;
  if (mfu > 0)
    report["mfu"] = mfu;
  if (!resumedFrom.empty())
    report["resumed_from"] = resumedFrom;
  if (!checkpoint.empty())
    report["checkpoint"] = checkpoint;
  llvm::outs() << llvm::formatv("{0:2}", json::Value(std::move(report))) << "\n";
}

void TrainReport::print() const {
  if (!resumedFrom.empty())
    llvm::outs() << "resumed from " << resumedFrom << "\n";
  if (stepsRun == 0) {
    llvm::outs() << "step " << progress.step << " was reached before: nothing to do\n";
    if (!checkpoint.empty())
      llvm::outs() << "checkpoint " << checkpoint << "\n";
    return;
  }
  llvm::outs() << "trained to step " << progress.step << " (" << stepsRun << " steps in "
               << llvm::format("%.3f", seconds) << " s, " << llvm::format("%.0f", tokensPerSecond)
               << " tokens/s" << (mfu > 0 ? llvm::formatv(", MFU {0:f1}%", 100 * mfu).str() : "")
               << ")\n"
               << "loss " << llvm::format("%.6g", last.loss) << ", gradient norm "
               << llvm::format("%.6g", std::abs(last.gradientNorm)); // A NaN without sign.
  if (evaluationLoss)
    llvm::outs() << ", evaluation loss " << llvm::format("%.6g", *evaluationLoss);
  if (last.lossScale)
    llvm::outs() << "\nloss scale " << llvm::format("%.6g", *last.lossScale) << ", " << skippedSteps
                 << (skippedSteps == 1 ? " step" : " steps")
                 << " skipped because gradients overflowed";
  llvm::outs() << "\nmemory per device: weights " << megabytes(memory.weights) << ", optimizer "
               << megabytes(memory.optimizer) << ", other states " << megabytes(memory.otherStates)
               << ", inputs and temporaries " << megabytes(memory.temporary) << "\n";
  if (!checkpoint.empty())
    llvm::outs() << "checkpoint " << checkpoint << "\n";
}
