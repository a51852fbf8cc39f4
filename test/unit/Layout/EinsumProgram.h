// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Programs for the tests of reshard placement, written as index strings over plain values.

#ifndef CLEAVE_TEST_UNIT_LAYOUT_EINSUMPROGRAM_H
#define CLEAVE_TEST_UNIT_LAYOUT_EINSUMPROGRAM_H

#include "cleave/Layout/ReshardProblem.h"

#include <map>
#include <string>

namespace cleave {

/// Builds a ReshardProblem whose dimensions are letters. A plan maps letters to axes, for instance
/// {{'b', "dp"}, {'k', "tp"}}; it is given for every value, as propagation would.
class EinsumProgram {
public:
  using Plan = std::map<char, std::string>;

  EinsumProgram(llvm::ArrayRef<Mesh::Axis> axes, std::map<char, int64_t> sizes)
      : mesh(axes), sizes(std::move(sizes)) {}

  uint32_t argument(std::string dims, const Plan &plan = {}) {
    problem.values.push_back({shapeOf(dims), 4, layoutOf(dims, plan)});
    names.push_back(dims);
    return problem.values.size() - 1;
  }

  struct Options {
    std::string whole; ///< letters that need replication
    uint32_t joint = 0, separate = 0;
    Reduction reduction = Reduction::Sum;
  };

  /// An op over the letters of its operands and its result; letters that the result lacks are
  /// reduced.
  uint32_t op(llvm::ArrayRef<uint32_t> operands, std::string result, const Plan &plan,
              const Options &options) {
    ReshardProblem::OpClass c;
    std::map<char, uint16_t> factors;
    auto tensor = [&](const std::string &dims) {
      TensorFactors list;
      for (char letter : dims) {
        auto [it, isNew] = factors.try_emplace(letter, 0);
        if (isNew) {
          FactorKind kind = FactorKind::PassThrough;
          if (result.find(letter) == std::string::npos)
            kind = FactorKind::Reduction;
          if (options.whole.find(letter) != std::string::npos)
            kind = FactorKind::NeedReplication;
          it->second = c.rule.addFactor(sizes.at(letter), kind);
          c.rule.factors.back().reduction = options.reduction;
        }
        list.push_back({it->second});
      }
      return list;
    };
    ReshardProblem::Op op;
    for (uint32_t operand : operands) {
      c.rule.operands.push_back(tensor(names[operand]));
      c.operands.push_back({problem.values[operand].shape, 4, problem.values[operand].planned,
                            problem.values[operand].free});
      op.operands.push_back(operand);
    }
    uint32_t value = argument(result, plan);
    c.rule.results.push_back(tensor(result));
    c.results.push_back({problem.values[value].shape, 4, problem.values[value].planned});
    c.rule.jointlyLinear = options.joint;
    c.rule.separatelyLinear = options.separate;
    op.results.push_back(value);
    op.opClass = problem.classes.size();
    problem.classes.push_back(std::move(c));
    problem.ops.push_back(std::move(op));
    return value;
  }
  uint32_t dot(uint32_t a, uint32_t b, const std::string &result, const Plan &plan = {}) {
    return op({a, b}, result, plan, {"", 0, 3});
  }
  uint32_t add(uint32_t a, uint32_t b, const Plan &plan = {}) {
    return op({a, b}, names[a], plan, {"", 3, 0});
  }
  uint32_t multiply(uint32_t a, uint32_t b, const Plan &plan = {}) {
    return op({a, b}, names[a], plan, {"", 0, 3});
  }
  /// Neither linear nor reducing.
  uint32_t map(uint32_t a, const Plan &plan = {}, const std::string &whole = "") {
    return op({a}, names[a], plan, {whole});
  }
  void returns(uint32_t value, const Plan &plan = {}) {
    problem.demands.push_back({value, layoutOf(names[value], plan), uint32_t(problem.ops.size())});
  }

