// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attention on one core, in GFLOP/s of its two matrix products. A causal case counts only the
// scores that queries see.
#include "drivers/host/attention.h"
#include <benchmark/benchmark.h>
#include <random>
#include <vector>

namespace {

using namespace cleave;
using host::AttentionDesc, host::AttentionIsa, host::AttentionPlan;

void attention(benchmark::State &state, fb::DType dtype, AttentionIsa isa) {
  AttentionDesc desc;
  desc.dtype = dtype;
  desc.batch = 1;
  desc.sq = state.range(0);
  desc.skv = desc.validKeys = state.range(1);
  desc.queryOffset = desc.skv - desc.sq;
  desc.kvHeads = state.range(2);
  desc.groups = state.range(3);
  desc.d = desc.dv = state.range(4);
  desc.causal = state.range(5);
  desc.scale = 0.125;
  auto plan = AttentionPlan::create(desc, isa);
  if (!plan.ok())
    return state.SkipWithError(std::string(plan.status().message()).c_str());
  int64_t queries = desc.sq * desc.kvHeads * desc.groups * desc.d;
  int64_t keys = desc.skv * desc.kvHeads * desc.d;
  std::mt19937 random(1);
  // In bf16 these bits are small numbers too.
  std::vector<float> q(queries), k(keys), v(keys), out(queries);
  for (auto *x : {&q, &k, &v})
    for (float &y : *x)
      y = float(random() % 2001) / 1000 - 1;
  std::vector<char> scratch(plan->scratchBytes() + 64);
  void *aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
  for (auto _ : state) {
    plan->run({q.data(), k.data(), v.data(), out.data(), nullptr}, aligned);
    benchmark::ClobberMemory();
  }
  double pairs = 0;
  for (int64_t i = 0; i < desc.sq; ++i)
    pairs += desc.causal ? double(desc.queryOffset + i + 1) : double(desc.skv);
  double flops = pairs * double(desc.kvHeads * desc.groups * desc.d * 4);
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9 * double(state.iterations()), benchmark::Counter::kIsRate);
}

void shapes(benchmark::internal::Benchmark *bench) {
  bench->ArgNames({"sq", "skv", "kv", "g", "d", "causal"});
  for (int64_t d : {64, 128})
    for (int64_t causal : {0, 1})
      for (int64_t s : {256, 512, 1024, 2048})
        bench->Args({s, s, 2, 4, d, causal});
  bench->Args({256, 256, 8, 1, 64, 1});
  bench->Args({2048, 2048, 8, 1, 64, 1});
  bench->Args({1, 2048, 2, 4, 64, 1}); // one token against a cache
  bench->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(attention, f32_avx512, fb::DType::F32, AttentionIsa::Avx512)->Apply(shapes);
BENCHMARK_CAPTURE(attention, f32_avx2, fb::DType::F32, AttentionIsa::Avx2)->Apply(shapes);
BENCHMARK_CAPTURE(attention, bf16, fb::DType::BF16, AttentionIsa::Best)->Apply(shapes);

} // namespace
