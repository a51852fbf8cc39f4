// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/ReductionPlacement.h"

#include "cleave/Layout/MinimumCut.h"
#include "llvm/ADT/SmallVector.h"
#include "gtest/gtest.h"

#include <random>

using namespace cleave;

namespace {

TEST(MinimumCut, FlowOfADiamond) {
  MinimumCut graph;
  uint32_t s = graph.addNode(), a = graph.addNode(), b = graph.addNode(), t = graph.addNode();
  graph.addEdge(s, a, 3);
  graph.addEdge(s, b, 2);
  graph.addEdge(a, b, 1);
  graph.addEdge(a, t, 2);
  graph.addEdge(b, t, 4);
  llvm::BitVector side = graph.solve(s, t);
  EXPECT_EQ(graph.flow(), 5);
  EXPECT_TRUE(side.test(s));
  EXPECT_FALSE(side.test(t));
}

TEST(MinimumCut, EqualCutsPreferTheSource) {
  MinimumCut graph;
  llvm::SmallVector<uint32_t> nodes;
  for (int i = 0; i < 5; ++i)
    nodes.push_back(graph.addNode());
  for (int i = 0; i + 1 < 5; ++i)
    graph.addEdge(nodes[i], nodes[i + 1], 7);
  llvm::BitVector side = graph.solve(nodes[0], nodes[4]);
  EXPECT_EQ(graph.flow(), 7);
  EXPECT_TRUE(side.test(nodes[0]));
  EXPECT_FALSE(side.test(nodes[1]));
}

// All subsets of edges are tried on small random graphs: no cheaper one separates the ends.
TEST(MinimumCut, RandomGraphsAgainstAllSubsets) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 rng(seed);
    auto pick = [&](int n) { return int(rng() % n); };
    int nodes = 3 + pick(4), edges = 4 + pick(8);
    MinimumCut graph;
    for (int i = 0; i < nodes; ++i)
      graph.addNode();
    std::vector<std::tuple<int, int, int64_t>> list;
    for (int i = 0; i < edges; ++i) {
      list.push_back({pick(nodes), pick(nodes), pick(9)});
      auto [from, to, capacity] = list.back();
      graph.addEdge(from, to, capacity);
    }
    llvm::BitVector side = graph.solve(0, nodes - 1);
    int64_t found = 0;
    for (auto [from, to, capacity] : list)
      if (side.test(from) && !side.test(to))
        found += capacity;
    EXPECT_EQ(found, graph.flow()) << "seed " << seed;
    int64_t best = INT64_MAX;
    for (int mask = 0; mask < 1 << nodes; ++mask) {
      if (!(mask & 1) || (mask >> (nodes - 1) & 1))
        continue;
      int64_t cut = 0;
      for (auto [from, to, capacity] : list)
        if ((mask >> from & 1) && !(mask >> to & 1))
          cut += capacity;
      best = std::min(best, cut);
    }
    EXPECT_EQ(best, graph.flow()) << "seed " << seed;
  }
}

/// A program of one-result ops, for readable tests.
struct Program {
  struct Op {
    llvm::SmallVector<uint32_t, 4> operands;
    uint32_t result;
    uint32_t joint, separate;
    bool source;
  };
  std::vector<Op> ops;
  std::vector<int64_t> costs;
  llvm::SmallVector<uint32_t> whole;

  uint32_t value(int64_t cost = 10) {
    costs.push_back(cost);
    return costs.size() - 1;
  }
  uint32_t op(llvm::ArrayRef<uint32_t> operands, uint32_t joint, uint32_t separate, bool source,
              int64_t cost) {
    uint32_t result = value(cost);
    ops.push_back({llvm::SmallVector<uint32_t, 4>(operands), result, joint, separate, source});
    return result;
  }
  uint32_t dot(llvm::ArrayRef<uint32_t> operands = {}, int64_t cost = 10) {
    return op(operands, 0, 3, true, cost);
  }
  uint32_t add(uint32_t a, uint32_t b, int64_t cost = 10) { return op({a, b}, 3, 0, false, cost); }
  uint32_t multiply(uint32_t a, uint32_t b, int64_t cost = 10) {
    return op({a, b}, 0, 3, false, cost);
  }
  uint32_t tanh(uint32_t a) { return op({a}, 0, 0, false, 10); }

  ReductionPlacement place() const {
    std::vector<ReductionOp> list;
    for (const Op &op : ops)
      list.push_back({op.operands, llvm::ArrayRef(op.result), op.joint, op.separate, op.source});
    llvm::BitVector mustBeWhole(costs.size());
    for (uint32_t v : whole)
      mustBeWhole.set(v);
    return placeReductions(costs.size(), list, mustBeWhole, [&](uint32_t v) { return costs[v]; });
  }
};

llvm::SmallVector<uint32_t> reduced(const ReductionPlacement &placement) {
  return llvm::SmallVector<uint32_t>(placement.reduced.set_bits());
}

