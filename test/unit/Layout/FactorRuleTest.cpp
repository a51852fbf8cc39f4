// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/FactorRule.h"

#include "Seed.h"

#include <gtest/gtest.h>

using namespace cleave;

namespace {

constexpr AxisRef kA{0, 1, 4}, kA0{0, 1, 2}, kA1{0, 2, 2}, kB{1, 1, 3}, kC{2, 1, 2};

/// [m, k] x [k, n] -> [m, n].
FactorRule matmulRule(int64_t m, int64_t k, int64_t n) {
  FactorRule rule;
  uint16_t fm = rule.addFactor(m), fk = rule.addFactor(k, FactorKind::Reduction);
  uint16_t fn = rule.addFactor(n);
  rule.operands = {{{fm}, {fk}}, {{fk}, {fn}}};
  rule.results = {{{fm}, {fn}}};
  return rule;
}

/// [a * b] -> [a, b].
FactorRule splitRule(int64_t a, int64_t b) {
  FactorRule rule;
  uint16_t fa = rule.addFactor(a), fb = rule.addFactor(b);
  rule.operands = {{{fa, fb}}};
  rule.results = {{{fa}, {fb}}};
  return rule;
}

TEST(FactorRuleTest, MatmulRoundTrip) {
  FactorRule rule = matmulRule(8, 10, 6);
  Layout lhs{{{kC}, {kA}}, {}};
  FactorAxes axes = projectToFactors(rule, rule.operands[0], lhs);
  EXPECT_EQ(axes, (FactorAxes{{kC}, {kA}, {}})); // 10 over 4: uneven is fine outside compounds
  EXPECT_EQ(tensorLayout(rule.operands[0], axes), lhs);
  EXPECT_EQ(tensorLayout(rule.operands[1], axes), (Layout{{{kA}, {}}, {}}));
  EXPECT_EQ(tensorLayout(rule.results[0], axes), (Layout{{{kC}, {}}, {}}));
  EXPECT_EQ(partialAxes(rule, axes), AxisList{kA});
  EXPECT_TRUE(isRepresentable(rule, rule.operands[0], axes));
}

TEST(FactorRuleTest, PartialAxesAreSorted) {
  FactorRule rule;
  uint16_t x = rule.addFactor(4, FactorKind::Reduction);
  uint16_t y = rule.addFactor(4, FactorKind::Reduction);
  rule.operands = {{{x}, {y}}};
  rule.results = {{}};
  EXPECT_EQ(partialAxes(rule, {{kC, kA1}, {kA0}}), (AxisList{kA, kC}));
}

TEST(FactorRuleTest, AResultIsPartialOverTheSumsItLacks) {
  // [m, k] -> row sums [m] and column sums [k].
  FactorRule rule;
  uint16_t m = rule.addFactor(8, FactorKind::Reduction);
  uint16_t k = rule.addFactor(6, FactorKind::Reduction);
  rule.operands = {{{m}, {k}}};
  rule.results = {{{m}}, {{k}}};
  FactorAxes axes{{kA}, {kB}};
  EXPECT_EQ(partialAxes(rule, axes), (AxisList{kA, kB}));
  EXPECT_EQ(partialAxes(rule, rule.results[0], axes), AxisList{kB});
  EXPECT_EQ(partialAxes(rule, rule.results[1], axes), AxisList{kA});
}

TEST(FactorRuleTest, CompoundDealsAxesMajorToMinor) {
  FactorRule rule = splitRule(2, 6);
  const TensorFactors &merged = rule.operands[0];
  // 4 = 2 x 2: the axis is split.
  EXPECT_EQ(projectToFactors(rule, merged, {{{kA}}, {}}), (FactorAxes{{kA0}, {kA1}}));
  EXPECT_EQ(projectToFactors(rule, merged, {{{kA, kB}}, {}}), (FactorAxes{{kA0}, {kA1, kB}}));
  // 3 does not divide the major factor 2: nothing of it fits.
  EXPECT_EQ(projectToFactors(rule, merged, {{{kB}}, {}}), (FactorAxes{{}, {}}));
  // 8 over 2 x 6: two, two of the six, and the last two do not fit into three.
  EXPECT_EQ(projectToFactors(rule, merged, {{{kA, kC}}, {}}), (FactorAxes{{kA0}, {kA1}}));
  // More shards than elements.
  EXPECT_EQ(projectToFactors(splitRule(2, 1), merged, {{{kA}}, {}}), (FactorAxes{{kA}, {}}));
  EXPECT_EQ(projectToFactors(splitRule(2, 2), merged, {{{kA, kC}}, {}}),
            (FactorAxes{{kA0}, {kA1}}));
}

TEST(FactorRuleTest, CompoundStopsAtAPartlyShardedMajorFactor) {
  FactorRule rule = splitRule(8, 4);
  const TensorFactors &merged = rule.operands[0];
  EXPECT_EQ(projectToFactors(rule, merged, {{{kA, kC}}, {}}), (FactorAxes{{kA, kC}, {}}));
  EXPECT_EQ(projectToFactors(rule, merged, {{{kA, kB}}, {}}), (FactorAxes{{kA}, {}}));
  EXPECT_TRUE(isRepresentable(rule, merged, {{kA}, {}}));
  EXPECT_TRUE(isRepresentable(rule, merged, {{kA, kC}, {{3, 1, 2}}}));
  EXPECT_FALSE(isRepresentable(rule, merged, {{kA}, {kC}})); // the major keeps 2 elements a shard
  EXPECT_FALSE(isRepresentable(rule, merged, {{}, {kC}}));
  EXPECT_FALSE(isRepresentable(rule, merged, {{kB}, {}})); // uneven
  EXPECT_TRUE(isRepresentable(rule, rule.results[0], {{kB}, {kC}}));
}

TEST(FactorRuleTest, FactorsOfSizeOneDoNotMakeACompound) {
  FactorRule rule = splitRule(1, 6);
  EXPECT_EQ(countSplitFactors(rule, rule.operands[0][0]), 1u);
  EXPECT_EQ(projectToFactors(rule, rule.operands[0], {{{kA}}, {}}), (FactorAxes{{}, {kA}}));
  EXPECT_TRUE(isRepresentable(rule, rule.operands[0], {{}, {kA}}));
}

TEST(FactorRuleTest, RandomRoundTrip) {
  uint32_t seed = cleave::test::seedFromEnvironment();
  std::mt19937 random(seed);
  auto pick = [&](uint32_t n) { return random() % n; };
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(cleave::test::replayText(seed, round));
    FactorRule rule;
    DimFactors dim;
    for (unsigned i = 0, n = 1 + pick(3); i < n; ++i)
      dim.push_back(rule.addFactor(1 + pick(12)));
    rule.operands = {{dim}};
    AxisList axes;
    llvm::SmallVector<AxisRef> all{kA0, kA1, kB, kC};
    std::shuffle(all.begin(), all.end(), random);
    for (unsigned i = 0, n = pick(5); i < n; ++i)
      appendAxis(axes, all[i]);
    FactorAxes factors = projectToFactors(rule, rule.operands[0], {{axes}, {}});
    ASSERT_TRUE(isRepresentable(rule, rule.operands[0], factors));
    AxisList back = tensorLayout(rule.operands[0], factors).dims[0];
    ASSERT_EQ(commonPrefix(axes, back), back);
    if (countSplitFactors(rule, dim) < 2) {
      ASSERT_EQ(back, axes);
    }
  }
}

