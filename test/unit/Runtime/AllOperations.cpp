// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "AllOperations.h"

namespace cleave::rt::test {
namespace {

using Ref = fb::BufferRef;
constexpr fb::DType kF32 = fb::DType::F32;

std::unique_ptr<Ref> pointer(const Ref &r) { return std::make_unique<Ref>(r); }

std::unique_ptr<fb::CollectivePartT> part(const Ref &src, const Ref &dst, uint64_t outer,
                                          uint64_t dim, uint64_t block, uint64_t inner) {
  auto p = std::make_unique<fb::CollectivePartT>();
  p->src = pointer(src);
  p->dst = pointer(dst);
  p->outer = outer;
  p->dim = dim;
  p->block = block;
  p->inner = inner;
  return p;
}

fb::CollectiveT collective(fb::CollectiveKind kind, uint32_t axes, const Ref &src, const Ref &dst,
                           uint64_t outer, uint64_t dim, uint64_t block, uint64_t inner) {
  fb::CollectiveT c;
  c.kind = kind;
  c.dtype = kF32;
  c.axes = axes;
  c.parts.push_back(part(src, dst, outer, dim, block, inner));
  return c;
}

} // namespace

ExecutableBuilder allOperations() {
  using fb::CollectiveKind;
  ExecutableBuilder b({{"dp", 2}, {"tp", 2}});
  Ref w = b.state("w", kF32, {8, 8}, {-1, 1}, "w"); // local [8, 4]
  Ref cache = b.state("cache", kF32, {4, 4}, {-1, -1});
  Ref x = b.input("x", kF32, {4, 8}, {0, -1}); // local [2, 8]
  b.input("input_ids", fb::DType::I64, {4}, {0});
  b.executable.token_limit = 50;
  Ref y = b.output("y", kF32, {4, 8}, {0, 1}); // local [2, 4]
  uint32_t overTp = b.axisList({1}), overAll = b.axisList({0, 1});

  Ref product = b.scratch(2 * 4 * 4);
  fb::GemmT gemm; // [2, 8] x [8, 4]
  gemm.dtype_ab = gemm.dtype_c = kF32;
  gemm.batch = 1;
  gemm.m_max = 2;
  gemm.n_max = 4;
  gemm.k_max = 8;
  gemm.k = expr({0, 8});
  gemm.a = pointer(x);
  gemm.b = pointer(w);
  gemm.c = pointer(product);
  gemm.a_strides = {16, 8, 1};
  gemm.b_strides = {32, 4, 1};
  gemm.c_strides = {8, 4, 1};
  b.add(std::move(gemm), "product");

  Ref active = b.scratch(64);
  fb::LaunchT launch;
  launch.kernel = b.kernel("test_relu", {32, 64}, {fb::Access::Read, fb::Access::Write}, {0}, {16});
  launch.buffers = {product, active};
  launch.scalars.push_back(expr({0, 8, 1, overTp, 3, 0}));
  b.add(std::move(launch), "activation");

  Ref attended = b.scratch(64);
  fb::AttentionT attention; // q [1, 2, 1, 2, 4] of x, k = v [1, 2, 1, 4] of product
  attention.dtype = kF32;
  attention.batch = 1;
  attention.sq = attention.skv = 2;
  attention.kv_heads = 1;
  attention.groups = 2;
  attention.d = attention.dv = 4;
  attention.q = pointer(x);
  attention.k = pointer(product);
  attention.v = pointer(product);
  attention.out = pointer(attended);
  attention.scale = 0.5;
  attention.causal = true;
  attention.query_offset = expr({0, 0});
  b.add(std::move(attention), "attention");

  Ref copied = b.scratch(64);
  fb::CopyT copy;
  copy.src = pointer(cache);
  copy.dst = pointer(copied);
  b.add(std::move(copy), "copy");

  Ref filled = b.scratch(64);
  fb::FillT fill;
  fill.dst = pointer(filled);
  fill.dtype = kF32;
  fill.value = 3;
  b.add(std::move(fill), "fill");

  Ref gathered = b.scratch(2 * 32), scattered = b.scratch(32), exchanged = b.scratch(32),
      sliced = b.scratch(16);
  fb::CollectiveT sum = collective(CollectiveKind::AllReduce, overTp, filled, filled, 1, 1, 1, 16);
  sum.parts.push_back(part(copied, copied, 1, 1, 1, 16));
  b.add(std::move(sum), "sum", 1, {AllOperations::kFill});
  b.add(collective(CollectiveKind::AllGather, overTp, product, gathered, 2, 8, 4, 1), "gather", 1,
        {AllOperations::kGemm});
  b.add(collective(CollectiveKind::ReduceScatter, overTp, gathered, scattered, 2, 8, 4, 1),
        "scatter", 1);
  fb::CollectiveT exchange =
      collective(CollectiveKind::AllToAll, overTp, scattered, exchanged, 1, 4, 2, 1);
  exchange.middle = 1; // [block 2, dim2 4] -> [dim 4, block2 2]
  exchange.dim2 = 4;
  exchange.block2 = 2;
  exchange.gather_outer = true;
  b.add(std::move(exchange), "exchange", 1);
  // Of the 4 devices the last two hold nothing.
  b.add(collective(CollectiveKind::AllSlice, overAll, exchanged, sliced, 1, 8, 4, 1), "slice", 1);
  fb::CollectiveT permute = collective(CollectiveKind::Permute, overAll, exchanged, y, 1, 1, 1, 8);
  permute.peer = expr({1, overAll, 0, 1, 2, 0, 0, 4, 8, 0});   // (device + 1) % 4
  permute.source = expr({1, overAll, 0, 3, 2, 0, 0, 4, 8, 0}); // (device + 3) % 4
  b.add(std::move(permute), "permute", 1);

  fb::AttentionGradT grad; // of the attention above
  grad.dtype = kF32;
  grad.batch = 1;
  grad.sq = grad.skv = 2;
  grad.kv_heads = 1;
  grad.groups = 2;
  grad.d = grad.dv = 4;
  grad.q = pointer(x);
  grad.k = pointer(product);
  grad.v = pointer(product);
  grad.out = pointer(attended);
  grad.dout = pointer(copied);
  grad.dq = pointer(b.scratch(64));
  grad.dk = pointer(b.scratch(32));
  grad.dvalue = pointer(b.scratch(32));
  grad.scale = 0.5;
  grad.causal = true;
  grad.query_offset = expr({0, 0});
  grad.dropout = std::make_unique<fb::DropoutT>();
  grad.dropout->seed = pointer(filled);
  grad.dropout->step = pointer(filled);
  grad.dropout->threshold = 1u << 30;
  grad.dropout->scale = 1.5;
  grad.dropout->position = expr({0, 128});
  grad.dropout->batch_stride = 256;
  grad.dropout->query_stride = 64;
  b.add(std::move(grad), "attention");
  return b;
}

} // namespace cleave::rt::test
