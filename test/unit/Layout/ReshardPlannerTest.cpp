// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ReshardSimulator.h"
#include "Seed.h"

#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <set>

using namespace cleave;
using namespace cleave::test;

namespace {

const Mesh kMesh({{"a", 2}, {"b", 4}, {"c", 2}});
constexpr AxisRef kA{0, 1, 2}, kB{1, 1, 4}, kB0{1, 1, 2}, kB1{1, 2, 2}, kC{2, 1, 2};

std::string kindName(CollectiveKind kind) {
  static constexpr const char *kNames[] = {"all_reduce", "all_gather", "reduce_scatter",
                                           "all_to_all", "all_slice",  "collective_permute"};
  return kNames[unsigned(kind)];
}

/// `all_gather{"a"}@0; all_to_all{"b"}@1->0`.
std::string describe(const Mesh &mesh, llvm::ArrayRef<ReshardStep> steps) {
  std::string text;
  for (const ReshardStep &step : steps) {
    text += (text.empty() ? "" : "; ") + kindName(step.kind);
    if (!step.axes.empty())
      text += toString(mesh, step.axes);
    if (step.dim >= 0)
      text += "@" + std::to_string(step.dim);
    if (step.dim2 >= 0)
      text += "->" + std::to_string(step.dim2);
  }
  return text;
}

std::string plan(llvm::ArrayRef<int64_t> shape, const Layout &from, const Layout &to) {
  ReshardPlanner planner(kMesh);
  return describe(kMesh, planner.path(shape, 4, from, to));
}

std::string describeCase(const RandomCase &c) {
  std::string text = "mesh";
  for (const Mesh::Axis &axis : c.mesh.axes())
    text += " " + axis.name + "=" + std::to_string(axis.size);
  text += ", shape";
  for (int64_t size : c.shape)
    text += " " + std::to_string(size);
  return text + ", from " + toString(c.mesh, c.from) + ", to " + toString(c.mesh, c.to);
}

//===------------------------------------------------------------------------------------------===//
// Known answers
//===------------------------------------------------------------------------------------------===//

TEST(RingBytesTest, Formulas) {
  Layout whole = Layout::replicated(2), rows{{{kB}, {}}, {}}, partial{{{}, {}}, {kB}};
  auto bytes = [](CollectiveKind kind, const Layout &before) {
    return ringBytes(ReshardStep{kind, {kB}, 0}, {16, 10}, 4, before);
  };
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::AllReduce, partial), 2 * 0.75 * 640);
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::ReduceScatter, partial), 0.75 * 640);
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::AllGather, rows), 0.75 * 640); // of its result
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::AllToAll, rows), 0.75 * 160);
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::CollectivePermute, rows), 160);
  EXPECT_DOUBLE_EQ(bytes(CollectiveKind::AllSlice, whole), 0);
  // Unpadded: 509 rows over 4 count as 127.25 a device.
  EXPECT_DOUBLE_EQ(ringBytes({CollectiveKind::AllGather, {kB}, 0}, {509}, 4, {{{kB}}, {}}),
                   0.75 * 509 * 4);
}

TEST(ReshardPlannerTest, SingleSteps) {
  Layout whole = Layout::replicated(2), rows{{{kB}, {}}, {}}, cols{{{}, {kB}}, {}};
  Layout partial{{{}, {}}, {kB}};
  EXPECT_EQ(plan({16, 16}, rows, rows), "");
  EXPECT_EQ(plan({16, 16}, rows, whole), R"(all_gather{"b"}@0)");
  EXPECT_EQ(plan({16, 16}, whole, rows), R"(all_slice{"b"}@0)");
  EXPECT_EQ(plan({16, 16}, rows, cols), R"(all_to_all{"b"}@0->1)");
  EXPECT_EQ(plan({16, 16}, partial, whole), R"(all_reduce{"b"})");
  EXPECT_EQ(plan({16, 16}, partial, cols), R"(reduce_scatter{"b"}@1)");
  EXPECT_EQ(plan({16, 16}, {{{kA, kC}, {}}, {}}, {{{kC, kA}, {}}, {}}), "collective_permute");
  EXPECT_EQ(plan({16, 16}, {{{kA}, {kC}}, {}}, {{{kC}, {kA}}, {}}), "collective_permute");
}

