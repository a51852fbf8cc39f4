// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the user asked for, as plain values. Parsing knows no MLIR; the commands know no flags.
#ifndef CLEAVE_TOOLS_COMMANDLINE_H
#define CLEAVE_TOOLS_COMMANDLINE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave::tool {

/// Exit codes: 0 success, 1 a check failed (verify), 2 bad input.
enum ExitCode { kSuccess = 0, kMismatch = 1, kBadInput = 2 };

/// The numbers of a training step: defaults of a compilation, or what a run gives.
struct StepNumbers {
  std::optional<double> learningRate, beta1, beta2, eps, momentum, weightDecay, clip;
};

/// What a step takes as `max_grad_norm` for a `--clip` of this number: 0 is no clipping.
inline double maxGradNorm(double clip) { return clip > 0 ? clip : 1e30; }

struct CompileArgs {
  std::string dropout; ///< a rate, "config", or nothing
  std::string model, output, mesh, entry = "forward", dtype = "f32", cpu = "baseline";
  std::string strategyFile, stopAfter, emit;
  int64_t batch = 1, sequence = 128;
  int zero = 0;
  int64_t microbatches = 1, prefetchBytes = int64_t(2) << 30;
  std::string optimizer = "adamw", reduceDtype = "f32";
  std::optional<double> lossScale;
  std::optional<int64_t> lossScaleInterval;
  std::vector<std::string> decay, noDecay; ///< patterns of parameter names
  StepNumbers numbers;
  bool sequenceParallel = false, noOverlap = false, timing = false;
  bool reshardAfterForward = true, regatherActivations = false, wholeGradients = false;
  std::string sizeFlag;               ///< a flag that was given and is for Hugging Face models only
  std::vector<std::string> arguments; ///< what all this was read from
  bool wrongReduction = false;
};

struct RunArgs {
  std::string executable, weights, inputs, outputs, entry;
  int64_t threads = 0, seed = 0, interleave = 0, repeat = 1;
  bool json = false, poison = false, profile = false;
};

struct VerifyArgs {
  std::string executable, weights, reference, entry;
  int64_t threads = 0, seed = 0, interleavings = 1;
  double oracleLimit = 2e10;
  bool json = false;
};

struct InspectArgs {
  std::string executable, entry;
  bool json = false;
};

struct TrainArgs {
  std::string executable, weights, data, schedule = "constant", log, checkpointDir, resumeFrom;
  std::optional<int64_t> init, seed;
  int64_t steps = 100, warmup = 0, tokenBytes = 2, threads = 0;
  int64_t evalEvery = 0, evalBatches = 0, checkpointEvery = 0, keep = 2, killAtOperation = 0;
  StepNumbers numbers; ///< absent: the executable's defaults
  double minimumRate = 0, evalFraction = 0, peakGflops = 0;
  bool resume = false, json = false;
};

struct CommandLine {
  enum class Command {
    None,
    Compile,
    Run,
    Train,
    Verify,
    Inspect,
    Explain
  } command = Command::None;
  CompileArgs compile;
  RunArgs run;
  TrainArgs train;
  VerifyArgs verify;
  InspectArgs inspect; ///< also explain
  std::string text;    ///< the command as typed, recorded in the executable
};

/// Parses argv. Returns true to go on; false to leave at once with `exitCode` (help was printed, or
/// an error line was).
bool parseCommandLine(int argc, const char *const *argv, CommandLine &result, int &exitCode);

/// Parses what once followed `cleave compile`; nothing if this version does not understand it.
std::optional<CompileArgs> parseCompileArguments(const std::vector<std::string> &arguments);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_COMMANDLINE_H
