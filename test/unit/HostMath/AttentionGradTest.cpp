// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#include "DropoutReference.h"
#include "Tensors.h"
#include "drivers/host/attention_grad.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

namespace {

using namespace cleave;
using cleave::host::AttentionDesc, cleave::host::AttentionGradPlan, cleave::host::AttentionPlan;
using cleave::test::Buffer, cleave::test::chance, cleave::test::pick, cleave::test::Random;
using cleave::test::Scratch;

bool sees(const AttentionDesc &d, int64_t query, int64_t key) {
  int64_t p = d.queryOffset + query;
  return key < d.validKeys && (!d.causal || key <= p) && (d.window < 0 || p - key < d.window);
}

struct Case {
  AttentionDesc d;
  Buffer q, k, v, out, dout, lse, dq, dk, dv;
  int64_t seed = -77, step = 12;

  explicit Case(const AttentionDesc &d)
      : d(d), q(d.dtype, rows() * d.d), k(d.dtype, keys() * d.d), v(d.dtype, keys() * d.dv),
        out(d.dtype, rows() * d.dv), dout(d.dtype, rows() * d.dv), lse(fb::DType::F32, rows()),
        dq(d.dtype, rows() * d.d), dk(d.dtype, keys() * d.d), dv(d.dtype, keys() * d.dv) {}
  int64_t rows() const { return d.batch * d.sq * d.kvHeads * d.groups; }
  int64_t keys() const { return d.batch * d.skv * d.kvHeads; }