TEST(ReshardPlannerTest, SubAxes) {
  EXPECT_EQ(plan({16, 16}, {{{kB}, {}}, {}}, {{{kB0}, {}}, {}}), R"(all_gather{"b":(2)2}@0)");
  EXPECT_EQ(plan({16, 16}, {{{kB0}, {}}, {}}, {{{kB}, {}}, {}}), R"(all_slice{"b":(2)2}@0)");
  EXPECT_EQ(plan({16, 16}, {{{kB}, {}}, {}}, {{{kB0}, {kB1}}, {}}), R"(all_to_all{"b":(2)2}@0->1)");
  EXPECT_EQ(plan({16}, {{{kB0}}, {kB1}}, {{{kB}}, {}}), R"(reduce_scatter{"b":(2)2}@0)");
  EXPECT_EQ(plan({16}, {{{}}, {kB}}, {{{}}, {kB0}}), R"(all_reduce{"b":(2)2})");
}

TEST(ReshardPlannerTest, SeveralAxesAreOneStep) {
  EXPECT_EQ(plan({16}, {{{}}, {kA, kC}}, {{{}}, {}}), R"(all_reduce{"a", "c"})");
  EXPECT_EQ(plan({16}, {{{kA, kB}}, {}}, {{{}}, {}}), R"(all_gather{"a", "b"}@0)");
  EXPECT_EQ(plan({16}, {{{}}, {}}, {{{kC, kB}}, {}}), R"(all_slice{"c", "b"}@0)");
  EXPECT_EQ(plan({16}, {{{}}, {kB, kC}}, {{{kC, kB}}, {}}), R"(reduce_scatter{"c", "b"}@0)");
}

TEST(ReshardPlannerTest, ReducesWhereTheBufferIsSmallest) {
  // Slicing first makes the reduction smaller; so does scattering before the rest is reduced.
  EXPECT_EQ(plan({16, 16}, {{{}, {}}, {kA}}, {{{kB}, {}}, {}}),
            R"(all_slice{"b"}@0; all_reduce{"a"})");
  EXPECT_EQ(plan({16, 16}, {{{}, {}}, {kA, kB}}, {{{kB}, {}}, {}}),
            R"(reduce_scatter{"b"}@0; all_reduce{"a"})");
  EXPECT_EQ(plan({16, 16}, {{{kB}, {}}, {kA}}, {{{}, {}}, {}}),
            R"(all_reduce{"a"}; all_gather{"b"}@0)");
}

TEST(ReshardPlannerTest, SlicesAnotherDimensionToReduceLess) {
  // The axis of the slice is minor in the target, so that it cannot be in place before the
  // reduction; in another dimension it can, and moves afterwards.
  EXPECT_EQ(plan({16, 16}, {{{}, {}}, {kA}}, {{{kA, kB}, {}}, {}}),
            R"(all_slice{"b"}@1; reduce_scatter{"a"}@0; all_to_all{"b"}@1->0)");
  EXPECT_EQ(plan({16, 16}, {{{}, {}}, {kB0}}, {{{kB}, {}}, {}}),
            R"(all_slice{"b":(2)2}@1; reduce_scatter{"b":(1)2}@0; all_to_all{"b":(2)2}@1->0)");
  // With one dimension it is major at first; then the blocks change places.
  EXPECT_EQ(plan({16}, {{{}}, {kA}}, {{{kA, kB}}, {}}),
            R"(all_slice{"b"}@0; reduce_scatter{"a"}@0; collective_permute)");
}

TEST(ReshardPlannerTest, UnalignedBlocksAreNotSplit) {
  // 6 rows over 4: blocks of 2, 2, 2, 0. Over the major 2 of them: blocks of 3.
  Layout four{{{kB}}, {}}, two{{{kB0}}, {}};
  EXPECT_EQ(plan({8}, four, two), R"(all_gather{"b":(2)2}@0)");
  EXPECT_EQ(plan({6}, four, two), R"(all_gather{"b"}@0; all_slice{"b":(1)2}@0)");
  EXPECT_EQ(plan({6}, two, four), R"(all_gather{"b":(1)2}@0; all_slice{"b"}@0)");
  // A whole dimension is gathered whatever its size.
  EXPECT_EQ(plan({5}, four, {{{}}, {}}), R"(all_gather{"b"}@0)");
}

