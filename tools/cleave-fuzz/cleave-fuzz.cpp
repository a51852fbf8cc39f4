// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random programs, meshes and shardings through the whole of sharding, against the reference
// interpreter. Padding is NaN in these runs.

#include "CaseCheck.h"
#include "RandomTraining.h"
#include "cleave/Pipelines/Register.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"

using namespace cleave;
using namespace cleave::fuzz;
namespace cl = llvm::cl;

static cl::OptionCategory category("cleave-fuzz options");
static cl::opt<std::string> seeds("seeds", cl::init("1..1000"), cl::cat(category),
                                  cl::value_desc("A..B"),
                                  cl::desc("First and last seed, or one seed"));
static cl::opt<int64_t> ops("ops", cl::init(-1), cl::cat(category),
                            cl::desc("Number of ops instead of the seed's own"));
static cl::opt<double>
    tolerance("tolerance", cl::cat(category),
              cl::desc("Largest difference relative to max(1, |expected|), instead "
                       "of that of the type"));
static cl::opt<bool> f32("f32", cl::init(false), cl::cat(category),
                         cl::desc("Tensors of f32 instead of f64"));
static cl::opt<bool> bf16("bf16", cl::init(false), cl::cat(category), cl::desc("Tensors of bf16"));
static cl::opt<bool> run("run", cl::init(false), cl::cat(category),
                         cl::desc("Make executables of the cases and run them: in f32, or --bf16"));
static cl::opt<bool> train("train", cl::init(false), cl::cat(category),
                           cl::desc("Training steps of the programs: loss, gradients, optimizer"));
static cl::opt<int64_t> interleavings("interleavings", cl::init(1), cl::cat(category),
                                      cl::desc("With --run: random interleavings of each case"));
static cl::opt<double> runFloor("run-floor", cl::cat(category),
                                cl::desc("With --run: legal difference, relative to a result's "
                                         "largest magnitude, instead of that of the type"));
static cl::opt<double> runFactor("run-factor", cl::cat(category),
                                 cl::desc("With --run: legal difference, relative to what rounding "
                                          "each op of the unsharded program does, instead of that "
                                          "of the type"));
static cl::opt<bool> print("print", cl::init(false), cl::cat(category),
                           cl::desc("Print the programs and check nothing"));
static cl::opt<bool> shrink("shrink", cl::init(true), cl::cat(category),
                            cl::desc("Look for the smallest prefix of a program that fails"));
static cl::opt<int64_t> maxFailures("max-failures", cl::init(20), cl::cat(category),
                                    cl::desc("Stop after this many failures"));

static bool parseSeeds(llvm::StringRef text, uint64_t &first, uint64_t &last) {
  auto [a, b] = text.split("..");
  if (a.getAsInteger(10, first))
    return false;
  last = first;
  return (!text.contains("..") || !b.getAsInteger(10, last)) && first <= last;
}

namespace {
/// The options that are looked at once cases run: linking a case's kernels resets every cl::opt of
/// the process.
struct Settings {
  int64_t numOps = ops;
  bool isRun = run, isTraining = train, isShrinking = shrink;
  FloatKind floats = bf16 ? FloatKind::BF16 : f32 || run ? FloatKind::F32 : FloatKind::F64;
  int64_t maxFailures = ::maxFailures;

  ProgramOptions programOf(uint64_t seed, int64_t size) const {
    return {seed, size, floats, isRun, isTraining};
  }
};
} // namespace

/// How closely parts must agree with the whole. The interpreter computes in f64 whatever the type,
/// but decompositions round their constants.
static CheckOptions optionsOf(FloatKind floats) {
  CheckOptions options;
  if (floats == FloatKind::F32)
    options.tolerance = 1e-4;
  if (floats == FloatKind::BF16) {
    options.tolerance = 0.1;
    options.runs.floor = 0.03;
    options.runs.factor = 8;
  }
  if (tolerance.getNumOccurrences())
    options.tolerance = tolerance;
  if (runFloor.getNumOccurrences())
    options.runs.floor = runFloor;
  if (runFactor.getNumOccurrences())
    options.runs.factor = runFactor;
  return options;
}

