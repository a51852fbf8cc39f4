// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/Propagation.h"

#include "Seed.h"

#include <deque>
#include <gtest/gtest.h>

using namespace cleave;

namespace {

const Mesh kMesh({{"a", 2}, {"b", 4}, {"c", 3}});
constexpr AxisRef kA{0, 1, 2}, kB{1, 1, 4}, kB0{1, 1, 2}, kB1{1, 2, 2}, kC{2, 1, 3};

/// Rules live as long as the test.
std::deque<FactorRule> rules;

/// Every tensor has all dimensions.
FactorRule &elementwise(std::initializer_list<int64_t> shape, unsigned operands) {
  FactorRule rule;
  TensorFactors tensor;
  for (int64_t size : shape)
    tensor.push_back({rule.addFactor(size)});
  rule.operands.append(operands, tensor);
  rule.results = {tensor};
  rule.opPriority = 1;
  return rules.emplace_back(rule);
}

/// [m, k] x [k, n] -> [m, n].
FactorRule &matmul(int64_t m, int64_t k, int64_t n) {
  FactorRule rule;
  uint16_t fm = rule.addFactor(m), fk = rule.addFactor(k, FactorKind::Reduction);
  uint16_t fn = rule.addFactor(n);
  rule.operands = {{{fm}, {fk}}, {{fk}, {fn}}};
  rule.results = {{{fm}, {fn}}};
  return rules.emplace_back(rule);
}

/// [a * b] -> [a, b].
FactorRule &splitDim(int64_t a, int64_t b) {
  FactorRule rule;
  uint16_t fa = rule.addFactor(a), fb = rule.addFactor(b);
  rule.operands = {{{fa, fb}}};
  rule.results = {{{fa}, {fb}}};
  rule.opPriority = 1;
  return rules.emplace_back(rule);
}

using Dim = GivenSharding::Dim;

class PropagationTest : public testing::Test {
protected:
  Propagation::Value given(std::initializer_list<Dim> dims, AxisList replicated = {},
                           AxisList partial = {}) {
    GivenSharding sharding;
    sharding.dims.append(dims.begin(), dims.end());
    sharding.replicated = replicated;
    sharding.partial = partial;
    return propagation.addValue(sharding);
  }
  Propagation::Value open(unsigned rank) { return propagation.addValue(rank); }
  std::string text(Propagation::Value value) { return toString(kMesh, propagation.layout(value)); }
  std::string conflictText() {
    std::string text;
    for (const PropagationConflict &c : propagation.conflicts()) {
      auto side = [](const PropagationConflict::Side &s) {
        return "f" + std::to_string(s.factor) + "=" + toString(kMesh, s.axes) + " of v" +
               std::to_string(s.value) + " from v" + std::to_string(s.origin);
      };
      text += (c.op == PropagationConflict::kNoOp ? "group" : "op" + std::to_string(c.op)) + ": " +
              side(c.a) + ", " + side(c.b) + "\n";
    }
    return text;
  }

