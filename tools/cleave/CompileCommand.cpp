// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Commands.h"
#include "Diagnostics.h"

#include "cleave/Output/AtomicFile.h"
#include "cleave/Pipelines/Compile.h"
#include "cleave/Pipelines/Register.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace cleave;
using namespace cleave::tool;

static int write(llvm::StringRef path, llvm::StringRef bytes) {
  if (llvm::Error error = writeFileAtomically(path, bytes))
    return reportError("compile", llvm::toString(std::move(error)));
  return kSuccess;
}

int cleave::tool::compileCommand(const CompileArgs &args, const std::string &commandText) {
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
  options.command = commandText;
  options.phases.sequenceParallel = args.sequenceParallel;
  options.phases.zero = args.zero;
  options.phases.training = args.entry == "train_step";
  options.phases.masterWeights =
      options.phases.training && options.elementType != ModelElementType::F32;
  options.phases.microbatches = args.microbatches;
  options.phases.optimizer = args.optimizer;
  options.phases.strategyFile = args.strategyFile;
  options.phases.overlap = !args.noOverlap;

  if (args.microbatches > 1 && !options.phases.training)
    return reportError("compile", "--microbatches goes with --entry train_step");
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