TEST(ReshardPlannerTest, WholeNeverBecomesPartial) {
  ReshardPlanner planner(kMesh);
  Layout whole = Layout::replicated(1), partial{{{}}, {kA}}, max{{{}}, {kA}, Reduction::Max};
  EXPECT_FALSE(ReshardPlanner::reachable(whole, partial));
  EXPECT_FALSE(ReshardPlanner::reachable(partial, max));
  EXPECT_FALSE(ReshardPlanner::reachable({{{}}, {kB0}}, {{{}}, {kB}}));
  EXPECT_TRUE(ReshardPlanner::reachable({{{}}, {kB}}, {{{}}, {kB1}}));
  EXPECT_TRUE(ReshardPlanner::reachable(max, whole));
  EXPECT_TRUE(planner.path({8}, 4, whole, partial).empty());
  EXPECT_EQ(planner.cost({8}, 4, whole, partial), std::numeric_limits<double>::infinity());
  EXPECT_EQ(planner.path({8}, 4, max, whole)[0].reduction, Reduction::Max);
}

TEST(ReshardPlannerTest, EqualQueriesShareOneAnswer) {
  ReshardPlanner planner(kMesh);
  Layout rows{{{kB}, {}}, {}}, cols{{{}, {kB}}, {}};
  auto *first = planner.path({16, 16}, 4, rows, cols).data();
  EXPECT_EQ(planner.path({16, 16}, 4, rows, cols).data(), first);
  EXPECT_EQ(planner.path({160, 32}, 2, rows, cols).data(), first); // same divisibility
  EXPECT_NE(planner.path({16, 16}, 4, cols, rows).data(), first);
  EXPECT_EQ(planner.cost({160, 32}, 2, rows, cols), 0.75 * 160 * 32 * 2 / 4);
}

TEST(ReshardPlannerTest, ManyAxesStillHaveAPath) {
  // More parts than the search takes: reduce, gather, slice.
  llvm::SmallVector<Mesh::Axis> axes;
  for (int i = 0; i < 20; ++i)
    axes.push_back({"x" + std::to_string(i), 2});
  Mesh mesh(axes);
  Layout from = Layout::replicated(2), to = from;
  for (uint32_t i = 0; i < 18; ++i) {
    from.dims[0].push_back(mesh.axis(i));
    to.dims[1].push_back(mesh.axis(17 - i));
  }
  from.partial = {mesh.axis(19)};
  ReshardPlanner planner(mesh);
  auto steps = planner.path({1 << 18, 1 << 18}, 4, from, to);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps.back().result, to);
  double bytes = 0;
  Layout before = from;
  for (const ReshardStep &step : steps) {
    bytes += ringBytes(step, {1 << 18, 1 << 18}, 4, before);
    before = step.result;
  }
  EXPECT_DOUBLE_EQ(planner.cost({1 << 18, 1 << 18}, 4, from, to), bytes);
}

//===------------------------------------------------------------------------------------------===//
// Against the simulator and against a search without shortcuts
//===------------------------------------------------------------------------------------------===//

TEST(ReshardPlannerTest, RandomPathsMoveTheRightElements) {
  uint32_t seed = seedFromEnvironment();
  std::mt19937 random(seed);
  for (int round = 0; round < 1000; ++round) {
    RandomCase c = makeRandomCase(random, 3, 3, 48);
    SCOPED_TRACE(replayText(seed, round) + ": " + describeCase(c));
    ReshardPlanner planner(c.mesh);
    auto steps = planner.path(c.shape, 4, c.from, c.to);
    Simulator simulator(c.mesh, c.shape, c.from);
    ASSERT_EQ(simulator.check(), "");
    double bytes = 0;
    for (const ReshardStep &step : steps) {
      bytes += ringBytes(step, c.shape, 4, simulator.layout());
      simulator.run(step);
      ASSERT_EQ(simulator.check(), "") << describe(c.mesh, steps);
    }
    ASSERT_EQ(simulator.layout(), c.to) << describe(c.mesh, steps);
    ASSERT_NEAR(bytes, planner.cost(c.shape, 4, c.from, c.to), 1e-9 * (1 + bytes));
  }
}

/// Uniform-cost search over all layouts that deal the parts of a mesh, with every move that there
/// is: any parts, in any order, in any dimension, and a permute between any two layouts with equal
/// blocks. Only axes that the target needs are brought in.
class Exhaustive {
public:
  Exhaustive(const RandomCase &c, llvm::ArrayRef<AxisRef> parts) : case_(c), parts_(parts) {}

