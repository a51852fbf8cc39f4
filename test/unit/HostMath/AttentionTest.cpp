// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#include "drivers/host/attention.h"
#include "DropoutReference.h"
#include "Tensors.h"
#include "drivers/host/attention_dropout.h"
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <string>

namespace {

using namespace cleave;
using cleave::host::AttentionDesc, cleave::host::AttentionIsa, cleave::host::AttentionPlan;
using cleave::test::Buffer, cleave::test::chance, cleave::test::pick, cleave::test::Random;
using cleave::test::Scratch;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool sees(const AttentionDesc &desc, int64_t query, int64_t key) {
  int64_t p = desc.queryOffset + query;
  return key < desc.validKeys && (!desc.causal || key <= p) &&
         (desc.window < 0 || p - key < desc.window);
}

/// The operands of one call.
struct Case {
  AttentionDesc desc;
  Buffer q, k, v, out, lse;
  int64_t seed = 0x123456789abcdef0, step = 3;

  explicit Case(const AttentionDesc &desc)
      : desc(desc), q(desc.dtype, desc.batch * desc.sq * desc.kvHeads * desc.groups * desc.d),
        k(desc.dtype, desc.batch * desc.skv * desc.kvHeads * desc.d),
        v(desc.dtype, desc.batch * desc.skv * desc.kvHeads * desc.dv),
        out(desc.dtype, desc.batch * desc.sq * desc.kvHeads * desc.groups * desc.dv),
        lse(fb::DType::F32, desc.batch * desc.sq * desc.kvHeads * desc.groups) {}

  int64_t qAt(int64_t b, int64_t i, int64_t h, int64_t g) const {
    return (((b * desc.sq + i) * desc.kvHeads + h) * desc.groups + g) * desc.d;
  }
  int64_t kAt(int64_t b, int64_t j, int64_t h) const {
    return ((b * desc.skv + j) * desc.kvHeads + h) * desc.d;
  }
  int64_t vAt(int64_t b, int64_t j, int64_t h) const {
    return ((b * desc.skv + j) * desc.kvHeads + h) * desc.dv;
  }
  int64_t outAt(int64_t b, int64_t i, int64_t h, int64_t g) const {
    return (((b * desc.sq + i) * desc.kvHeads + h) * desc.groups + g) * desc.dv;
  }
  int64_t lseAt(int64_t b, int64_t i, int64_t h, int64_t g) const {
    return ((b * desc.kvHeads + h) * desc.groups + g) * desc.sq + i;
  }

  /// Makes key j of all batch entries and heads a NaN.
  void poison(int64_t j, double with) {
    for (int64_t b = 0; b < desc.batch; ++b)
      for (int64_t h = 0; h < desc.kvHeads; ++h) {
        for (int64_t c = 0; c < desc.d; ++c)
          k.set(kAt(b, j, h) + c, with);
        for (int64_t c = 0; c < desc.dv; ++c)
          v.set(vAt(b, j, h) + c, with);
      }
  }

  /// Runs the items in an order that `random` picks, or in their own order.
  void run(AttentionIsa isa, Random *random = nullptr, bool wantLse = true) {
    auto plan = AttentionPlan::create(desc, isa);
    ASSERT_TRUE(plan.ok()) << plan.status();
    std::vector<int64_t> order(size_t(plan->items()));
    std::iota(order.begin(), order.end(), 0);
    if (random)
      std::shuffle(order.begin(), order.end(), *random);
    for (int64_t item : order) {
      Scratch scratch(plan->scratchBytes());
      plan->runItem({q.data(), k.data(), v.data(), out.data(),
                     wantLse ? static_cast<float *>(lse.data()) : nullptr, &seed, &step},
                    item, scratch.get());
      EXPECT_TRUE(scratch.guardIntact());
    }
    EXPECT_TRUE(out.guardsIntact() && lse.guardsIntact());
  }

