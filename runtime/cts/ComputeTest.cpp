// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products and attention through the HAL. Their numerics in depth are the drivers' own
// tests; here is what every driver must agree on: layouts, types, accumulation, masks, empty sizes.

#include "Conformance.h"
#include <cmath>

namespace cleave::cts {
namespace {

using hal::AttentionCommand;
using hal::GemmCommand;
using rt::DType;

class Compute : public Conformance {};
INSTANTIATE_TEST_SUITE_P(Cts, Compute, testing::ValuesIn(configurations()), nameOf);

TEST_P(Compute, Gemm) {
  CLEAVE_CTS_START(1, "results");
  struct Sizes {
    int64_t batch, m, n, k;
  };
  for (auto [batch, m, n, k] :
       {Sizes{1, 3, 5, 7}, {1, 64, 48, 33}, {3, 4, 6, 5}, {1, 1, 9, 4}, {2, 7, 1, 3}, {1, 4, 4, 0}})
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true})
        for (bool accumulate : {false, true})
          for (auto [ab, out] : {std::pair(DType::F32, DType::F32),
                                 {DType::BF16, DType::F32},
                                 {DType::BF16, DType::BF16}}) {
            desc_.devices.assign(1, {});
            buffers_.clear();
            GemmCommand g;
            g.dtypeAB = ab;
            g.dtypeC = out;
            g.batch = batch;
            g.m = m;
            g.n = n;
            g.k = k;
            g.accumulate = accumulate;
            g.aStrides =
                transposeA ? std::array{m * k, int64_t(1), m} : std::array{m * k, k, int64_t(1)};
            g.bStrides =
                transposeB ? std::array{n * k, int64_t(1), k} : std::array{n * k, n, int64_t(1)};
            g.cStrides = {m * n, n, 1};
            auto bytes = [](int64_t count, DType type) {
              return uint64_t(count) * rt::sizeOf(type);
            };
            std::vector<double> a = smallNumbers(size_t(batch * m * k), 1, -4, 4),
                                b = smallNumbers(size_t(batch * k * n), 2, -4, 4),
                                c = smallNumbers(size_t(batch * m * n), 3, -4, 4);
            uint64_t bAt = (bytes(batch * m * k, ab) + 63) / 64 * 64;
            uint64_t cAt = bAt + (bytes(batch * k * n, ab) + 63) / 64 * 64;
            scratch(cAt + bytes(batch * m * n, out));
            g.a = slice(0, bytes(batch * m * k, ab));
            g.b = slice(bAt, bytes(batch * k * n, ab));
            g.c = slice(cAt, bytes(batch * m * n, out));
            write(0, 0, encode(ab, a));
            write(0, bAt, encode(ab, b));
            write(0, cAt, encode(out, c));
            add(0, g);
            ASSERT_EQ(run(), absl::OkStatus());
            std::vector<double> result = decode(out, read(0, cAt, g.c.bytes));
            for (int64_t x = 0; x < batch; ++x)
              for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j) {
                  size_t at = size_t((x * m + i) * n + j);
                  double sum = accumulate ? c[at] : 0;
                  for (int64_t l = 0; l < k; ++l)
                    sum += a[size_t(x * g.aStrides[0] + i * g.aStrides[1] + l * g.aStrides[2])] *
                           b[size_t(x * g.bStrides[0] + l * g.bStrides[1] + j * g.bStrides[2])];
                  if (out == DType::BF16)
                    sum = rt::bf16ToFloat(rt::floatToBf16(float(sum)));
                  ASSERT_EQ(result[at], sum) << m << "x" << n << "x" << k; // exact: small integers
                }
          }
}

TEST_P(Compute, Attention) {
  CLEAVE_CTS_START(1, "results");
  for (bool causal : {false, true})
    for (int64_t window : {-1, 3})
      for (double softcap : {0.0, 2.0})
        for (int64_t valid : {0, 6, 9}) {
          desc_.devices.assign(1, {});
          buffers_.clear();
          AttentionCommand c;
          c.batch = 2;
          c.sq = 5;
          c.skv = 9;
          c.kvHeads = 2;
          c.groups = 3;
          c.d = 8;
          c.dv = 4;
          c.scale = 0.7;
          c.softcap = softcap;
          c.causal = causal;
          c.window = window;
          c.queryOffset = 2;
          c.validKeys = valid;
          size_t heads = size_t(c.batch * c.sq * c.kvHeads * c.groups);
          size_t keys = size_t(c.batch * c.skv * c.kvHeads);
          std::vector<double> q = fractions(heads * 8, 1), k = fractions(keys * 8, 2),
                              v = fractions(keys * 4, 3);
          // Keys that are not valid hold NaN and must have no influence.
          for (int64_t b = 0; b < c.batch; ++b)
            for (int64_t j = valid; j < c.skv; ++j)
              for (int64_t h = 0; h < 2; ++h)
                k[size_t(((b * c.skv + j) * 2 + h) * 8)] =
                    v[size_t(((b * c.skv + j) * 2 + h) * 4)] = NAN;
          uint64_t at = 0;
          auto place = [&](size_t elements) {
            hal::Slice s = slice(at, elements * 4);
            at += (elements * 4 + 63) / 64 * 64;
            return s;
          };
          c.q = place(q.size());
          c.k = place(k.size());
          c.v = place(v.size());
          c.out = place(heads * 4);
          c.lse = place(heads);
          scratch(at);
          write(0, c.q.offset, encode(DType::F32, q));
          write(0, c.k.offset, encode(DType::F32, k));
          write(0, c.v.offset, encode(DType::F32, v));
          add(0, c);
          ASSERT_EQ(run(), absl::OkStatus());
          std::vector<double> out = decode(DType::F32, read(0, c.out.offset, c.out.bytes));
          std::vector<double> lse = decode(DType::F32, read(0, c.lse.offset, c.lse.bytes));
          for (int64_t b = 0; b < c.batch; ++b)
            for (int64_t i = 0; i < c.sq; ++i)
              for (int64_t h = 0; h < 2; ++h)
                for (int64_t g = 0; g < 3; ++g) {
                  size_t head = size_t(((b * c.sq + i) * 2 + h) * 3 + g);
                  int64_t p = 2 + i;
                  double total = 0, expected[4] = {};
                  for (int64_t j = 0; j < valid; ++j) {
                    if ((causal && j > p) || (window >= 0 && p - j >= window))
                      continue;
                    size_t key = size_t((b * c.skv + j) * 2 + h);
                    double score = 0;
                    for (size_t x = 0; x < 8; ++x)
                      score += q[head * 8 + x] * k[key * 8 + x];
                    score *= c.scale;
                    if (softcap != 0)
                      score = softcap * std::tanh(score / softcap);
                    total += std::exp(score);
                    for (size_t x = 0; x < 4; ++x)
                      expected[x] += std::exp(score) * v[key * 4 + x];
                  }
                  for (size_t x = 0; x < 4; ++x)
                    ASSERT_NEAR(out[head * 4 + x], total == 0 ? 0 : expected[x] / total, 2e-6);
                  double l = lse[size_t(((b * 2 + h) * 3 + g) * c.sq + i)];
                  if (total == 0)
                    ASSERT_EQ(l, -INFINITY);
                  else
                    ASSERT_NEAR(l, std::log(total), 2e-6);
                }
        }
}

} // namespace
} // namespace cleave::cts
