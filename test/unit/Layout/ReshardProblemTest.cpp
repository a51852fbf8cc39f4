// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "EinsumProgram.h"

#include "gtest/gtest.h"

using namespace cleave;
using Plan = EinsumProgram::Plan;

namespace {

/// How a decoder is sharded: the axes of the letters, apart for parameters, for activations, and
/// for activations between blocks (the norm regions).
struct Strategy {
  Plan weights, activations, between;
};

// Letters: b batch, s sequence, t sequence of keys, e hidden, k KV heads, g queries per KV head,
// d head size, f feed-forward, v vocabulary.
EinsumProgram decoder(llvm::ArrayRef<Mesh::Axis> axes, const Strategy &strategy, int layers,
                      int64_t batch = 8, int64_t kvHeads = 8, int64_t groups = 1) {
  EinsumProgram p(axes, {{'b', batch},
                         {'s', 16},
                         {'t', 16},
                         {'e', 64},
                         {'k', kvHeads},
                         {'g', groups},
                         {'d', 8},
                         {'f', 256},
                         {'v', 512}});
  const Plan &w = strategy.weights, &a = strategy.activations, &n = strategy.between;
  auto norm = [&](uint32_t x) {
    uint32_t scale = p.argument("e");
    return p.op({x, scale}, "bse", n, {"e"});
  };
  uint32_t ids = p.argument("bs", a);
  uint32_t x = p.dot(ids, p.argument("ve", w), "bse", n);
  for (int layer = 0; layer < layers; ++layer) {
    uint32_t y = norm(x);
    uint32_t q = p.dot(y, p.argument("kgde", w), "bskgd", a);
    uint32_t k = p.dot(y, p.argument("kde", w), "bskd", a);
    uint32_t v = p.dot(y, p.argument("kde", w), "bskd", a);
    p.names[k] = p.names[v] = "btkd";
    uint32_t o = p.op({q, k, v}, "bskgd", a, {"td"});
    uint32_t out = p.dot(o, p.argument("ekgd", w), "bse", n);
    x = p.add(x, out, n);
    y = norm(x);
    uint32_t gate = p.dot(y, p.argument("fe", w), "bsf", a);
    uint32_t up = p.dot(y, p.argument("fe", w), "bsf", a);
    uint32_t hidden = p.multiply(p.map(gate, a), up, a);
    x = p.add(x, p.dot(hidden, p.argument("ef", w), "bse", n), n);
  }
  uint32_t logits = p.dot(norm(x), p.argument("ve", w), "bsv", a);
  p.returns(logits, a);
  return p;
}

CollectiveCount solve(const EinsumProgram &p) {
  EXPECT_EQ(p.problem.check(), "");
  ReshardPlanner planner(p.mesh);
  return countCollectives(p, solveReshards(p.problem, planner), planner);
}

TEST(ReshardProblem, DataParallelForwardSendsNothing) {
  CollectiveCount count = solve(decoder({{"dp", 8}}, {{}, {{'b', "dp"}}, {{'b', "dp"}}}, 2));
  EXPECT_EQ(count.total(), 0) << count.text();
}

TEST(ReshardProblem, TensorParallelIsTwoAllReducesALayer) {
  Plan tp{{'k', "tp"}, {'f', "tp"}, {'v', "tp"}};
  CollectiveCount count = solve(decoder({{"tp", 8}}, {tp, tp, {}}, 3));
  EXPECT_EQ(count[CollectiveKind::AllReduce], 2 * 3 + 1) << count.text();
  EXPECT_EQ(count.total(), 2 * 3 + 1) << count.text();
  EXPECT_DOUBLE_EQ(count.bytes, 7 * 2 * 7. / 8 * 8 * 16 * 64 * 4);
}

TEST(ReshardProblem, SequenceParallelIsTwoGathersAndTwoScattersALayer) {
  Plan tp{{'k', "tp"}, {'f', "tp"}, {'v', "tp"}};
  CollectiveCount count = solve(decoder({{"tp", 8}}, {tp, tp, {{'s', "tp"}}}, 3));
  EXPECT_EQ(count[CollectiveKind::AllGather], 2 * 3 + 1) << count.text();
  EXPECT_EQ(count[CollectiveKind::ReduceScatter], 2 * 3 + 1) << count.text();
  EXPECT_EQ(count.total(), 4 * 3 + 2) << count.text();
}

// Two KV heads over eight devices: a part of the axis shards them, the rest the queries of each.
TEST(ReshardProblem, FewKVHeadsShareTheGatheredInput) {
  Plan tp{{'k', "tp:(1)2"}, {'g', "tp:(2)4"}, {'f', "tp"}, {'v', "tp"}};
  CollectiveCount count = solve(decoder({{"tp", 8}}, {tp, tp, {{'s', "tp"}}}, 3, 8, 2, 4));
  EXPECT_EQ(count[CollectiveKind::AllGather], 2 * 3 + 1) << count.text();
  EXPECT_EQ(count[CollectiveKind::ReduceScatter], 2 * 3 + 1) << count.text();
  EXPECT_EQ(count.total(), 4 * 3 + 2) << count.text();
}

// One KV head, replicated keys and values.
TEST(ReshardProblem, MultiQueryAttentionSharesTheGatheredInput) {
  Plan tp{{'g', "tp"}, {'f', "tp"}, {'v', "tp"}};
  CollectiveCount count = solve(decoder({{"tp", 8}}, {tp, tp, {{'s', "tp"}}}, 3, 8, 1, 8));
  EXPECT_EQ(count[CollectiveKind::AllGather], 2 * 3 + 1) << count.text();
  EXPECT_EQ(count.total(), 4 * 3 + 2) << count.text();
}

TEST(ReshardProblem, ShardedParametersAreGatheredOnce) {
  for (int64_t batch : {2, 8, 64}) {
    Plan a{{'b', "fsdp"}};
    EinsumProgram p = decoder({{"fsdp", 8}}, {{{'e', "fsdp"}}, a, a}, 2, batch);
    CollectiveCount count = solve(p);
    EXPECT_EQ(count[CollectiveKind::AllGather], 2 * 7 + 2) << count.text();
    EXPECT_EQ(count.total(), 2 * 7 + 2) << count.text();
    double parameters = 2 * (4 * 64 * 64 + 3 * 64 * 256) + 2 * 512 * 64;
    EXPECT_DOUBLE_EQ(count.bytes, 7. / 8 * parameters * 4);
  }
}

TEST(ReshardProblem, DataAndTensorParallelTogether) {
  Plan w{{'k', "tp"}, {'f', "tp"}, {'v', "tp"}}, a = w;
  a['b'] = "dp";
  CollectiveCount count = solve(decoder({{"dp", 2}, {"tp", 4}}, {w, a, {{'b', "dp"}}}, 2));
  EXPECT_EQ(count[CollectiveKind::AllReduce], 2 * 2 + 1) << count.text();
  EXPECT_EQ(count.total(), 2 * 2 + 1) << count.text();
}

// The input gradients of q, k and v are added before one reduction.
TEST(ReshardProblem, GradientsAreAddedBeforeTheReduction) {
  EinsumProgram p({{"tp", 8}}, {{'b', 8}, {'s', 16}, {'e', 64}, {'k', 8}});
  Plan tp{{'k', "tp"}};
  uint32_t sum = kNoValue;
  for (int i = 0; i < 3; ++i) {
    uint32_t dx = p.dot(p.argument("bsk", tp), p.argument("ke", tp), "bse");
    sum = sum == kNoValue ? dx : p.add(sum, dx);
  }
  p.map(sum);
  CollectiveCount count = solve(p);
  EXPECT_EQ(count[CollectiveKind::AllReduce], 1) << count.text();
  EXPECT_EQ(count.total(), 1) << count.text();
}

// A reduction whose value is sharded over the same axis is a scatter, not a reduce and a slice.
TEST(ReshardProblem, ShardedGradientsArriveScattered) {
  EinsumProgram p({{"dp", 4}}, {{'b', 8}, {'e', 16}, {'f', 32}});
  uint32_t dw =
      p.dot(p.argument("be", {{'b', "dp"}}), p.argument("bf", {{'b', "dp"}}), "ef", {{'e', "dp"}});
  p.returns(dw, {{'e', "dp"}});
  CollectiveCount count = solve(p);
  EXPECT_EQ(count[CollectiveKind::ReduceScatter], 1) << count.text();
  EXPECT_EQ(count.total(), 1) << count.text();
}

// The demand decides where to reduce to, whatever was planned for the value.
TEST(ReshardProblem, ReducesStraightToTheOnlyLayoutUsed) {
  EinsumProgram p({{"dp", 4}}, {{'b', 8}, {'e', 16}, {'f', 32}});
  uint32_t dw = p.dot(p.argument("be", {{'b', "dp"}}), p.argument("bf", {{'b', "dp"}}), "ef");
  p.returns(dw, {{'f', "dp"}});
  CollectiveCount count = solve(p);
  EXPECT_EQ(count[CollectiveKind::ReduceScatter], 1) << count.text();
  EXPECT_EQ(count.total(), 1) << count.text();
}

TEST(ReshardProblem, MaximaAreReducedAtOnce) {
  EinsumProgram p({{"tp", 4}}, {{'b', 8}, {'v', 16}});
  uint32_t x = p.argument("bv", {{'v', "tp"}});
  uint32_t max = p.op({x}, "b", {}, {"", 1, 0, Reduction::Max});
  uint32_t twice = p.add(max, max);
  p.returns(twice);
  ReshardPlanner planner(p.mesh);
  ReshardSolution solution = solveReshards(p.problem, planner);
  EXPECT_EQ(solution.produced[max].partialKind, Reduction::Max);
  EXPECT_TRUE(solution.hub[max].partial.empty());
  EXPECT_TRUE(solution.produced[twice].partial.empty());
}

// What is whole beside a partial addend is wanted on coordinate 0 only.
TEST(ReshardProblem, WholeAddendBesidePartialOnes) {
  EinsumProgram p({{"tp", 4}}, {{'b', 8}, {'k', 8}, {'e', 16}});
  auto partial = [&] {
    return p.dot(p.argument("bk", {{'k', "tp"}}), p.argument("ke", {{'k', "tp"}}), "be");
  };
  uint32_t a = partial(), whole = p.argument("be");
  uint32_t b = p.add(a, whole), c = partial(), sum = p.add(b, c);
  p.returns(sum);
  ReshardPlanner planner(p.mesh);
  ReshardSolution solution = solveReshards(p.problem, planner);
  EXPECT_TRUE(solution.hub[whole].partial.empty());
  EXPECT_EQ(solution.required[1][0].partial, p.axesOf("tp"));
  EXPECT_EQ(solution.required[1][1].partial, p.axesOf("tp"));
  EXPECT_EQ(solution.produced[sum].partial, p.axesOf("tp"));
  EXPECT_TRUE(solution.hub[sum].partial.empty());
}

// Sums over all of an axis and over a part of it, added up.
TEST(ReshardProblem, SumsOverPartsOfAnAxis) {
  EinsumProgram p({{"tp", 8}}, {{'b', 8}, {'k', 2}, {'f', 16}, {'e', 16}});
  uint32_t a =
      p.dot(p.argument("bk", {{'k', "tp:(1)2"}}), p.argument("ke", {{'k', "tp:(1)2"}}), "be");
  uint32_t b = p.dot(p.argument("bf", {{'f', "tp"}}), p.argument("fe", {{'f', "tp"}}), "be");
  uint32_t sum = p.add(a, b);
  p.returns(sum);
  ReshardPlanner planner(p.mesh);
  ReshardSolution solution = solveReshards(p.problem, planner);
  EXPECT_EQ(solution.produced[sum].partial, p.axesOf("tp"));
  EXPECT_EQ(solution.required[2][0].partial, p.axesOf("tp")); // kept on coordinate 0 of the rest
  CollectiveCount count = countCollectives(p, solution, planner);
  EXPECT_EQ(count.total(), 1) << count.text();
}

// Of a sum over two axes one is demanded partial, by the other the value is to be sharded.
TEST(ReshardProblem, DemandKeepsOneOfTwoAxes) {
  EinsumProgram p({{"x", 4}, {"y", 2}}, {{'b', 8}, {'k', 8}, {'e', 4}});
  Plan plan{{'k', "x,y"}};
  uint32_t sum = p.dot(p.argument("bk", plan), p.argument("ke", plan), "be");
  Layout layout = p.layoutOf("be", {{'b', "y"}});
  layout.partial = p.axesOf("x");
  p.problem.demands.push_back({sum, layout, 1});
  ReshardPlanner planner(p.mesh);
  ReshardSolution solution = solveReshards(p.problem, planner);
  EXPECT_EQ(solution.hub[sum], layout);
  CollectiveCount count = countCollectives(p, solution, planner);
  EXPECT_EQ(count[CollectiveKind::ReduceScatter], 1) << count.text();
  EXPECT_EQ(count.total(), 1) << count.text();
}

// A demand that lets sums pass: what is made of the demanded value is smaller, and is reduced.
// Where the layout shards a dimension by the axes of the sum, the value is whole from there on.
TEST(ReshardProblem, SumsPassADemand) {
  for (bool scattered : {false, true}) {
    EinsumProgram p({{"tp", 4}}, {{'b', 64}, {'k', 8}, {'e', 4}, {'f', 2}});
    Plan plan;
    if (scattered)
      plan['b'] = "tp";
    uint32_t sum = p.dot(p.argument("bk", {{'k', "tp"}}), p.argument("ke", {{'k', "tp"}}), "be");
    uint32_t passed = p.argument("be", plan);
    p.problem.demands.push_back({sum, p.layoutOf("be", plan), 1, passed});
    p.returns(p.dot(passed, p.argument("bf", plan), "ef"));
    ReshardPlanner planner(p.mesh);
    ReshardSolution solution = solveReshards(p.problem, planner);
    EXPECT_EQ(solution.produced[passed].partial, scattered ? AxisList() : p.axesOf("tp"));
    CollectiveCount count = countCollectives(p, solution, planner);
    EXPECT_EQ(count[CollectiveKind::ReduceScatter], scattered) << count.text();
    EXPECT_EQ(count[CollectiveKind::AllReduce], 1) << count.text();
    EXPECT_EQ(count.total(), 1 + scattered) << count.text();
  }
}

// Partial sums that are added are reduced once, also where their sum is to be sharded over the axes
// of the sum.
TEST(ReshardProblem, SumsOfSumsAreScatteredOnce) {
  EinsumProgram p({{"tp", 4}}, {{'s', 16}, {'k', 8}, {'e', 4}});
  Plan term{{'k', "tp"}}, scattered{{'s', "tp"}};
  auto partial = [&] {
    return p.dot(p.argument("sk", term), p.argument("ke", term), "se", scattered);
  };
  uint32_t one = partial(), two = partial(), three = partial();
  uint32_t sum = p.add(p.add(one, two, scattered), three, scattered);
  p.returns(sum, scattered);
  ReshardPlanner planner(p.mesh);
  ReshardSolution solution = solveReshards(p.problem, planner);
  CollectiveCount count = countCollectives(p, solution, planner);
  EXPECT_EQ(count[CollectiveKind::ReduceScatter], 1) << count.text();
  EXPECT_EQ(count.total(), 1) << count.text();
}

// An axis of 6 is factored as 3 x 2 by one sum and as 2 x 3 by another: the second is reduced where
// it is made, since no part of the axis stands for both.
TEST(ReshardProblem, SumsOverUnrelatedPartsOfAnAxis) {
  EinsumProgram p({{"a", 6}}, {{'b', 4}, {'k', 6}, {'e', 4}});
  auto partial = [&](const char *axes) {
    Plan plan{{'k', axes}};
    return p.dot(p.argument("bk", plan), p.argument("ke", plan), "be");
  };
  uint32_t one = partial("a:(1)3"), other = partial("a:(2)3"), sum = p.add(one, other);
  p.returns(sum);
  ReshardPlanner planner(p.mesh);
  ReshardSolution solution = solveReshards(p.problem, planner);
  EXPECT_EQ(solution.produced[other].partial, p.axesOf("a:(2)3"));
  EXPECT_TRUE(solution.hub[other].partial.empty());
  EXPECT_TRUE(solution.produced[sum].partial.empty());
}

// An op whose first result sums over a factor that its second one has.
TEST(ReshardProblem, OneResultIsPartialAndOneIsNot) {
  EinsumProgram p({{"cp", 4}}, {{'s', 16}, {'k', 8}});
  Plan cp{{'s', "cp"}};
  uint32_t x = p.argument("sk", cp), sums = p.op({x}, "k", {}, {});
  uint32_t rows = p.argument("sk", cp);
  ReshardProblem::OpClass &c = p.problem.classes[0];
  c.rule.results.push_back(c.rule.operands[0]);
  c.results.push_back({p.problem.values[rows].shape, 4, p.problem.values[rows].planned});
  p.problem.ops[0].results.push_back(rows);
  ASSERT_EQ(p.problem.check(), "");
  p.returns(p.add(sums, sums));
  p.returns(rows, cp);
  ReshardPlanner planner(p.mesh);
  ReshardSolution solution = solveReshards(p.problem, planner);
  EXPECT_EQ(solution.produced[sums].partial, p.axesOf("cp"));
  EXPECT_TRUE(solution.produced[rows].partial.empty());
  EXPECT_EQ(solution.produced[rows].dims[0], p.axesOf("cp"));
  CollectiveCount count = countCollectives(p, solution, planner);
  EXPECT_EQ(count[CollectiveKind::AllReduce], 1) << count.text();
  EXPECT_EQ(count.total(), 1) << count.text();
}

TEST(ReshardProblem, NoteOfWhatCannotBeSplit) {
  EinsumProgram p({{"cp", 4}}, {{'b', 8}, {'s', 16}, {'e', 16}});
  Plan cp{{'s', "cp"}};
  uint32_t x = p.argument("bse", cp);
  p.map(x, cp, "s");
  ReshardPlanner planner(p.mesh);
  ReshardSolution solution = solveReshards(p.problem, planner);
  ASSERT_EQ(solution.choices[0].whole.size(), 1u);
  EXPECT_EQ(solution.choices[0].whole[0].factor, 1);
  EXPECT_EQ(solution.choices[0].whole[0].reason, WholeReason::NeedReplication);
  EXPECT_EQ(describeFactor(p.problem.classes[0].rule, 1), "operand 0 dimension 1 (size 16)");
}

} // namespace
