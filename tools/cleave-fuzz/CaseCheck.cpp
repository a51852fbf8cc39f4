// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "CaseCheck.h"

#include "RandomTraining.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Interpreter/Arguments.h"
#include "cleave/Interpreter/Interpreter.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::fuzz;

namespace {

/// A step of the compiler after which the program is in local form or not yet.
struct Stage {
  const char *name;
  const char *pipeline;
  bool isLocal;
};

constexpr Stage kStages[] = {
    {"propagate",
     "func.func(cleave-propagate),cleave-decompose-sharded,func.func(cleave-propagate)", false},
    {"insert-reshards", "func.func(cleave-insert-reshards,cleave-verify-resharded)", false},
    {"reshard-to-collectives", "func.func(cleave-reshard-to-collectives,cleave-verify-resharded)",
     false},
    {"partition", "func.func(cleave-partition)", true},
    {"outline-repetitions", "cleave-outline-repetitions", true},
    {"merge", "func.func(cleave-merge-collectives)", true},
    {"overlap", "func.func(cleave-overlap-collectives)", true},
};

std::string differences(const Tensors &got, const Tensors &expected, double tolerance) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (auto [i, a, b] : llvm::enumerate(got, expected)) {
    interpreter::Difference d = interpreter::compare(*a, *b);
    if (d.sameType && d.relative <= tolerance)
      continue;
    stream << "result " << i << " differs";
    if (d.sameType)
      stream << " at element " << d.index << ": " << llvm::format("%.17g", a->number(d.index))
             << ", expected " << llvm::format("%.17g", b->number(d.index));
    stream << "\n";
  }
  return text;
}

void cover(ModuleOp module, Coverage &coverage) {
  int64_t sent = 0;
  bool uneven = false;
  module.walk([&](Operation *op) {
    if (isa<CollectiveOpInterface, MaskPaddingOp, DoneOp>(op))
      ++coverage.ops[op->getName().stripDialect().str()];
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      sent += collective.getCollectiveKind() != CollectiveKind::AllSlice;
    for (Value result : op->getResults()) {
      ShardAttr shard = getShard(result);
      if (!shard)
        continue;
      const Mesh *mesh = findMesh(op, shard.getMesh());
      uneven |= mesh && !isEven(shard.getGlobalShape(), layoutOf(shard, *mesh));
      bool fromPartial = llvm::any_of(op->getOperands(), [](Value v) {
        ShardAttr s = getShard(v);
        return s && !s.getUnreducedAxes().empty();
      });
      coverage.partialPassed += fromPartial && !shard.getUnreducedAxes().empty();
    }
  });
  coverage.nothingSent += sent == 0;
  coverage.unevenCases += uneven;
}

class CaseChecker {
public:
  CaseChecker(MLIRContext *context, const ProgramOptions &program, const CheckOptions &options,
              Coverage &coverage)
      : context(context), program(program), options(options), coverage(coverage) {}

  std::optional<std::string> run() {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        errors += diagnostic.str() + "\n";
      coverage.warnings += diagnostic.getSeverity() == DiagnosticSeverity::Warning;
      return success();
    });
    OwningOpRef<ModuleOp> module = randomProgram(context, program);
    if (failed(verify(*module)))
      return fail("generator");
    if (program.isTraining &&
        (failed(makeTrainingStep(*module, program)) || failed(verify(*module))))
      return fail("differentiate");
    auto arguments = interpreter::randomArguments(functionOf(*module), program.seed);
    if (failed(arguments))
      return fail("arguments");
    if (program.isTraining)
      setStepNumbers(functionOf(*module), *arguments);
    if (program.isTraining && program.floats == FloatKind::F64) {
      bool isSmooth = false;
      auto wrong = checkGradients(functionOf(*module), *arguments, program.seed, isSmooth);
      if (failed(wrong))
        return fail("interpretation of the gradients");
      coverage.gradients += isSmooth;
      errors += *wrong;
      if (!errors.empty())
        return fail("gradients");
    }
    auto expected = interpreter::interpretGlobal(functionOf(*module), *arguments);
    if (failed(expected))
      return fail("interpretation of the unsharded program");
    FailureOr<Tensors> rounded = Tensors();
    interpreter::Options rounding;
    rounding.round = true;
    if (options.run)
      rounded = interpreter::interpretGlobal(functionOf(*module), *arguments, rounding);
    if (failed(rounded))
      return fail("interpretation of the rounded program");
    for (const Stage &stage : kStages) {
      PassManager pm(context);
      if (failed(parsePassPipeline(stage.pipeline, pm)) || failed(pm.run(*module)))
        return fail(stage.name);
      if (llvm::StringRef(stage.name) == "reshard-to-collectives")
        module->walk([&](ReshardOp) { ++coverage.becomesPartial; });
      // The last stage answers for all: the others are looked at when it is wrong.
      bool isLast = &stage == std::end(kStages) - 1;
      if (!stage.isLocal || !(isLast || checkEachStage))
        continue;
      auto got = interpreter::interpretGlobal(functionOf(*module), *arguments);
      if (failed(got))
        return fail(std::string("interpretation after ") + stage.name);
      errors += differences(*got, *expected, options.tolerance);
      if (!errors.empty())
        return fail(stage.name);
    }
    cover(*module, coverage);
    if (options.run)
      if (auto failure =
              runCase(*module, *arguments, *expected, *rounded, options.runs, coverage.runs))
        return fail(*failure);
    return std::nullopt;
  }

  bool checkEachStage = false;

private:
  static func::FuncOp functionOf(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }
  std::optional<std::string> fail(const std::string &where) { return where + ": " + errors; }

  MLIRContext *context;
  const ProgramOptions &program;
  const CheckOptions &options;
  Coverage &coverage;
  std::string errors;
};

} // namespace

std::optional<std::string> fuzz::checkCase(MLIRContext *context, const ProgramOptions &program,
                                           const CheckOptions &options, Coverage &coverage) {
  ++coverage.cases;
  std::optional<std::string> failure = CaseChecker(context, program, options, coverage).run();
  if (!failure)
    return std::nullopt;
  ++coverage.failed;
  // Again, to name the first stage that is wrong.
  Coverage ignored;
  CaseChecker again(context, program, options, ignored);
  again.checkEachStage = true;
  std::optional<std::string> first = again.run();
  return first ? first : failure;
}