  /// Compares with the definition in f64. A row whose visible keys are poisoned must be NaN.
  void check() const {
    // What rounding the result once may do.
    double rounding = desc.dtype == fb::DType::BF16  ? 1.0 / 256
                      : desc.dtype == fb::DType::F16 ? 1.0 / 2048
                                                     : 0;
    std::vector<double> weights(size_t(desc.skv));
    for (int64_t b = 0; b < desc.batch; ++b)
      for (int64_t h = 0; h < desc.kvHeads; ++h)
        for (int64_t g = 0; g < desc.groups; ++g)
          for (int64_t i = 0; i < desc.sq; ++i) {
            double most = -kInfinity, sum = 0;
            for (int64_t j = 0; j < desc.skv; ++j) {
              if (!sees(desc, i, j))
                continue;
              double score = 0;
              for (int64_t c = 0; c < desc.d; ++c)
                score += q.get(qAt(b, i, h, g) + c) * k.get(kAt(b, j, h) + c);
              score *= desc.scale;
              if (desc.softcap > 0)
                score = desc.softcap * std::tanh(score / desc.softcap);
              weights[size_t(j)] = score;
              most = std::max(most, score);
            }
            for (int64_t j = 0; j < desc.skv; ++j)
              if (sees(desc, i, j))
                sum += weights[size_t(j)] = std::exp(weights[size_t(j)] - most);
            for (int64_t j = 0; j < desc.skv; ++j)
              weights[size_t(j)] *= cleave::test::dropoutFactor(desc, seed, step, b, i, h, g, j);
            std::string where = "b=" + std::to_string(b) + " h=" + std::to_string(h) +
                                " g=" + std::to_string(g) + " i=" + std::to_string(i);
            for (int64_t c = 0; c < desc.dv; ++c) {
              double expected = 0, size = 0;
              for (int64_t j = 0; j < desc.skv; ++j)
                if (sees(desc, i, j)) {
                  double term = weights[size_t(j)] / sum * v.get(vAt(b, j, h) + c);
                  expected += term;
                  size += std::abs(term);
                }
              double found = out.get(outAt(b, i, h, g) + c);
              double limit = 4e-6 * size + std::abs(expected) * rounding +
                             (desc.dtype == fb::DType::F16 ? 0x1p-25 : 1e-30);
              if (std::isnan(expected))
                ASSERT_TRUE(std::isnan(found)) << where << " c=" << c << " found " << found;
              else
                ASSERT_NEAR(found, expected, limit) << where << " c=" << c;
            }
            double expected = sum == 0 ? -kInfinity : most + std::log(sum);
            double found = lse.get(lseAt(b, i, h, g));
            if (std::isinf(expected))
              ASSERT_EQ(found, expected) << where;
            else if (!std::isnan(expected))
              ASSERT_NEAR(found, expected, 2e-6 * (1 + std::abs(expected))) << where;
          }
  }
};

std::string describe(const AttentionDesc &d) {
  std::string text = fb::EnumNameDType(d.dtype);
  for (auto [name, value] : {std::pair<const char *, int64_t>{"B", d.batch},
                             {"Sq", d.sq},
                             {"Skv", d.skv},
                             {"Hkv", d.kvHeads},
                             {"G", d.groups},
                             {"D", d.d},
                             {"Dv", d.dv},
                             {"causal", d.causal},
                             {"window", d.window},
                             {"offset", d.queryOffset},
                             {"valid", d.validKeys}})
    text += std::string(" ") + name + "=" + std::to_string(value);
  return text + " softcap=" + std::to_string(d.softcap);
}

AttentionDesc randomDesc(Random &random) {
  AttentionDesc desc;
  desc.dtype = chance(random, 2)   ? fb::DType::F32
               : chance(random, 2) ? fb::DType::BF16
                                   : fb::DType::F16;
  desc.batch = pick(random, 1, 2);
  desc.kvHeads = pick(random, 1, 3);
  desc.groups = pick(random, 1, 8);
  desc.sq = chance(random, 3) ? pick(random, 1, 4) : pick(random, 1, 90);
  desc.skv = chance(random, 3) ? pick(random, 1, 20) : pick(random, 1, 200);
  desc.d = chance(random, 2) ? 8 * pick(random, 1, 16) : pick(random, 1, 70);
  desc.dv = chance(random, 2) ? desc.d : pick(random, 1, 140);
  desc.scale = 1 / std::sqrt(double(desc.d));
  if (chance(random, 3))
    desc.dropout = cleave::test::randomDropout(random);
  if (chance(random, 3))
    desc.softcap = chance(random, 2) ? 50 : 0.5;
  desc.causal = !chance(random, 3);
  if (chance(random, 3))
    desc.window = pick(random, 0, 100);
  desc.queryOffset = chance(random, 2) ? 0 : pick(random, -20, 200);
  desc.validKeys = chance(random, 2) ? desc.skv : pick(random, 0, desc.skv);
  return desc;
}

class AttentionTest : public testing::TestWithParam<AttentionIsa> {
protected:
  void SetUp() override {
    AttentionDesc desc;
    auto plan = AttentionPlan::create(desc, GetParam());
    if (!plan.ok())
      GTEST_SKIP() << plan.status().message();
  }
};

TEST_P(AttentionTest, AgreesWithTheDefinition) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Case c(randomDesc(random));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(c.desc));
    for (Buffer *x : {&c.q, &c.k, &c.v})
      x->fillNormal(random, 1.5);
    c.out.fill(kNaN);
    c.lse.fill(kNaN);
    // What padding holds is unspecified: it must not matter.
    for (int64_t j = c.desc.validKeys; j < c.desc.skv; ++j)
      c.poison(j, chance(random, 2) ? kNaN : kInfinity);
    ASSERT_NO_FATAL_FAILURE(c.run(GetParam(), &random));
    ASSERT_NO_FATAL_FAILURE(c.check());
  }
}