  double run() {
    enumerate(Layout::replicated(case_.from.rank()), 0);
    std::set<std::pair<double, std::string>> queue;
    std::map<std::string, double> best;
    auto key = [&](const Layout &layout) { return toString(case_.mesh, layout); };
    std::string current;
    auto offer = [&](const Layout &layout, double bytes) {
      std::string name = key(layout);
      auto found = best.find(name);
      if (found != best.end() && found->second <= bytes)
        return;
      best[name] = bytes;
      parent_[name] = current;
      byName_[name] = layout;
      queue.insert({bytes, name});
    };
    offer(case_.from, 0);
    while (!queue.empty()) {
      auto [bytes, name] = *queue.begin();
      queue.erase(queue.begin());
      if (best[name] < bytes)
        continue;
      if (name == key(case_.to)) {
        for (std::string at = name; !at.empty(); at = parent_[at])
          path_ = at + (path_.empty() ? "" : " -> ") + path_;
        return bytes;
      }
      current = name;
      Layout layout = byName_[name];
      forEachMove(layout, [&](const ReshardStep &step) {
        offer(step.result, bytes + ringBytes(step, case_.shape, 4, layout));
      });
    }
    return std::numeric_limits<double>::infinity();
  }

  /// The layouts on the way, after run.
  const std::string &path() const { return path_; }

private:
  void enumerate(const Layout &layout, unsigned used) {
    all_.push_back(layout);
    for (unsigned i = 0; i < parts_.size(); ++i) {
      if (used & (1u << i))
        continue;
      // Each layout is made once: dimensions are filled in order.
      for (unsigned dim = 0; dim < layout.rank(); ++dim) {
        bool later = false;
        for (unsigned after = dim + 1; after < layout.rank(); ++after)
          later |= !layout.dims[after].empty();
        if (later)
          continue;
        Layout next = layout;
        appendAxis(next.dims[dim], parts_[i]);
        enumerate(next, used | 1u << i);
      }
    }
  }

  /// The parts of a list, major to minor.
  llvm::SmallVector<AxisRef> partsOf(const AxisList &list) const {
    llvm::SmallVector<AxisRef> result;
    AxisList rest = list;
    while (!rest.empty())
      for (const AxisRef &part : parts_)
        if (auto removed = removePrefix(rest, {part})) {
          result.push_back(part);
          rest = *removed;
          break;
        }
    return result;
  }

  /// The target has all of `axes` in its dimensions.
  bool wanted(const AxisList &axes) const {
    return subtractAxes(subtractAxes(axes, case_.to.partial),
                        subtractAxes(case_.to.usedAxes(), case_.to.partial))
        .empty();
  }