  Propagation propagation;
};

TEST_F(PropagationTest, ForwardAndBackwardThroughElementwise) {
  auto x = open(2), y = given({{{kA}}, {{kB}}}), z = open(2);
  FactorRule &rule = elementwise({8, 8}, 1);
  propagation.addOp(rule, {x}, {y});
  propagation.addOp(rule, {y}, {z});
  propagation.run();
  EXPECT_EQ(text(x), R"([{"a"}, {"b"}])");
  EXPECT_EQ(text(z), R"([{"a"}, {"b"}])");
  EXPECT_EQ(conflictText(), "");
}

TEST_F(PropagationTest, DimensionsCombineFromSeveralTensors) {
  auto x = given({{{kA}}, {}}), y = given({{}, {{kB}}}), z = open(2);
  propagation.addOp(elementwise({8, 8}, 2), {x, y}, {z});
  propagation.run();
  for (auto value : {x, y, z})
    EXPECT_EQ(text(value), R"([{"a"}, {"b"}])");
}

TEST_F(PropagationTest, OneListMayExtendAnother) {
  auto x = given({{{kA}}}), y = given({{{kA, kB}}}), z = open(1);
  propagation.addOp(elementwise({8}, 2), {x, y}, {z});
  propagation.run();
  for (auto value : {x, y, z})
    EXPECT_EQ(text(value), R"([{"a", "b"}])");
}

TEST_F(PropagationTest, TheCommonPrefixPassesAConflict) {
  auto x = given({{{kA, kB}}}), y = given({{{kA, kC}}}), z = open(1);
  propagation.addOp(elementwise({24}, 2), {x, y}, {z});
  propagation.run();
  EXPECT_EQ(text(x), R"([{"a", "b"}])");
  EXPECT_EQ(text(y), R"([{"a", "c"}])");
  EXPECT_EQ(text(z), R"([{"a"}])");
  EXPECT_EQ(conflictText(),
            "op0: f0={\"a\", \"b\"} of v0 from v0, f0={\"a\", \"c\"} of v1 from v1\n");
}

TEST_F(PropagationTest, ClosedDimensionsStay) {
  auto x = given({{{kA}}, {{kB}}}), y = given({{{}, true}, {}}), z = open(2);
  FactorRule &rule = elementwise({8, 8}, 1);
  propagation.addOp(rule, {x}, {y});
  propagation.addOp(rule, {y}, {z});
  propagation.run();
  EXPECT_EQ(text(y), R"([{}, {"b"}])");
  EXPECT_EQ(text(z), R"([{}, {"b"}])");
  EXPECT_EQ(conflictText(), "");
}

TEST_F(PropagationTest, ReplicatedAndPartialAxesShardNothing) {
  auto x = given({{{kA, kB}}, {}}), y = given({{}, {}}, {kB}), z = given({{}, {}}, {}, {kA});
  FactorRule &rule = elementwise({8, 8}, 1);
  propagation.addOp(rule, {x}, {y});
  propagation.addOp(rule, {x}, {z});
  propagation.run();
  EXPECT_EQ(text(y), R"([{"a"}, {}])");
  EXPECT_EQ(text(z), R"([{}, {}] partial=sum{"a"})");
}

TEST_F(PropagationTest, ASubAxisPassesWhereTheRestIsTaken) {
  auto x = given({{{kB}}, {}}), y = given({{}, {{kB1}}});
  propagation.addOp(elementwise({8, 8}, 1), {x}, {y});
  propagation.run();
  // "b" itself would claim the digit that y's other dimension has, so only its major part passes;
  // that of y does not pass at all.
  EXPECT_EQ(text(x), R"([{"b"}, {}])");
  EXPECT_EQ(text(y), R"([{"b":(1)2}, {"b":(2)2}])");
}

TEST_F(PropagationTest, MatmulAgreesOnItsContraction) {
  auto x = given({{{kA}}, {{kB}}}), w = open(2), y = open(2);
  propagation.addOp(matmul(8, 8, 8), {x, w}, {y});
  propagation.run();
  EXPECT_EQ(text(w), R"([{"b"}, {}])");
  EXPECT_EQ(text(y), R"([{"a"}, {}])"); // never partial
}

TEST_F(PropagationTest, MegatronColumnThenRow) {
  auto x = given({{{kA}}, {}}), w1 = given({{}, {{kB}}}), h = open(2), r = open(2);
  auto w2 = open(2), y = open(2);
  propagation.addOp(matmul(8, 8, 16), {x, w1}, {h});
  propagation.addOp(elementwise({8, 16}, 1), {h}, {r});
  propagation.addOp(matmul(8, 16, 8), {r, w2}, {y});
  propagation.run();
  EXPECT_EQ(text(r), R"([{"a"}, {"b"}])");
  EXPECT_EQ(text(w2), R"([{"b"}, {}])");
  EXPECT_EQ(text(y), R"([{"a"}, {}])");
}

TEST_F(PropagationTest, TwoFactorsThatWantOneAxisBothWait) {
  auto x = given({{{kA}}, {}}), w = given({{}, {{kA}}}), y = open(2);
  propagation.addOp(matmul(8, 8, 8), {x, w}, {y});
  propagation.run();
  EXPECT_EQ(text(y), "[{}, {}]");
  EXPECT_EQ(conflictText(), "op0: f0={\"a\"} of v0 from v0, f2={\"a\"} of v1 from v1\n");
}

TEST_F(PropagationTest, UserPriorityDecides) {
  auto x = given({{{kA}}, {}}), w = given({{}, {{kA}, false, 1}}), y = open(2);
  propagation.addOp(matmul(8, 8, 8), {x, w}, {y});
  propagation.run();
  EXPECT_EQ(text(y), R"([{"a"}, {}])");
  EXPECT_EQ(text(w), R"([{}, {"a"}])"); // given is given
  EXPECT_EQ(conflictText(), "");
}

TEST_F(PropagationTest, LaterPrioritiesExtendEarlierOnes) {
  auto x = given({{{kA}}}), y = open(1), z = given({{{kA, kB}, false, 2}});
  FactorRule &rule = elementwise({8}, 1);
  propagation.addOp(rule, {x}, {y});
  propagation.addOp(rule, {y}, {z});
  propagation.run();
  for (auto value : {x, y, z})
    EXPECT_EQ(text(value), R"([{"a", "b"}])");
}

TEST_F(PropagationTest, AnEmptyDimensionWaitsForItsPriority) {
  // In round 0 "a" cannot enter y, whose dimension joins in round 1.
  auto x = given({{{kA}}}), y = given({{{}, false, 1}}), z = open(1), w = given({{{kB}, false, 1}});
  FactorRule &rule = elementwise({8}, 1);
  propagation.addOp(rule, {x}, {y});
  propagation.addOp(rule, {y}, {z});
  propagation.addOp(rule, {w}, {z});
  propagation.run();
  EXPECT_EQ(text(y), R"([{"a"}])");
}

TEST_F(PropagationTest, AxesOfALaterPriorityStayFreeInTheirValue) {
  auto x = given({{{kA}}, {}}), y = given({{}, {{kA}, false, 1}});
  propagation.addOp(elementwise({8, 8}, 1), {x}, {y});
  propagation.run();
  EXPECT_EQ(text(y), R"([{}, {"a"}])");
}

TEST_F(PropagationTest, OpPriorityGoesFirst) {
  // The product comes first in the program and would give "a"; the copy's priority is higher.
  auto x = given({{{kA}}, {}}), w = open(2), y = open(2), z = given({{{kB}}, {}});
  propagation.addOp(matmul(8, 8, 8), {x, w}, {y});
  propagation.addOp(elementwise({8, 8}, 1), {y}, {z});
  propagation.run();
  EXPECT_EQ(text(y), R"([{"b"}, {}])");
  EXPECT_EQ(conflictText(), "op0: f0={\"a\"} of v0 from v0, f0={\"b\"} of v2 from v3\n");
}

TEST_F(PropagationTest, ReplicationFactorsDoNotPass) {
  FactorRule rule;
  uint16_t batch = rule.addFactor(8), feature = rule.addFactor(8, FactorKind::NeedReplication);
  rule.operands = {{{batch}, {feature}}};
  rule.results = {{{batch}, {feature}}};
  auto x = given({{{kA}}, {{kB}}}), y = open(2);
  propagation.addOp(rule, {x}, {y});
  propagation.run();
  EXPECT_EQ(text(y), R"([{"a"}, {}])");
}

TEST_F(PropagationTest, PermutationFactorsPass) {
  FactorRule rule;
  uint16_t f = rule.addFactor(8, FactorKind::Permutation);
  rule.operands = {{{f}}};
  rule.results = {{{f}}};
  auto x = given({{{kA}}}), y = open(1);
  propagation.addOp(rule, {x}, {y});
  propagation.run();
  EXPECT_EQ(text(y), R"([{"a"}])");
}

TEST_F(PropagationTest, OperandsMayTakeNoPart) {
  FactorRule rule = elementwise({8}, 1);
  rule.operands.push_back({}); // a scalar
  rule.operands.push_back(rule.operands[0]);
  auto x = given({{{kA}}}), y = open(1), scalar = open(0);
  propagation.addOp(rule, {x, scalar, Propagation::kNoValue}, {y});
  propagation.run();
  EXPECT_EQ(text(y), R"([{"a"}])");
  EXPECT_EQ(text(scalar), "[]");
}

//===------------------------------------------------------------------------------------------===//
// Compound dimensions
//===------------------------------------------------------------------------------------------===//

TEST_F(PropagationTest, ASplitDimensionDealsItsAxes) {
  auto x = given({{{kB}}}), y = open(2);
  propagation.addOp(splitDim(2, 8), {x}, {y});
  propagation.run();
  EXPECT_EQ(text(y), R"([{"b":(1)2}, {"b":(2)2}])");
}

TEST_F(PropagationTest, AMergedDimensionCollectsThem) {
  auto x = open(1), y = given({{{kB0}}, {{kB1, kC}}});
  propagation.addOp(splitDim(2, 12), {x}, {y});
  propagation.run();
  EXPECT_EQ(text(x), R"([{"b", "c"}])");
}

TEST_F(PropagationTest, MinorFactorsWaitForMajorOnes) {
  auto x = open(1), y = given({{}, {{kB}}}), z = given({{{kA}}, {}});
  propagation.addOp(splitDim(2, 8), {x}, {y});
  propagation.addOp(elementwise({2, 8}, 1), {y}, {z});
  propagation.run();
  EXPECT_EQ(text(x), R"([{"a", "b"}])"); // only once the major factor came from z

  Propagation alone;
  GivenSharding sharding;
  sharding.dims = {{}, {{kB}}};
  auto x2 = alone.addValue(1), y2 = alone.addValue(sharding);
  alone.addOp(splitDim(2, 8), {x2}, {y2});
  alone.run();
  EXPECT_EQ(toString(kMesh, alone.layout(x2)), "[{}]");
}

TEST_F(PropagationTest, UnevenFactorsDoNotCrossAReshape) {
  auto x = open(1), y = given({{{kB}}, {}}); // 6 over 4
  auto x2 = open(1), y2 = given({{{kC}}, {}});
  FactorRule &rule = splitDim(6, 8);
  propagation.addOp(rule, {x}, {y});
  propagation.addOp(rule, {x2}, {y2});
  auto e = open(2);
  propagation.addOp(elementwise({6, 8}, 1), {y}, {e});
  propagation.run();
  EXPECT_EQ(text(x), "[{}]");
  EXPECT_EQ(text(x2), R"([{"c"}])");
  EXPECT_EQ(text(e), R"([{"b"}, {}])");
}

TEST_F(PropagationTest, UnevenFactorsDoNotCrossFromTheMergedSideEither) {
  auto x = given({{{kB}}}), y = open(2); // 3 x 4 over 4: three rows cannot take it
  propagation.addOp(splitDim(3, 4), {x}, {y});
  propagation.run();
  EXPECT_EQ(text(y), "[{}, {}]");
}

TEST_F(PropagationTest, FactorsOfSizeOneAreNoCompound) {
  auto x = given({{{kB}}}), y = open(2); // 6 over 4, uneven, and 1
  propagation.addOp(splitDim(1, 6), {x}, {y});
  propagation.run();
  EXPECT_EQ(text(y), R"([{}, {"b"}])");
}

//===------------------------------------------------------------------------------------------===//
// Groups and barriers
//===------------------------------------------------------------------------------------------===//

TEST_F(PropagationTest, GroupsShareTheirSharding) {
  auto x = given({{{kA}}, {}}), y = open(2), p = open(2), q = given({{}, {{kB}}}), z = open(2);
  propagation.addOp(elementwise({8, 8}, 1), {x}, {y});
  propagation.join(p, y);
  propagation.join(q, p);
  propagation.addOp(elementwise({8, 8}, 1), {q}, {z});
  propagation.run();
  for (auto value : {x, y, p, q, z})
    EXPECT_EQ(text(value), R"([{"a"}, {"b"}])");
}

TEST_F(PropagationTest, GroupsReportMembersThatDiffer) {
  auto x = given({{{kA}}}), y = given({{{kB}}}), z = given({{{kA, kC}}});
  propagation.join(x, y);
  propagation.join(x, z);
  propagation.run();
  for (auto value : {x, y, z})
    EXPECT_EQ(text(value), R"([{"a", "c"}])");
  EXPECT_EQ(conflictText(), "group: f0={\"a\"} of v0 from v0, f0={\"b\"} of v1 from v1\n");
}

// Members that give one axis to two dimensions do not both get their way.
TEST_F(PropagationTest, GroupsUseAnAxisOnce) {
  auto x = given({{{kA}}, {}}), y = given({{}, {{kA}}});
  propagation.join(x, y);
  propagation.run();
  EXPECT_EQ(text(x), R"([{"a"}, {}])");
  EXPECT_EQ(text(y), R"([{"a"}, {}])");
}

TEST_F(PropagationTest, BarriersLetOneWayThrough) {
  auto direction = [&](Propagation::Direction direction) {
    auto x = given({{{kA}}, {}}), y = given({{}, {{kB}}});
    propagation.addOp(elementwise({8, 8}, 1), {x}, {y}, direction);
    return std::pair(x, y);
  };
  auto [x0, y0] = direction(Propagation::Direction::None);
  auto [x1, y1] = direction(Propagation::Direction::Forward);
  auto [x2, y2] = direction(Propagation::Direction::Backward);
  auto [x3, y3] = direction(Propagation::Direction::Both);
  propagation.run();
  EXPECT_EQ(text(x0) + text(y0), R"([{"a"}, {}][{}, {"b"}])");
  EXPECT_EQ(text(x1) + text(y1), R"([{"a"}, {}][{"a"}, {"b"}])");
  EXPECT_EQ(text(x2) + text(y2), R"([{"a"}, {"b"}][{}, {"b"}])");
  EXPECT_EQ(text(x3) + text(y3), R"([{"a"}, {"b"}][{"a"}, {"b"}])");
}

TEST_F(PropagationTest, EqualLayoutsHaveEqualIds) {
  auto x = given({{{kA}}, {}}), y = open(2), z = open(2), p = given({{{kA}}, {}}, {}, {kB});
  propagation.addOp(elementwise({8, 8}, 1), {x}, {y});
  propagation.run();
  EXPECT_EQ(propagation.layoutId(x), propagation.layoutId(y));
  EXPECT_NE(propagation.layoutId(x), propagation.layoutId(z));
  EXPECT_NE(propagation.layoutId(x), propagation.layoutId(p));
}

//===------------------------------------------------------------------------------------------===//
// Random programs
//===------------------------------------------------------------------------------------------===//

/// Invariants on random programs: what was given is kept, closed dimensions stay, no axis twice in
/// a value, no blocked axis, and a fixed point: nothing that could pass is left.
TEST(PropagationRandomTest, Invariants) {
  uint32_t seed = cleave::test::seedFromEnvironment();
  std::mt19937 random(seed);
  auto pick = [&](uint32_t n) { return random() % n; };
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(cleave::test::replayText(seed, round));
    rules.clear();
    Propagation propagation;
    std::vector<GivenSharding> given;
    std::vector<llvm::SmallVector<int64_t>> shapes;
    auto addValue = [&](llvm::SmallVector<int64_t> shape) {
      GivenSharding sharding;
      sharding.dims.resize(shape.size());
      llvm::SmallVector<AxisRef> parts{kA, kB0, kB1, kC};
      std::shuffle(parts.begin(), parts.end(), random);
      if (pick(4) == 0)
        for (const AxisRef &part : parts) {
          unsigned place = pick(shape.size() + 3);
          if (place < shape.size())
            appendAxis(sharding.dims[place].axes, part);
          else if (place == shape.size())
            sharding.replicated.push_back(part);
          else if (place == shape.size() + 1)
            sharding.partial.push_back(part);
        }
      sharding.replicated = sortedAxes(sharding.replicated);
      sharding.partial = sortedAxes(sharding.partial);
      for (Dim &dim : sharding.dims) {
        dim.closed = pick(6) == 0;
        dim.priority = pick(4) == 0;
      }
      given.push_back(sharding);
      shapes.push_back(shape);
      return propagation.addValue(sharding);
    };
    auto randomShape = [&] {
      static constexpr int64_t kSizes[] = {2, 4, 6, 12};
      return llvm::SmallVector<int64_t>{kSizes[pick(4)], kSizes[pick(4)]};
    };
    std::vector<Propagation::Value> pool;
    for (int i = 0; i < 3; ++i)
      pool.push_back(addValue(randomShape()));
    struct Op {
      const FactorRule *rule;
      llvm::SmallVector<Propagation::Value> tensors;
    };
    std::vector<Op> ops;
    for (int i = 0, n = 2 + pick(10); i < n; ++i) {
      auto x = pool[pick(pool.size())];
      auto shape = shapes[x];
      FactorRule *rule;
      llvm::SmallVector<Propagation::Value> operands{x};
      if (shape.size() == 1) {
        // 12 = 2 x 6 and the like.
        rule = shape[0] % 2 == 0 ? &splitDim(2, shape[0] / 2) : &splitDim(1, shape[0]);
        shape = {rule->factors[0].size, rule->factors[1].size};
      } else if (pick(3) == 0) {
        int64_t n = 2 * (1 + pick(6));
        rule = &matmul(shape[0], shape[1], n);
        operands.push_back(addValue({shape[1], n}));
        shape = {shape[0], n};
      } else if (pick(3) == 0) {
        FactorRule split = splitDim(shape[0], shape[1]);
        std::swap(split.operands[0], split.results[0]);
        rule = &rules.emplace_back(split);
        shape = {shape[0] * shape[1]};
      } else {
        rule = &elementwise({shape[0], shape[1]}, 2);
        operands.push_back(addValue(shape));
      }
      auto y = addValue(shape);
      pool.push_back(y);
      propagation.addOp(*rule, operands, {y});
      operands.push_back(y);
      ops.push_back({rule, operands});
    }
    propagation.run();

    for (size_t value = 0; value < given.size(); ++value) {
      Layout layout = propagation.layout(value);
      AxisList used = layout.usedAxes();
      for (size_t i = 0; i < used.size(); ++i)
        for (size_t j = i + 1; j < used.size(); ++j)
          ASSERT_FALSE(used[i].overlaps(used[j])) << toString(kMesh, layout);
      ASSERT_EQ(layout.partial, given[value].partial);
      for (auto [dim, axes] : llvm::zip(given[value].dims, layout.dims)) {
        ASSERT_TRUE(removePrefix(axes, dim.axes)) << toString(kMesh, layout);
        ASSERT_FALSE(axesOverlap(axes, given[value].replicated));
        if (dim.closed) {
          ASSERT_EQ(axes, dim.axes);
        }
      }
    }
    // Results are the same a second time.
    Propagation again;
    for (const GivenSharding &sharding : given)
      again.addValue(sharding);
    for (const Op &op : ops)
      again.addOp(*op.rule, llvm::ArrayRef(op.tensors).drop_back(), op.tensors.back());
    again.run();
    for (size_t value = 0; value < given.size(); ++value)
      ASSERT_EQ(again.layout(value), propagation.layout(value));
    // A fixed point: the result given anew, all else equal, changes no more.
    Propagation fixed;
    for (size_t value = 0; value < given.size(); ++value) {
      GivenSharding sharding = given[value];
      Layout layout = propagation.layout(value);
      for (auto [dim, axes] : llvm::zip(sharding.dims, layout.dims)) {
        dim.axes = axes;
        dim.priority = 0;
      }
      fixed.addValue(sharding);
    }
    for (const Op &op : ops)
      fixed.addOp(*op.rule, llvm::ArrayRef(op.tensors).drop_back(), op.tensors.back());
    fixed.run();
    for (size_t value = 0; value < given.size(); ++value)
      ASSERT_EQ(toString(kMesh, fixed.layout(value)), toString(kMesh, propagation.layout(value)))
          << "v" << value;
  }
}

} // namespace