// A key that is not a number reaches the queries that see it, and no other.
TEST_P(AttentionTest, MaskHidesKeysThatAreNotFinite) {
  for (uint64_t seed = 1000; seed < 1100; ++seed) {
    Random random(seed);
    AttentionDesc desc = randomDesc(random);
    desc.causal = true;
    desc.softcap = 0;
    Case c(desc);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(desc));
    for (Buffer *x : {&c.q, &c.k, &c.v})
      x->fillNormal(random);
    for (int i = 0; i < 3; ++i)
      c.poison(pick(random, 0, desc.skv - 1), kNaN);
    ASSERT_NO_FATAL_FAILURE(c.run(GetParam()));
    ASSERT_NO_FATAL_FAILURE(c.check());
  }
}

// The values alone are not finite: weights of 0 must not meet them.
TEST_P(AttentionTest, MaskHidesInfiniteValues) {
  AttentionDesc desc;
  desc.batch = desc.kvHeads = 1;
  desc.groups = 3;
  desc.sq = desc.skv = desc.validKeys = 100;
  desc.d = desc.dv = 24;
  desc.causal = true;
  desc.window = 30;
  Case c(desc);
  Random random(1);
  for (Buffer *x : {&c.q, &c.k, &c.v})
    x->fillNormal(random, 0.2);
  c.v.set(c.vAt(0, 40, 0) + 7, kInfinity);
  ASSERT_NO_FATAL_FAILURE(c.run(GetParam()));
  for (int64_t i = 0; i < desc.sq; ++i)
    for (int64_t g = 0; g < desc.groups; ++g)
      for (int64_t x = 0; x < desc.dv; ++x)
        EXPECT_EQ(std::isfinite(c.out.get(c.outAt(0, i, 0, g) + x)), !(sees(desc, i, 40) && x == 7))
            << i << " " << g << " " << x;
}

