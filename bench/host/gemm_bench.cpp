// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products on one core, in GFLOP/s. 2048 x 2048 x 2048 is the yardstick; the others are the
// products of a LLaMA of hidden size 512 (weights lie as [n, k]), whole and sharded.
#include "drivers/host/gemm.h"
#include <benchmark/benchmark.h>
#include <random>
#include <vector>

namespace {

using namespace cleave;
using host::GemmDesc, host::GemmPlan;

void gemm(benchmark::State &state, fb::DType dtype) {
  GemmDesc desc;
  desc.dtypeAB = desc.dtypeC = dtype;
  desc.m = state.range(0);
  desc.n = state.range(1);
  desc.k = state.range(2);
  desc.aStrides = {0, desc.k, 1};
  desc.bStrides = {0, 1, desc.k};
  desc.cStrides = {0, desc.n, 1};
  auto plan = GemmPlan::create(desc);
  if (!plan.ok())
    return state.SkipWithError(std::string(plan.status().message()).c_str());
  state.SetLabel((*plan)->method());
  std::mt19937 random(1);
  // In bf16 and f16 these bits are ordinary numbers too.
  std::vector<float> a(desc.m * desc.k), b(desc.k * desc.n), c(desc.m * desc.n);
  for (auto *x : {&a, &b})
    for (float &y : *x)
      y = 1 + float(random() % 1000) / 1024;
  std::vector<char> scratch((*plan)->scratchBytes() + 64);
  void *aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
  for (auto _ : state)
    if (auto status = (*plan)->run(a.data(), b.data(), c.data(), aligned); !status.ok())
      return state.SkipWithError(std::string(status.message()).c_str());
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * double(desc.m) * double(desc.n) *
                                                     double(desc.k) * double(state.iterations()),
                                                 benchmark::Counter::kIsRate);
}

void shapes(benchmark::internal::Benchmark *bench) {
  bench->ArgNames({"m", "n", "k"})->Unit(benchmark::kMicrosecond);
  bench->Args({2048, 2048, 2048});
  const int64_t layers[][2] = {{512, 512}, {1408, 512}, {512, 1408}, {352, 512},
                               {512, 352}, {2048, 512}, {8192, 512}};
  for (int64_t m : {2048, 1024, 256, 8, 1})
    for (auto [n, k] : layers)
      bench->Args({m, n, k});
}

BENCHMARK_CAPTURE(gemm, f32, fb::DType::F32)->Apply(shapes);
BENCHMARK_CAPTURE(gemm, bf16, fb::DType::BF16)->Apply(shapes);
BENCHMARK_CAPTURE(gemm, f16, fb::DType::F16)->ArgNames({"m", "n", "k"})->Args({2048, 1408, 512});

} // namespace
