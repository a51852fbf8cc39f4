// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How fast kernels run, and how fast they are made.

#include "../../test/unit/HostKernels/LoadedKernels.h"

#include "cleave/Pipelines/Register.h"
#include "cleave/Target/HostKernels/HostKernels.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <benchmark/benchmark.h>

namespace {

using cleave::test::Buffer;
using cleave::test::LoadedKernels;

const char *const kMaps = R"(
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
)";

/// silu(g) * u
std::string siluMultiply(int rows, int columns) {
  std::string t = llvm::formatv("tensor<{0}x{1}xf32>", rows, columns);
  return llvm::formatv(R"(
func.func @silu_{1}_{2}(%g: {0}, %u: {0}) -> {0} {{
  %e = tensor.empty() : {0}
  %y = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%g, %u : {0}, {0}) outs(%e : {0}) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %one = arith.constant 1.0 : f32
    %n = arith.negf %a : f32
    %x = math.exp %n : f32
    %d = arith.addf %x, %one : f32
    %s = arith.divf %a, %d : f32
    %m = arith.mulf %s, %b : f32
    linalg.yield %m : f32
  } -> {0}
  return %y : {0}
}
)",
                       t, rows, columns);
}

/// h * rsqrt(mean(h^2) + eps) * w
std::string rmsNorm(int rows, int columns) {
  std::string t = llvm::formatv("tensor<{0}x{1}xf32>", rows, columns);
  std::string r = llvm::formatv("tensor<{0}xf32>", rows);
  std::string c = llvm::formatv("tensor<{0}xf32>", columns);
  return llvm::formatv(R"(
func.func @norm_{3}_{4}(%h: {0}, %w: {2}) -> {0} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {0}
  %e1 = tensor.empty() : {1}
  %f = linalg.fill ins(%zero : f32) outs(%e1 : {1}) -> {1}
  %sum = linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%h : {0}) outs(%f : {1}) {{
  ^bb0(%a: f32, %acc: f32):
    %sq = arith.mulf %a, %a : f32
    %s = arith.addf %acc, %sq fastmath<reassoc, contract> : f32
    linalg.yield %s : f32
  } -> {1}
  %n = linalg.generic {{indexing_maps = [#id, #row, #col, #id], iterator_types = ["parallel", "parallel"]}
    ins(%h, %sum, %w : {0}, {1}, {2}) outs(%e : {0}) {{
  ^bb0(%a: f32, %t: f32, %g: f32, %o: f32):
    %c = arith.constant {4}.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %m = arith.divf %t, %c : f32
    %me = arith.addf %m, %eps : f32
    %r = math.rsqrt %me : f32
    %p = arith.mulf %a, %r : f32
    %q = arith.mulf %p, %g : f32
    linalg.yield %q : f32
  } -> {0}
  return %n : {0}
}
)",
                       t, r, c, rows, columns);
}

void run(benchmark::State &state, const std::string &target, const std::string &kernel,
         const char *name, size_t elements, size_t inputs) {
  LoadedKernels kernels(kMaps + kernel, target);
  if (!kernels) {
    state.SkipWithError(kernels.error().c_str());
    return;
  }
  std::vector<Buffer<float>> data;
  std::vector<void *> buffers;
  for (size_t i = 0; i < inputs + 1; ++i) {
    data.emplace_back(elements);
    for (size_t j = 0; j < elements; ++j)
      data.back()[j] = static_cast<float>(static_cast<int>(j % 701) - 350) * 0.01f;
    buffers.push_back(data.back().data());
  }
  for (auto unused : state)
    kernels.call(name, buffers);
  state.SetBytesProcessed(state.iterations() * elements * 4 * (inputs + 1));
}

void siluMultiply(benchmark::State &state, const std::string &target) {
  run(state, target, siluMultiply(2048, 1408), "silu_2048_1408", 2048 * 1408, 2);
}
BENCHMARK_CAPTURE(siluMultiply, v3, std::string("x86-64-v3"))->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(siluMultiply, v4, std::string("x86-64-v4"))->Unit(benchmark::kMicrosecond);

void rmsNorm(benchmark::State &state, const std::string &target) {
  run(state, target, rmsNorm(2048, 512), "norm_2048_512", 2048 * 512, 2);
}
BENCHMARK_CAPTURE(rmsNorm, v3, std::string("x86-64-v3"))->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(rmsNorm, v4, std::string("x86-64-v4"))->Unit(benchmark::kMicrosecond);

/// Twenty kernels, both baselines.
void compile(benchmark::State &state) {
  std::string text = kMaps;
  for (int i = 1; i <= 10; ++i)
    text += siluMultiply(64 * i, 320) + rmsNorm(32 * i, 512);
  mlir::DialectRegistry registry;
  cleave::registerAllDialects(registry);
  cleave::registerHostKernelDialects(registry);
  for (auto unused : state) {
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    auto objects = cleave::compileKernels(*module, {});
    if (mlir::failed(objects))
      state.SkipWithError("the kernels do not compile");
  }
}
BENCHMARK(compile)->Unit(benchmark::kMillisecond);

} // namespace
