// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The compiler's named phases and the passes of each: the only place that puts passes in order.
#ifndef CLEAVE_PIPELINES_PHASES_H
#define CLEAVE_PIPELINES_PHASES_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace cleave {

enum class Phase {
  Import,
  Differentiate,
  Plan,
  Propagate,
  Reshard,
  Partition,
  Merge,
  Overlap,
  Lower,
  Verify,
  Write
};

/// Names in order, as `--stop-after` takes them.
llvm::ArrayRef<llvm::StringRef> phaseNames();
std::optional<Phase> parsePhase(llvm::StringRef name);

struct PhaseOptions {
  bool sequenceParallel = false;
  std::string strategyFile;         ///< empty: the built-in tables
  std::string strategyText;         ///< what the file holds, where it is known already
  int zero = 0;                     ///< stage of ZeRO over the dp axis, 0 to 3
  bool reshardAfterForward = true;  ///< gather sharded parameters again for the backward half
  bool wholeGradients = false;      ///< scatter sums over microbatches, not their terms
  bool regatherActivations = false; ///< and sequence-sharded activations
  bool training = false;            ///< make a training step of the forward entry
  bool masterWeights = false;       ///< of a training step: 16-bit weights are stored in f32
  bool narrowGradients = false;     ///< of weights, in the type that the step computes in
  bool scaleLoss = false;           ///< of a training step
  double lossScale = 65536;         ///< the first one
  int64_t lossScaleInterval = 2000; ///< updates after which it doubles
  int64_t microbatches = 1;         ///< of a training step
  std::string optimizer = "adamw";  ///< adamw or sgd
  bool momentum = false;            ///< sgd has a velocity
  /// Patterns of the parameters that decay, or do not, whatever their rank: of letters, digits and
  /// `_ - . * ? [ ]`, since they become part of a pipeline's text.
  std::vector<std::string> decay, noDecay;
  /// Defaults of the step's numbers: `learning_rate=3e-4`.
  std::vector<std::string> defaults;
  bool overlap = true;
  /// Bytes of parameters that may be gathered ahead of their use.
  int64_t prefetchBytes = int64_t(2) << 30;
  Phase last = Phase::Write;
};

/// The textual pass pipeline of one phase; empty where a phase has no pass.
std::string phasePipeline(Phase phase, const PhaseOptions &options);
/// Adds the passes of the phases from `first` to `last`, both included.
mlir::LogicalResult buildPhases(mlir::PassManager &pm, const PhaseOptions &options, Phase first,
                                Phase last);
/// Of every phase after Import up to and including `options.last`.
mlir::LogicalResult buildPhases(mlir::PassManager &pm, const PhaseOptions &options);

} // namespace cleave

#endif // CLEAVE_PIPELINES_PHASES_H