  /// The forward pass, which gives `out` and `lse`.
  void forward() {
    auto plan = AttentionPlan::create(d);
    ASSERT_TRUE(plan.ok()) << plan.status();
    Scratch scratch(plan->scratchBytes());
    plan->run(
        {q.data(), k.data(), v.data(), out.data(), static_cast<float *>(lse.data()), &seed, &step},
        scratch.get());
  }
  void backward(bool withLse) {
    auto plan = AttentionGradPlan::create(d);
    ASSERT_TRUE(plan.ok()) << plan.status();
    Scratch scratch(plan->scratchBytes());
    for (Buffer *result : {&dq, &dk, &dv})
      result->fill(std::numeric_limits<double>::quiet_NaN());
    auto status = plan->run({q.data(), k.data(), v.data(), out.data(), dout.data(),
                             withLse ? static_cast<const float *>(lse.data()) : nullptr, &seed,
                             &step, dq.data(), dk.data(), dv.data()},
                            scratch.get());
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(scratch.guardIntact());
    for (const Buffer *buffer : {&dq, &dk, &dv})
      EXPECT_TRUE(buffer->guardsIntact());
  }
};

/// The gradients in double, from the definition.
struct Expected {
  std::vector<double> dq, dk, dv;
  explicit Expected(const Case &c) : dq(c.q.size(), 0.0), dk(c.k.size(), 0.0), dv(c.v.size(), 0.0) {
    const AttentionDesc &d = c.d;
    for (int64_t b = 0; b < d.batch; ++b)
      for (int64_t h = 0; h < d.kvHeads; ++h)
        for (int64_t g = 0; g < d.groups; ++g)
          for (int64_t i = 0; i < d.sq; ++i)
            addQuery(c, b, h, g, ((b * d.sq + i) * d.kvHeads + h) * d.groups + g, i);
  }
  void addQuery(const Case &c, int64_t b, int64_t h, int64_t g, int64_t row, int64_t i) {
    const AttentionDesc &d = c.d;
    std::vector<double> p(d.skv, 0.0), slope(d.skv, 1.0);
    double most = -std::numeric_limits<double>::infinity(), total = 0;
    auto key = [&](int64_t j) { return (b * d.skv + j) * d.kvHeads + h; };
    for (int64_t j = 0; j < d.skv; ++j) {
      if (!sees(d, i, j))
        continue;
      double s = 0;
      for (int64_t x = 0; x < d.d; ++x)
        s += c.q.get(row * d.d + x) * c.k.get(key(j) * d.d + x);
      s *= d.scale;
      if (d.softcap > 0) {
        double t = std::tanh(s / d.softcap);
        slope[j] = 1 - t * t;
        s = d.softcap * t;
      }
      p[j] = s;
      most = std::max(most, s);
    }
    for (int64_t j = 0; j < d.skv; ++j)
      if (sees(d, i, j))
        total += p[j] = std::exp(p[j] - most);
    std::vector<double> dp(d.skv, 0.0);
    double delta = 0;
    for (int64_t j = 0; j < d.skv; ++j) {
      if (!sees(d, i, j))
        continue;
      p[j] /= total;
      double factor = cleave::test::dropoutFactor(d, c.seed, c.step, b, i, h, g, j);
      for (int64_t x = 0; x < d.dv; ++x) {
        dp[j] += factor * c.dout.get(row * d.dv + x) * c.v.get(key(j) * d.dv + x);
        dv[key(j) * d.dv + x] += factor * p[j] * c.dout.get(row * d.dv + x);
      }
      delta += p[j] * dp[j];
    }
    for (int64_t j = 0; j < d.skv; ++j) {
      if (!sees(d, i, j))
        continue;
      double ds = p[j] * (dp[j] - delta) * slope[j] * d.scale;
      for (int64_t x = 0; x < d.d; ++x) {
        dq[row * d.d + x] += ds * c.k.get(key(j) * d.d + x);
        dk[key(j) * d.d + x] += ds * c.q.get(row * d.d + x);
      }
    }
  }
};

void expectNear(const Buffer &actual, const std::vector<double> &expected, double tolerance,
                const char *name) {
  // Terms of about 1 cancel in ds, so what rounds away is not small beside a gradient near 0.
  double largest = 1;
  for (double x : expected)
    largest = std::max(largest, std::abs(x));
  for (int64_t i = 0; i < actual.size(); ++i)
    ASSERT_LE(std::abs(actual.get(i) - expected[i]), tolerance * largest)
        << name << " at " << i << ": " << actual.get(i) << ", expected " << expected[i];
}

AttentionDesc randomDesc(Random &random) {
  AttentionDesc d;
  d.dtype = chance(random, 3)   ? fb::DType::BF16
            : chance(random, 3) ? fb::DType::F16
                                : fb::DType::F32;
  d.batch = pick(random, 1, 2);
  d.sq = chance(random, 6) ? pick(random, 1, 300) : pick(random, 1, 40);
  d.skv = chance(random, 6) ? pick(random, 1, 300) : pick(random, 1, 40);
  d.kvHeads = pick(random, 1, 3);
  d.groups = pick(random, 1, 4);
  d.d = pick(random, 1, 40);
  d.dv = chance(random, 2) ? d.d : pick(random, 1, 40);
  d.scale = 1 / std::sqrt(double(d.d));
  d.softcap = chance(random, 4) ? 5 : 0;
  d.causal = chance(random, 2);
  if (chance(random, 3))
    d.dropout = cleave::test::randomDropout(random);
  d.window = chance(random, 4) ? pick(random, 1, d.skv + 3) : -1;
  d.queryOffset = chance(random, 3) ? pick(random, 0, d.skv) : 0;
  d.validKeys = chance(random, 3) ? pick(random, 0, d.skv) : d.skv;
  return d;
}

TEST(AttentionGrad, RandomCasesAgreeWithTheDefinition) {
  for (int seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Case c(randomDesc(random));
    for (Buffer *input : {&c.q, &c.k, &c.v, &c.dout})
      input->fillNormal(random);
    c.forward();
    Expected expected(c);
    for (bool withLse : {true, false}) {
      c.backward(withLse);
      // bf16: `out` and the results are rounded to 8 bits; f16: to 11.
      double tolerance = c.d.dtype == fb::DType::BF16  ? 3e-2
                         : c.d.dtype == fb::DType::F16 ? 4e-3
                                                       : 2e-5;
      expectNear(c.dq, expected.dq, tolerance, "dq");
      expectNear(c.dk, expected.dk, tolerance, "dk");
      expectNear(c.dv, expected.dv, tolerance, "dv");
      if (HasFatalFailure())
        return;
    }
  }
}

TEST(AttentionGrad, PaddedKeysHaveNoInfluenceAndNoGradient) {
  AttentionDesc d;
  d.batch = d.kvHeads = 1;
  d.groups = 2;
  d.sq = 5;
  d.skv = 140;
  d.d = d.dv = 8;
  d.validKeys = 131;
  Random random(7);
  Case c(d);
  for (Buffer *input : {&c.q, &c.k, &c.v, &c.dout})
    input->fillNormal(random);
  c.forward();
  c.backward(true);
  Case poisoned = c;
  for (int64_t j = d.validKeys; j < d.skv; ++j)
    for (int64_t x = 0; x < d.d; ++x) {
      poisoned.k.set(j * d.d + x, std::numeric_limits<double>::quiet_NaN());
      poisoned.v.set(j * d.dv + x, std::numeric_limits<double>::quiet_NaN());
    }
  poisoned.backward(true);
  EXPECT_TRUE(c.dq == poisoned.dq);
  EXPECT_TRUE(c.dk == poisoned.dk);
  EXPECT_TRUE(c.dv == poisoned.dv);
  for (int64_t i = d.validKeys * d.d; i < c.dk.size(); ++i)
    EXPECT_EQ(c.dk.get(i), 0.0);
}

TEST(AttentionGrad, EqualCallsGiveEqualBits) {
  Random random(11);
  Case c(randomDesc(random));
  for (Buffer *input : {&c.q, &c.k, &c.v, &c.dout})
    input->fillNormal(random);
  c.forward();
  c.backward(false);
  Case again = c;
  again.backward(false);
  EXPECT_TRUE(c.dq == again.dq);
  EXPECT_TRUE(c.dk == again.dk);
  EXPECT_TRUE(c.dv == again.dv);
}

} // namespace