// Scores far apart, and all far from 0: the maximum is taken off before exp.
TEST_P(AttentionTest, LargeScores) {
  for (double scale : {30.0, 1000.0, -1000.0}) {
    AttentionDesc desc;
    desc.batch = desc.kvHeads = 1;
    desc.groups = 2;
    desc.sq = 40;
    desc.skv = desc.validKeys = 300;
    desc.d = desc.dv = 16;
    desc.scale = scale;
    Case c(desc);
    SCOPED_TRACE(scale);
    Random random(7);
    // Small whole numbers, so that scores are exact in f32 and only softmax is tested.
    for (Buffer *x : {&c.q, &c.k})
      for (int64_t i = 0; i < x->size(); ++i)
        x->set(i, double(pick(random, -2, 2)) / 4);
    c.v.fillNormal(random);
    ASSERT_NO_FATAL_FAILURE(c.run(GetParam()));
    for (int64_t i = 0; i < c.out.size(); ++i)
      ASSERT_TRUE(std::isfinite(c.out.get(i))) << i;
    // f32 scores of a thousand have an error of 1e-4, which exp carries on.
    for (int64_t i = 0; i < desc.sq; ++i)
      for (int64_t g = 0; g < desc.groups; ++g) {
        double most = -kInfinity, sum = 0, out = 0;
        for (int pass = 0; pass < 2; ++pass)
          for (int64_t j = 0; j < desc.skv; ++j) {
            double score = 0;
            for (int64_t x = 0; x < desc.d; ++x)
              score += c.q.get(c.qAt(0, i, 0, g) + x) * c.k.get(c.kAt(0, j, 0) + x);
            score *= scale;
            if (pass == 0)
              most = std::max(most, score);
            else {
              sum += std::exp(score - most);
              out += std::exp(score - most) * c.v.get(c.vAt(0, j, 0));
            }
          }
        EXPECT_NEAR(c.out.get(c.outAt(0, i, 0, g)), out / sum, 2e-3) << i << " " << g;
        EXPECT_NEAR(c.lse.get(c.lseAt(0, i, 0, g)), most + std::log(sum),
                    1e-6 * (1 + std::abs(most)));
      }
  }
}

// A row's bits depend on its query and the keys only: not on the order of items, on the rows that
// share its item, or on how often it ran.
TEST_P(AttentionTest, BitsDoNotDependOnTheCompany) {
  AttentionDesc desc;
  desc.batch = 2;
  desc.kvHeads = 2;
  desc.groups = 3;
  desc.sq = 130;
  desc.skv = desc.validKeys = 150;
  desc.queryOffset = 20;
  desc.d = 40;
  desc.dv = 24;
  desc.causal = true;
  desc.window = 90;
  Case c(desc);
  Random random(3);
  for (Buffer *x : {&c.q, &c.k, &c.v})
    x->fillNormal(random);
  ASSERT_NO_FATAL_FAILURE(c.run(GetParam()));
  Buffer once = c.out, lse = c.lse;
  c.out.fill(kNaN);
  ASSERT_NO_FATAL_FAILURE(c.run(GetParam(), &random));
  EXPECT_TRUE(once == c.out);
  EXPECT_TRUE(lse == c.lse);
  c.out.fill(kNaN);
  ASSERT_NO_FATAL_FAILURE(c.run(GetParam(), nullptr, /*wantLse=*/false));
  EXPECT_TRUE(once == c.out);

  // Query 77 of batch entry 1 alone.
  AttentionDesc one = desc;
  one.batch = one.sq = 1;
  one.queryOffset = desc.queryOffset + 77;
  Case alone(one);
  for (int64_t i = 0; i < alone.q.size(); ++i)
    alone.q.set(i, c.q.get(c.qAt(1, 77, 0, 0) + i));
  for (int64_t i = 0; i < alone.k.size(); ++i)
    alone.k.set(i, c.k.get(c.kAt(1, 0, 0) + i));
  for (int64_t i = 0; i < alone.v.size(); ++i)
    alone.v.set(i, c.v.get(c.vAt(1, 0, 0) + i));
  ASSERT_NO_FATAL_FAILURE(alone.run(GetParam()));
  for (int64_t i = 0; i < alone.out.size(); ++i)
    EXPECT_EQ(alone.out.get(i), once.get(c.outAt(1, 77, 0, 0) + i)) << i;
}