static std::unique_ptr<mlir::MLIRContext> makeContext(const mlir::DialectRegistry &registry) {
  auto context =
      std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

static void report(const Coverage &coverage) {
  llvm::outs() << coverage.cases << " cases, " << coverage.failed << " failed; "
               << coverage.unevenCases << " with sizes that do not divide, " << coverage.nothingSent
               << " that send nothing, " << coverage.partialPassed
               << " values that stay partial through an op, " << coverage.becomesPartial
               << " whole values beside partial ones, " << coverage.gradients
               << " with gradients as differences say, " << coverage.warnings << " warnings\n";
  for (const auto &[name, count] : coverage.ops)
    llvm::outs() << "  " << name << ": " << count << "\n";
  const RunCoverage &runs = coverage.runs;
  if (runs.runs == 0)
    return;
  llvm::outs() << runs.runs << " runs; " << runs.kernels << " kernels, " << runs.products
               << " matrix products, " << runs.attentions << " attentions, " << runs.copies
               << " copies, " << runs.updates << " updates of states, " << runs.buckets
               << " collectives of several parts; at most " << llvm::format("%.3g", runs.closest)
               << " of the limit\n";
  for (const auto &[name, count] : runs.collectives)
    llvm::outs() << "  " << name << ": " << count << "\n";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "Checks random sharded programs against the reference interpreter.\n"
                              "Example: cleave-fuzz --seeds 5000..7000\n"
                              "         cleave-fuzz --seeds 5000..7000 --run\n"
                              "         cleave-fuzz --seeds 5000..7000 --train\n"
                              "         cleave-fuzz --seeds 5017 --print\n");
  uint64_t first, last;
  if (!parseSeeds(seeds, first, last)) {
    llvm::errs() << "cleave-fuzz: --seeds expects A or A..B with A <= B, found '" << seeds << "'\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  std::unique_ptr<mlir::MLIRContext> context = makeContext(registry);

  const Settings settings;
  if (print) {
    for (uint64_t seed = first; seed <= last; ++seed) {
      ProgramOptions program = settings.programOf(seed, settings.numOps);
      auto module = randomProgram(context.get(), program);
      if (program.isTraining && failed(makeTrainingStep(*module, program)))
        return 1;
      module->print(llvm::outs());
    }
    return 0;
  }

  CheckOptions options = optionsOf(settings.floats);
  options.run = run;
  options.runs.interleavings = interleavings;
  Coverage coverage;
  constexpr uint64_t kCasesPerContext = 100; // Attributes live as long as their context.
  for (uint64_t seed = first; seed <= last && coverage.failed < settings.maxFailures; ++seed) {
    if (coverage.cases % kCasesPerContext == kCasesPerContext - 1)
      context = makeContext(registry);
    options.runs.seed = seed;
    std::optional<std::string> failure =
        checkCase(context.get(), settings.programOf(seed, settings.numOps), options, coverage);
    if (!failure)
      continue;
    int64_t size = settings.numOps >= 0 ? settings.numOps : numOpsOf(seed);
    for (int64_t n = 0; settings.isShrinking && n < size; ++n) {
      Coverage ignored;
      if (auto smaller = checkCase(context.get(), settings.programOf(seed, n), options, ignored)) {
        failure = smaller;
        size = n;
      }
    }
    llvm::outs() << "FAILED seed " << seed << " (replay: cleave-fuzz --seeds " << seed << " --ops "
                 << size << (settings.isTraining ? " --train" : "")
                 << (settings.isRun ? " --run" : "") << ")\n  " << *failure << "\n";
  }
  report(coverage);
  return coverage.failed == 0 ? 0 : 1;
}
