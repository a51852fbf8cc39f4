// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What each phase of the compiler costs, and how that grows with layers and with devices.
//
//   propagate/STEP/FORM/GIVEN/layers:N
//       cleave-propagate by itself on llama-7b over dp=8,tp=8. STEP: forward, or train (backward
//       and AdamW with it). FORM: named (as imported) or primitives (after cleave-decompose).
//       GIVEN: strategy (what cleave compile gives: states, inputs, constraints on activations) or
//       inputs (no constraint inside).
//   phase/STEP/MODEL/MESH/layers:N/PHASE
//       one phase, its contract verifiers included; kernels: compiling kernel bodies for both
//       baselines; write: the file's bytes.
//
// Every repetition starts from a new context; verifiers between passes are off. time_per_op is
// CPU time by the ops that the function had when the clock started.

#include "BenchModel.h"

#include "cleave/Target/Executable/Executable.h"

#include <benchmark/benchmark.h>

using namespace cleave;
using namespace cleave::bench;

namespace {

/// Times `timed` on what `prepare` leaves. An error of either ends the benchmark.
template <typename Prepare, typename Timed>
void measure(benchmark::State &state, const ModelCase &modelCase, Prepare prepare, Timed timed) {
  int64_t ops = 0;
  for (auto unused : state) {
    state.PauseTiming();
    auto model = std::make_unique<BenchModel>(modelCase);
    if (failed(prepare(*model)))
      return state.SkipWithError("a phase before failed");
    ops = model->module() ? model->opCount() : 0;
    state.ResumeTiming();
    mlir::LogicalResult result = timed(*model);
    state.PauseTiming();
    if (failed(result))
      return state.SkipWithError("the phase failed");
    if (!ops)
      ops = model->opCount();
    model.reset();
    state.ResumeTiming();
  }
  state.counters["ops"] = ops;
  state.counters["time_per_op"] = benchmark::Counter(
      ops, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

benchmark::internal::Benchmark *configure(benchmark::internal::Benchmark *benchmark) {
  return benchmark->Iterations(1)->Repetitions(5)->Unit(benchmark::kMillisecond);
}

std::string stepOf(bool training) { return training ? "train" : "forward"; }

void addPropagation(bool training, const std::string &form, const std::string &given,
                    int64_t layers) {
  ModelCase modelCase{"llama-7b", layers, "dp=8,tp=8", 16, 2048, training};
  configure(benchmark::RegisterBenchmark(
      ("propagate/" + stepOf(training) + "/" + form + "/" + given +
       "/layers:" + std::to_string(layers))
          .c_str(),
      [=](benchmark::State &state) {
        measure(
            state, modelCase,
            [&](BenchModel &model) -> mlir::LogicalResult {
              if (failed(model.import()) || failed(model.runPhases(Phase::Plan)))
                return mlir::failure();
              if (given == "inputs")
                model.dropConstraints();
              return form == "primitives" ? model.run("cleave-decompose") : mlir::success();
            },
            [](BenchModel &model) { return model.run("func.func(cleave-propagate)"); });
      }));
}

/// Phases after import and their successors, which are no pass pipelines.
void addPhases(const ModelCase &modelCase) {
  std::string prefix = "phase/" + stepOf(modelCase.training) + "/" + modelCase.model + "/" +
                       modelCase.mesh + "/layers:" + std::to_string(modelCase.layers) + "/";
  auto add = [&](llvm::StringRef name, auto prepare, auto timed) {
    configure(
        benchmark::RegisterBenchmark((prefix + name).str().c_str(), [=](benchmark::State &state) {
          measure(state, modelCase, prepare, timed);
        }));
  };
  auto upTo = [](Phase last) {
    return [last](BenchModel &model) {
      return failed(model.import()) ? mlir::failure() : model.runPhases(last);
    };
  };
  add(
      "import", [](BenchModel &) { return mlir::success(); },
      [](BenchModel &model) { return model.import(); });
  for (int phase = int(Phase::Differentiate); phase <= int(Phase::Verify); ++phase)
    add(phaseNames()[phase], upTo(Phase(phase - 1)),
        [=](BenchModel &model) { return model.runPhase(Phase(phase)); });
  add("kernels", upTo(Phase::Verify),
      [](BenchModel &model) { return compileKernels(model.module(), {}); });
  auto objects = std::make_shared<std::vector<HostKernelObject>>();
  add(
      "write",
      [=](BenchModel &model) -> mlir::LogicalResult {
        if (failed(upTo(Phase::Verify)(model)))
          return mlir::failure();
        mlir::FailureOr<std::vector<HostKernelObject>> made = compileKernels(model.module(), {});
        if (succeeded(made))
          *objects = std::move(*made);
        return made;
      },
      [=](BenchModel &model) { return writeExecutable(model.module(), *objects, {}); });
}

const int registered = [] {
  for (bool training : {false, true}) {
    for (const char *form : {"named", "primitives"})
      for (const char *given : {"strategy", "inputs"})
        for (int64_t layers : {1, 4, 16, 32, 64})
          addPropagation(training, form, given, layers);
    for (int64_t layers : {16, 32})
      addPhases({"llama3-8b", layers, "dp=8,tp=8", 128, 2048, training});
    addPhases({"llama3-8b", 32, "dp=128,tp=8", 128, 2048, training});
    for (int64_t layers : {63, 126})
      addPhases({"llama3.1-405b", layers, "dp=128,tp=8", 128, 2048, training});
  }
  return 0;
}();

} // namespace