  Layout layoutOf(const std::string &dims, const Plan &plan) const {
    Layout layout = Layout::replicated(dims.size());
    for (auto [axes, letter] : llvm::zip(layout.dims, dims))
      if (auto it = plan.find(letter); it != plan.end())
        axes = axesOf(it->second);
    return layout;
  }
  /// "dp,tp" or "tp:(1)2".
  AxisList axesOf(llvm::StringRef text) const {
    AxisList list;
    llvm::SmallVector<llvm::StringRef> parts;
    text.split(parts, ',');
    for (llvm::StringRef part : parts) {
      auto [name, digits] = part.split(':');
      AxisRef ref = mesh.axis(*mesh.findAxis(name));
      if (!digits.empty()) {
        auto [pre, size] = digits.drop_front().split(')');
        pre.getAsInteger(10, ref.preSize);
        size.getAsInteger(10, ref.size);
      }
      appendAxis(list, ref);
    }
    return list;
  }

  llvm::SmallVector<int64_t, 4> shapeOf(const std::string &dims) const {
    llvm::SmallVector<int64_t, 4> shape;
    for (char letter : dims)
      shape.push_back(sizes.at(letter));
    return shape;
  }

  Mesh mesh;
  std::map<char, int64_t> sizes;
  ReshardProblem problem;
  std::vector<std::string> names;
};

/// The collectives of a solution by kind, with the ring bytes of all. Each (value, layout) counts
/// once. Slices are not counted.
struct CollectiveCount {
  std::map<CollectiveKind, int> kinds;
  double bytes = 0;
  std::vector<std::string> list; ///< for messages: "value dims: kind axes"

  int operator[](CollectiveKind kind) const {
    auto it = kinds.find(kind);
    return it == kinds.end() ? 0 : it->second;
  }
  int total() const {
    int sum = 0;
    for (auto [kind, count] : kinds)
      sum += count;
    return sum;
  }
  std::string text() const {
    std::string all;
    for (const std::string &line : list)
      all += line + "\n";
    return all;
  }
};

inline CollectiveCount countCollectives(const EinsumProgram &program,
                                        const ReshardSolution &solution, ReshardPlanner &planner) {
  CollectiveCount count;
  const ReshardProblem &problem = program.problem;
  auto walk = [&](uint32_t value, Layout from, Layout to) {
    const ReshardProblem::Value &v = problem.values[value];
    static const char *const kinds[] = {"all-reduce", "all-gather", "reduce-scatter",
                                        "all-to-all", "slice",      "permute"};
    for (const ReshardStep &step : planner.path(v.shape, v.elementBytes, from, to)) {
      if (step.kind == CollectiveKind::AllSlice)
        continue;
      ++count.kinds[step.kind];
      count.bytes += ringBytes(step, v.shape, v.elementBytes, from);
      count.list.push_back("%" + std::to_string(value) + " " + program.names[value] + ": " +
                           kinds[int(step.kind)] + " " + toString(program.mesh, step.axes));
      from = step.result;
    }
  };
  std::vector<llvm::SmallVector<Layout>> goals(problem.values.size());
  auto use = [&](uint32_t value, Layout layout) {
    const Layout &hub = solution.hub[value];
    layout.partial = hub.partial;
    if (layout != hub && !llvm::is_contained(goals[value], layout))
      goals[value].push_back(layout);
  };
  for (auto [op, layouts] : llvm::zip(problem.ops, solution.required))
    for (auto [value, layout] : llvm::zip(op.operands, layouts))
      use(value, layout);
  for (auto [demand, layout] : llvm::zip(problem.demands, solution.demanded))
    use(demand.value, layout);
  for (uint32_t value = 0; value < problem.values.size(); ++value) {
    walk(value, solution.produced[value], solution.hub[value]);
    for (const Layout &goal : goals[value])
      walk(value, solution.hub[value], goal);
  }
  return count;
}

} // namespace cleave

#endif // CLEAVE_TEST_UNIT_LAYOUT_EINSUMPROGRAM_H