TEST(ReductionPlacement, AddsGradientsBeforeOneReduction) {
  Program p;
  uint32_t q = p.dot(), k = p.dot(), v = p.dot();
  uint32_t qk = p.add(q, k), sum = p.add(qk, v);
  p.tanh(sum);
  ReductionPlacement placement = p.place();
  EXPECT_EQ(reduced(placement), (llvm::SmallVector<uint32_t>{sum}));
  EXPECT_TRUE(placement.staysPartial(q));
  EXPECT_TRUE(placement.partial.test(sum));
}

TEST(ReductionPlacement, ReducesNearestToTheSourceWhenEqual) {
  Program p;
  uint32_t x = p.value(), y = p.dot(), sum = p.add(x, y);
  p.tanh(sum);
  EXPECT_EQ(reduced(p.place()), (llvm::SmallVector<uint32_t>{y}));
}

TEST(ReductionPlacement, NonlinearUseForcesTheReduction) {
  Program p;
  uint32_t y = p.dot({}, 100), small = p.multiply(y, p.value(), 1);
  p.tanh(small);
  EXPECT_EQ(reduced(p.place()), (llvm::SmallVector<uint32_t>{small}));
  p.tanh(y); // now y itself is needed, and serves the product too
  EXPECT_EQ(reduced(p.place()), (llvm::SmallVector<uint32_t>{y}));
}

TEST(ReductionPlacement, OneFactorOfAProductMayStayPartial) {
  Program p;
  uint32_t a = p.dot({}, 10), b = p.dot({}, 20), product = p.multiply(a, b, 15);
  p.whole = {product};
  ReductionPlacement placement = p.place();
  EXPECT_EQ(reduced(placement), (llvm::SmallVector<uint32_t>{a, product}));
  EXPECT_TRUE(placement.staysPartial(b));
}

TEST(ReductionPlacement, SquareOfAPartialValueIsNotLinear) {
  Program p;
  uint32_t a = p.dot({}, 10), square = p.multiply(a, a, 1);
  p.whole = {square};
  EXPECT_EQ(reduced(p.place()), (llvm::SmallVector<uint32_t>{a}));
}

TEST(ReductionPlacement, ResidualStreamIsReducedOnceABlock) {
  Program p;
  uint32_t x = p.value();
  llvm::SmallVector<uint32_t> sources;
  for (int layer = 0; layer < 1000; ++layer) {
    uint32_t norm = p.tanh(x), y = p.dot({norm});
    sources.push_back(y);
    x = p.add(x, y);
  }
  p.whole = {x};
  EXPECT_EQ(reduced(p.place()), sources);
}

TEST(ReductionPlacement, UnusedValuesAreNotReduced) {
  Program p;
  p.dot();
  EXPECT_TRUE(reduced(p.place()).empty());
}

// Random programs: what is found is legal, and no other choice of reductions sends less. (Products
// are left out: for two partial factors the choice is a heuristic.)
TEST(ReductionPlacement, RandomProgramsAgainstAllChoices) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    auto pick = [&](int n) { return int(rng() % n); };
    Program p;
    for (int i = 0; i < 2; ++i)
      p.value(1 + pick(9));
    for (int i = 0; i < 8; ++i) {
      uint32_t a = pick(p.costs.size()), b = pick(p.costs.size());
      int64_t cost = 1 + pick(9);
      switch (pick(4)) {
      case 0:
        p.dot({a}, cost);
        break;
      case 1:
        p.tanh(a);
        break;
      default:
        p.add(a, b, cost);
      }
    }
    p.whole = {uint32_t(p.costs.size() - 1)};
    ReductionPlacement placement = p.place();

    // Costs of a choice (bit set of values that are reduced where they are partial), or none.
    auto evaluate = [&](uint32_t mask) -> std::optional<int64_t> {
      std::vector<bool> partial(p.costs.size());
      int64_t cost = 0;
      for (const Program::Op &op : p.ops) {
        bool made = op.source;
        for (uint32_t v : op.operands) {
          if (!partial[v])
            continue;
          if (op.joint == 0)
            return std::nullopt;
          made = true;
        }
        bool reduce = mask >> op.result & 1;
        if (made && reduce)
          cost += p.costs[op.result] * 1000 + 1;
        partial[op.result] = made && !reduce;
      }
      for (uint32_t v : p.whole)
        if (partial[v])
          return std::nullopt;
      return cost;
    };
    uint32_t mine = 0;
    for (uint32_t v : placement.reduced.set_bits())
      mine |= 1u << v;
    std::optional<int64_t> got = evaluate(mine);
    ASSERT_TRUE(got.has_value()) << "seed " << seed;
    for (uint32_t mask = 0; mask < 1u << p.costs.size(); mask += 4)
      if (std::optional<int64_t> other = evaluate(mask))
        EXPECT_LE(*got / 1000, *other / 1000) << "seed " << seed;
  }
}

} // namespace