TEST_P(AttentionTest, EmptySizes) {
  AttentionDesc desc;
  desc.batch = desc.kvHeads = desc.groups = 1;
  desc.sq = 3;
  desc.d = desc.dv = 8;
  // No keys at all.
  Case none(desc);
  none.q.fill(1);
  none.out.fill(kNaN);
  ASSERT_NO_FATAL_FAILURE(none.run(GetParam()));
  ASSERT_NO_FATAL_FAILURE(none.check());
  // No entries in a head: all keys weigh the same.
  desc.skv = desc.validKeys = 5;
  desc.d = 0;
  Case flat(desc);
  Random random(2);
  flat.v.fillNormal(random);
  ASSERT_NO_FATAL_FAILURE(flat.run(GetParam()));
  ASSERT_NO_FATAL_FAILURE(flat.check());
  // Nothing to compute.
  for (int64_t AttentionDesc::*size : {&AttentionDesc::batch, &AttentionDesc::sq,
                                       &AttentionDesc::kvHeads, &AttentionDesc::groups}) {
    AttentionDesc empty = desc;
    empty.*size = 0;
    auto plan = AttentionPlan::create(empty, GetParam());
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->items(), 0);
    plan->run({}, nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(, AttentionTest, testing::Values(AttentionIsa::Avx2, AttentionIsa::Avx512),
                         [](const testing::TestParamInfo<AttentionIsa> &info) {
                           return info.param == AttentionIsa::Avx2 ? "Avx2" : "Avx512";
                         });

TEST(AttentionPlanTest, RefusesWhatItCanNotDo) {
  AttentionDesc good;
  good.batch = good.sq = good.kvHeads = good.groups = 1;
  good.skv = good.validKeys = 4;
  good.d = good.dv = 8;
  ASSERT_TRUE(AttentionPlan::create(good).ok());
  auto refused = [&](auto change, const char *message) {
    AttentionDesc desc = good;
    change(desc);
    auto plan = AttentionPlan::create(desc);
    ASSERT_FALSE(plan.ok()) << message;
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(plan.status().message()), testing::HasSubstr(message));
  };
  refused([](AttentionDesc &d) { d.dtype = fb::DType::F64; }, "found F64");
  refused([](AttentionDesc &d) { d.sq = -1; }, "sq must not be negative");
  refused([](AttentionDesc &d) { d.validKeys = 5; }, "0..4, found 5");
  refused([](AttentionDesc &d) { d.validKeys = -1; }, "0..4, found -1");
  refused([](AttentionDesc &d) { d.scale = kNaN; }, "scale");
  refused([](AttentionDesc &d) { d.softcap = -1; }, "softcap");
  refused([](AttentionDesc &d) { d.softcap = kInfinity; }, "softcap");
  refused([](AttentionDesc &d) { d.queryOffset = std::numeric_limits<int64_t>::min(); },
          "query_offset");
  refused([](AttentionDesc &d) { d.batch = d.kvHeads = int64_t(1) << 40; }, "larger than memory");
}

/// The vectors that come with Philox's authors' own implementation, of the reference; the kernels'
/// words are the reference's.
TEST(AttentionDropout, WordsArePhilox) {
  using cleave::test::philox, cleave::test::wordAt;
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  Random random(1);
  for (int repeat = 0; repeat < 100; ++repeat) {
    cleave::host::DropoutDraw draw{.threshold = 1,
                                   .site = uint32_t(random()),
                                   .step = uint32_t(random()),
                                   .key = {uint32_t(random()), uint32_t(random())},
                                   .scale = 1};
    uint64_t position = repeat == 0 ? 0 : uint64_t(random()) / 128 * 64;
    if (repeat % 2)
      position |= ~uint64_t(63) & 0x3fffffffff; // the last counters below a carry
    uint32_t words[64];
    drawWords(draw, position, words);
    for (uint64_t j = 0; j < 64; ++j)
      ASSERT_EQ(words[j], wordAt(position + j, draw.key[0] | uint64_t(draw.key[1]) << 32, draw.site,
                                 draw.step));
  }
}

TEST(AttentionDropout, PositionsAreChecked) {
  AttentionDesc desc;
  desc.batch = desc.sq = desc.skv = desc.kvHeads = desc.groups = desc.d = desc.dv = 1;
  desc.dropout.threshold = 1;
  desc.dropout.queryStride = 96;
  EXPECT_THAT(AttentionPlan::create(desc).status().ToString(),
              testing::HasSubstr("must be multiples of 64, found 96"));
}

} // namespace