  template <typename F> void forEachMove(const Layout &layout, F f) const {
    unsigned rank = layout.rank();
    auto aligned = [&](unsigned dim, const AxisList &outer, const AxisList &inner) {
      return isAligned(case_.shape[dim], shardCount(outer), shardCount(inner));
    };
    auto appended = [](AxisList list, const AxisList &axes) {
      for (const AxisRef &ref : axes)
        appendAxis(list, ref);
      return list;
    };
    for (unsigned dim = 0; dim < rank; ++dim) {
      auto parts = partsOf(layout.dims[dim]);
      for (unsigned keep = 0; keep < parts.size(); ++keep) {
        AxisList outer = canonicalAxes(llvm::ArrayRef(parts).take_front(keep));
        AxisList moved = canonicalAxes(llvm::ArrayRef(parts).drop_front(keep));
        if (!aligned(dim, outer, moved))
          continue;
        ReshardStep step{CollectiveKind::AllGather, moved, int(dim)};
        step.result = layout;
        step.result.dims[dim] = outer;
        f(step);
        step.kind = CollectiveKind::AllToAll;
        for (unsigned dim2 = 0; dim2 < rank; ++dim2) {
          if (dim2 == dim || !aligned(dim2, layout.dims[dim2], moved))
            continue;
          ReshardStep move = step;
          move.dim2 = dim2;
          move.result.dims[dim2] = appended(layout.dims[dim2], moved);
          f(move);
        }
      }
    }
    auto partial = partsOf(layout.partial);
    for (unsigned set = 1; set < 1u << partial.size(); ++set) {
      AxisList reduced;
      for (unsigned i = 0; i < partial.size(); ++i)
        if (set & 1u << i)
          reduced.push_back(partial[i]);
      if (axesOverlap(reduced, case_.to.partial))
        continue;
      ReshardStep step{CollectiveKind::AllReduce, sortedAxes(reduced)};
      step.result = layout;
      step.result.partial = subtractAxes(layout.partial, reduced);
      f(step);
      step.kind = CollectiveKind::ReduceScatter;
      llvm::sort(reduced);
      do {
        for (unsigned dim = 0; dim < rank; ++dim) {
          step.axes = canonicalAxes(reduced);
          if (!aligned(dim, layout.dims[dim], step.axes))
            continue;
          ReshardStep scatter = step;
          scatter.dim = dim;
          scatter.result.dims[dim] = appended(layout.dims[dim], step.axes);
          f(scatter);
        }
      } while (std::next_permutation(reduced.begin(), reduced.end()));
    }
    for (const Layout &pattern : all_) {
      // Any unused parts in any order: the first dimension of the layouts that use no other.
      AxisList axes = pattern.dims[0];
      if (axes.empty() || shardCount(pattern.usedAxes()) != shardCount(axes) ||
          axesOverlap(axes, layout.usedAxes()) || !wanted(axes))
        continue;
      for (unsigned dim = 0; dim < rank; ++dim) {
        if (!aligned(dim, layout.dims[dim], axes))
          continue;
        ReshardStep step{CollectiveKind::AllSlice, axes, int(dim)};
        step.result = layout;
        step.result.dims[dim] = appended(layout.dims[dim], step.axes);
        f(step);
      }
    }
    for (const Layout &other : all_) {
      bool same = true;
      for (unsigned dim = 0; dim < rank; ++dim)
        same &= shardCount(other.dims[dim]) == shardCount(layout.dims[dim]);
      if (!same || axesOverlap(other.usedAxes(), layout.partial) ||
          !wanted(subtractAxes(other.usedAxes(), layout.usedAxes())))
        continue;
      ReshardStep step{CollectiveKind::CollectivePermute, {}};
      step.result = other;
      step.result.partial = layout.partial;
      step.result.partialKind = layout.partialKind;
      f(step);
    }
  }

  const RandomCase &case_;
  llvm::SmallVector<AxisRef> parts_;
  std::vector<Layout> all_;
  std::map<std::string, Layout> byName_;
  std::map<std::string, std::string> parent_;
  std::string path_;
};

TEST(ReshardPlannerTest, RandomPathsCostTheMinimum) {
  uint32_t seed = seedFromEnvironment();
  std::mt19937 random(seed);
  int compared = 0;
  for (int round = 0; round < 600; ++round) {
    RandomCase c = makeRandomCase(random, 3, 2, 32);
    // The parts that both layouts are made of; cases with two factorings of one axis are left out.
    std::set<AxisRef> parts;
    bool comparable = true;
    AxisList used = c.from.usedAxes(), other = c.to.usedAxes();
    used.append(other.begin(), other.end());
    for (uint32_t axis = 0; axis < c.mesh.axes().size(); ++axis) {
      std::set<uint32_t> cuts{1, c.mesh.axes()[axis].size};
      for (const AxisRef &ref : used)
        if (ref.axis == axis)
          cuts.insert({ref.preSize, ref.preSize * ref.size});
      for (auto it = std::next(cuts.begin()); it != cuts.end(); ++it) {
        comparable &= *it % *std::prev(it) == 0;
        parts.insert({axis, *std::prev(it), *it / *std::prev(it)});
      }
    }
    if (!comparable || parts.size() > 3)
      continue;
    SCOPED_TRACE(replayText(seed, round) + ": " + describeCase(c));
    ReshardPlanner planner(c.mesh);
    double bytes = planner.cost(c.shape, 4, c.from, c.to);
    Exhaustive exhaustive(c, llvm::SmallVector<AxisRef>(parts.begin(), parts.end()));
    double minimum = exhaustive.run();
    ASSERT_GE(bytes, minimum * (1 - 1e-9));
    EXPECT_LE(bytes, minimum * (1 + 1e-9))
        << describe(c.mesh, planner.path(c.shape, 4, c.from, c.to)) << " but there is "
        << exhaustive.path();
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

} // namespace