TEST(FactorRuleTest, CheckRule) {
  FactorRule good = matmulRule(8, 10, 6);
  EXPECT_EQ(checkRule(good, {{8, 10}, {10, 6}}, {{8, 6}}), "");
  EXPECT_EQ(checkRule(good, {{8, 10}, {10, 7}}, {{8, 6}}),
            "operand 1 dimension 1 has size 7, but its factors multiply to 6");
  EXPECT_EQ(checkRule(good, {{8, 10}, {10, 6}}, {{8, 6, 1}}),
            "result 0 has 3 dimensions, but the rule lists 2");
  EXPECT_EQ(checkRule(good, {{8, 10}}, {{8, 6}}), "the op has 1 operands, but the rule lists 2");
  EXPECT_EQ(checkRule(good, {{8, 10}, {10, 6}}, {}), "the op has 0 results, but the rule lists 1");

  FactorRule bad = good;
  bad.operands[0][1] = {9};
  EXPECT_EQ(checkRule(bad, {{8, 10}, {10, 6}}, {{8, 6}}),
            "operand 0 dimension 1 names factor 9, but the rule has 3 factors");
  bad.operands[0][1] = {0};
  EXPECT_EQ(checkRule(bad, {{8, 8}, {10, 6}}, {{8, 6}}), "operand 0 has factor 0 twice");

  bad = good;
  bad.results[0][1] = {1};
  EXPECT_EQ(checkRule(bad, {{8, 10}, {10, 6}}, {{8, 10}}), "reduction factor 1 is in every result");
  bad = good;
  bad.addFactor(4);
  EXPECT_EQ(checkRule(bad, {{8, 10}, {10, 6}}, {{8, 6}}),
            "factor 3 is in no operand and no result");
  bad = good;
  bad.factors[2].size = 0;
  EXPECT_EQ(checkRule(bad, {{8, 10}, {10, 6}}, {{8, 6}}),
            "factor 2 has size 0, expected at least 1");
  bad = good;
  bad.jointlyLinear = 4;
  EXPECT_EQ(checkRule(bad, {{8, 10}, {10, 6}}, {{8, 6}}),
            "a linearity mask names an operand beyond the last of 2");

  // An operand without factors has any shape; a dimension without factors has size 1.
  FactorRule scalar = good;
  scalar.operands.push_back({});
  EXPECT_EQ(checkRule(scalar, {{8, 10}, {10, 6}, {5}}, {{8, 6}}), "");
  scalar.results[0].push_back({});
  EXPECT_EQ(checkRule(scalar, {{8, 10}, {10, 6}, {5}}, {{8, 6, 1}}), "");
  EXPECT_EQ(checkRule(scalar, {{8, 10}, {10, 6}, {5}}, {{8, 6, 2}}),
            "result 0 dimension 2 has size 2, but its factors multiply to 1");
}

} // namespace
