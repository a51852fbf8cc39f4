// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Commands.h"
#include "CompileSettings.h"
#include "Diagnostics.h"

#include "cleave/Output/AtomicFile.h"
#include "cleave/Pipelines/Compile.h"
#include "cleave/Pipelines/Register.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <charconv>

using namespace cleave;
using namespace cleave::tool;

static int write(llvm::StringRef path, llvm::StringRef bytes) {
  if (llvm::Error error = writeFileAtomically(path, bytes))
    return reportError("compile", llvm::toString(std::move(error)));
  return kSuccess;
}

/// The defaults of the step's numbers, as the options give them: `learning_rate=3e-4`.
static std::vector<std::string> defaultsOf(const CompileArgs &args) {
  const StepNumbers &n = args.numbers;
  bool isAdam = args.optimizer == "adamw";
  std::vector<std::string> texts;
  auto add = [&](const char *name, double number) {
    char buffer[32];
    char *end = std::to_chars(buffer, std::end(buffer), number).ptr;
    texts.push_back(name + ("=" + std::string(buffer, end)));
  };
  add("learning_rate", n.learningRate.value_or(3e-4));
  if (isAdam) {
    add("beta1", n.beta1.value_or(0.9));
    add("beta2", n.beta2.value_or(0.95));
    add("eps", n.eps.value_or(1e-8));
  } else if (n.momentum) {
    add("momentum", *n.momentum);
  }
  add("weight_decay", n.weightDecay.value_or(0.1));
  add("max_grad_norm", maxGradNorm(n.clip.value_or(1)));
  return texts;
}

/// Options that do not go together: the error, or "".
static std::string contradiction(const CompileArgs &args) {
  const StepNumbers &n = args.numbers;
  const std::pair<const char *, bool> step[] = {{"--microbatches", args.microbatches > 1},
                                                {"--dropout", !args.dropout.empty()},
                                                {"--lr", n.learningRate.has_value()},
                                                {"--beta1", n.beta1.has_value()},
                                                {"--beta2", n.beta2.has_value()},
                                                {"--eps", n.eps.has_value()},
                                                {"--momentum", n.momentum.has_value()},
                                                {"--weight-decay", n.weightDecay.has_value()},
                                                {"--clip", n.clip.has_value()},
                                                {"--decay", !args.decay.empty()},
                                                {"--no-decay", !args.noDecay.empty()}};
  for (auto [name, given] : step)
    if (given && args.entry != "train_step")
      return name + std::string(" goes with --entry train_step");
  if (args.reduceDtype == "bf16" && (args.entry != "train_step" || args.dtype != "bf16"))
    return "--reduce-dtype bf16 goes with --entry train_step and --dtype bf16";
  for (auto [name, given] : {std::pair("--loss-scale", args.lossScale.has_value()),
                             {"--loss-scale-interval", args.lossScaleInterval.has_value()}})
    if (given && (args.entry != "train_step" || args.dtype != "f16"))
      return name + std::string(" goes with --entry train_step and --dtype f16");
  for (const auto *patterns : {&args.decay, &args.noDecay})
    for (llvm::StringRef pattern : *patterns)
      if (pattern.empty() || llvm::any_of(pattern, [](char c) {
            return !llvm::isAlnum(c) && !llvm::StringRef("_-.*?[]").contains(c);
          }))
        return (patterns == &args.decay ? "--decay" : "--no-decay") + (": '" + pattern.str()) +
               "' is no pattern of names: letters, digits, _ - . and the wildcards * ? [ ]";
  if (args.wholeGradients && args.microbatches == 1)
    return "--whole-gradients goes with --microbatches 2 or more";
  if (n.momentum && args.optimizer != "sgd")
    return "--momentum goes with --optimizer sgd; adamw has --beta1 and --beta2";
  if (args.optimizer == "sgd" && (n.beta1 || n.beta2 || n.eps))
    return "--beta1, --beta2 and --eps go with --optimizer adamw; sgd has --momentum";
  return "";
}

