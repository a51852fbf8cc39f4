// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Pipelines/Phases.h"

#include "cleave/Dialect/Cleave/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cleave;

static constexpr llvm::StringRef kNames[] = {"import",  "differentiate", "plan",  "propagate",
                                             "reshard", "partition",     "merge", "overlap",
                                             "lower",   "verify",        "write"};
static_assert(std::size(kNames) == size_t(Phase::Write) + 1, "one name for each phase, in order");

llvm::ArrayRef<llvm::StringRef> cleave::phaseNames() { return kNames; }

std::optional<Phase> cleave::parsePhase(llvm::StringRef name) {
  for (auto [i, n] : llvm::enumerate(kNames))
    if (n == name)
      return Phase(i);
  return std::nullopt;
}

std::string cleave::phasePipeline(Phase phase, const PhaseOptions &options) {
  switch (phase) {
  case Phase::Import:
  case Phase::Write:
    return "";
  case Phase::Differentiate: {
    if (!options.training)
      return "";
    std::string batches = "microbatches=" + std::to_string(options.microbatches);
    std::string step = "optimizer=" + options.optimizer;
    if (options.momentum)
      step += " momentum=true";
    auto addList = [&](llvm::StringRef name, llvm::ArrayRef<std::string> values) {
      if (!values.empty())
        step += " " + name.str() + "=" + llvm::join(values, ",");
    };
    addList("decay", options.decay);
    addList("no-decay", options.noDecay);
    addList("defaults", options.defaults);
    std::string text = options.masterWeights ? "cleave-mixed-precision," : "";
    text += "cleave-differentiate{keep-forward=true " + step + " " + batches +
            (options.scaleLoss ? " scale-loss=true" : "") + "},";
    if (options.narrowGradients)
      text += "cleave-narrow-gradients,";
    if (options.scaleLoss)
      text += llvm::formatv("cleave-loss-scaling{{init={0:e17} growth-interval={1}},",
                            options.lossScale, options.lossScaleInterval);
    return text + "cleave-fuse-step{" + batches + "}";
  }
  case Phase::Plan: {
    std::string text = "cleave-apply-strategy{";
    text += options.sequenceParallel ? "sequence-parallel=true" : "sequence-parallel=false";
    if (options.zero)
      text += " zero=" + std::to_string(options.zero);
    if (!options.reshardAfterForward)
      text += " reshard-after-forward=false";
    if (options.wholeGradients)
      text += " whole-gradients=true";
    if (options.regatherActivations)
      text += " regather-activations=true";
    if (!options.strategyFile.empty())
      text += " strategy-file=" + options.strategyFile;
    return text + "}";
  }
  case Phase::Propagate:
    return "func.func(cleave-propagate),cleave-decompose-sharded,func.func(cleave-propagate)";
  case Phase::Reshard:
    return "func.func(cleave-insert-reshards,cleave-verify-resharded,cleave-reshard-to-"
           "collectives)";
  case Phase::Partition:
    return "func.func(cleave-verify-resharded,cleave-partition)";
  case Phase::Merge:
    return "cleave-outline-repetitions,func.func(cleave-merge-collectives)";
  case Phase::Overlap:
    return options.overlap ? "func.func(cleave-overlap-collectives{prefetch-bytes=" +
                                 std::to_string(options.prefetchBytes) + "})"
                           : "";
  case Phase::Lower:
    return "cleave-form-kernels,cleave-lower-to-exec,cleave-pack-memory";
  case Phase::Verify:
    return "cleave-verify-exec";
  }
  return "";
}

mlir::LogicalResult cleave::buildPhases(mlir::PassManager &pm, const PhaseOptions &options,
                                        Phase first, Phase last) {
  for (int i = int(first); i <= int(last); ++i) {
    if (Phase(i) == Phase::Plan) {
      // Not from text, in which not every path can be written.
      ApplyStrategyPassOptions strategy;
      strategy.sequenceParallel = options.sequenceParallel;
      strategy.strategyFile = options.strategyFile;
      strategy.strategyText = options.strategyText;
      strategy.zero = options.zero;
      strategy.reshardAfterForward = options.reshardAfterForward;
      strategy.wholeGradients = options.wholeGradients;
      strategy.regatherActivations = options.regatherActivations;
      pm.addPass(createApplyStrategyPass(strategy));
      continue;
    }
    std::string text = phasePipeline(Phase(i), options);
    if (!text.empty() && mlir::failed(mlir::parsePassPipeline(text, pm)))
      return mlir::failure();
  }
  return mlir::success();
}

mlir::LogicalResult cleave::buildPhases(mlir::PassManager &pm, const PhaseOptions &options) {
  return buildPhases(pm, options, Phase::Differentiate, options.last);
}