CompileOptions cleave::tool::compileOptionsOf(const CompileArgs &args) {
  CompileOptions options;
  options.model = args.model;
  options.mesh = args.mesh;
  options.batch = args.batch;
  options.sequence = args.sequence;
  options.elementType = args.dtype == "bf16"  ? ModelElementType::BF16
                        : args.dtype == "f16" ? ModelElementType::F16
                                              : ModelElementType::F32;
  options.nativeCpu = args.cpu == "native";
  options.timing = args.timing;
  options.arguments = args.arguments;
  options.wrongReduction = args.wrongReduction;
  options.phases.sequenceParallel = args.sequenceParallel;
  options.phases.zero = args.zero;
  options.phases.prefetchBytes = args.prefetchBytes;
  options.phases.reshardAfterForward = args.reshardAfterForward;
  options.phases.wholeGradients = args.wholeGradients;
  options.phases.regatherActivations = args.regatherActivations;
  options.phases.training = args.entry == "train_step";
  options.phases.masterWeights =
      options.phases.training && options.elementType != ModelElementType::F32;
  options.phases.scaleLoss =
      options.phases.training && options.elementType == ModelElementType::F16;
  options.phases.lossScale = args.lossScale.value_or(options.phases.lossScale);
  options.phases.lossScaleInterval =
      args.lossScaleInterval.value_or(options.phases.lossScaleInterval);
  options.phases.narrowGradients = args.reduceDtype == "bf16";
  options.phases.microbatches = args.microbatches;
  options.phases.optimizer = args.optimizer;
  options.phases.momentum = args.numbers.momentum.has_value();
  options.phases.decay = args.decay;
  options.phases.noDecay = args.noDecay;
  options.phases.defaults = defaultsOf(args);
  if (args.dropout == "config") {
    options.dropout = {DropoutOption::Kind::Config, 0};
  } else if (!args.dropout.empty()) {
    double rate = 0;
    llvm::StringRef(args.dropout).getAsDouble(rate); // A rate: the parser checked it.
    options.dropout = {rate > 0 ? DropoutOption::Kind::Rate : DropoutOption::Kind::Off, rate};
  }
  options.phases.strategyFile = args.strategyFile;
  options.phases.overlap = !args.noOverlap;
  return options;
}

int cleave::tool::compileCommand(const CompileArgs &args, const std::string &commandText) {
  CompileOptions options = compileOptionsOf(args);
  options.command = commandText;
  if (!args.sizeFlag.empty() && llvm::StringRef(args.model).ends_with(".mlir"))
    return reportError("compile", args.sizeFlag + " goes with Hugging Face models: " + args.model +
                                      " has its sizes written in it; leave the flag out");
  if (std::string error = contradiction(args); !error.empty())
    return reportError("compile", error);
  bool emitMlir = args.emit == "mlir";
  if (!args.stopAfter.empty()) {
    std::optional<Phase> last = parsePhase(args.stopAfter);
    if (!last)
      return reportError("compile", "--stop-after: unknown phase '" + args.stopAfter +
                                        "'; the phases are " + llvm::join(phaseNames(), ", "));
    options.phases.last = *last;
  }
  if (emitMlir && options.phases.last == Phase::Write)
    return reportError("compile", "--emit mlir needs --stop-after with a phase before write");
  if (options.phases.last == Phase::Write && args.output.empty())
    return reportError("compile", "no output: give -o FILE.cleave (or --stop-after PHASE)");
  if (options.phases.last != Phase::Write && !args.output.empty() && !emitMlir)
    return reportError("compile", "--stop-after ends before the executable is written: leave out "
                                  "-o, or add --emit mlir to write the program there");

  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  DiagnosticPrinter printer(&context, "compile");
  CompileResult result;
  if (mlir::failed(compile(&context, options, result)))
    return printer.hadError() ? int(kBadInput)
                              : reportError("compile", "failed without a reason: this is a bug");

  if (options.phases.last == Phase::Write || emitMlir) {
    std::string text = std::move(result.executable);
    if (emitMlir) {
      llvm::raw_string_ostream os(text);
      result.module->print(os);
      os << "\n";
    }
    if (args.output.empty())
      llvm::outs() << text;
    else if (int code = write(args.output, text))
      return code;
  }
  // Only now: a failure is one line.
  for (const std::string &warning : result.warnings)
    reportWarning("compile", warning);
  printer.printWarnings();
  return kSuccess;
}
