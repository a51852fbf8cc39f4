// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/ReshardProblem.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"
#include <deque>

using namespace cleave;

std::string ReshardProblem::check() const {
  auto checkTensors = [&](uint32_t op, llvm::StringRef what, llvm::ArrayRef<uint32_t> numbers,
                          llvm::ArrayRef<PlannedTensor> planned,
                          llvm::ArrayRef<TensorFactors> factors) -> std::string {
    auto fail = [&](llvm::StringRef text) {
      return ("op " + llvm::Twine(op) + ": " + what + "s " + text).str();
    };
    if (numbers.size() != planned.size() || numbers.size() != factors.size())
      return fail("do not match its class");
    for (auto [number, tensor, dims] : llvm::zip(numbers, planned, factors)) {
      if (number == kNoValue)
        continue;
      if (number >= values.size())
        return fail("name a value that does not exist");
      if (values[number].shape != tensor.shape)
        return fail("do not have the shapes of its class");
      if (!dims.empty() && dims.size() != tensor.shape.size())
        return fail("do not have the ranks of its rule");
    }
    return "";
  };
  for (auto [i, value] : llvm::enumerate(values))
    if (value.planned.rank() != value.shape.size())
      return ("value " + llvm::Twine(i) + ": its layout does not have its rank").str();
  for (auto [i, op] : llvm::enumerate(ops)) {
    if (op.opClass >= classes.size())
      return ("op " + llvm::Twine(i) + ": names a class that does not exist").str();
    const OpClass &c = classes[op.opClass];
    std::string error = checkTensors(i, "operand", op.operands, c.operands, c.rule.operands);
    if (error.empty())
      error = checkTensors(i, "result", op.results, c.results, c.rule.results);
    if (!error.empty())
      return error;
  }
  for (const Demand &demand : demands)
    if (demand.value >= values.size() ||
        demand.layout.rank() != values[demand.value].shape.size() ||
        (demand.passes != kNoValue && demand.passes >= values.size()))
      return "a demand names a value that does not exist, or another rank";
  return "";
}

namespace {

/// Layouts as small numbers.
class LayoutTable {
public:
  uint32_t number(const Layout &layout) {
    auto &bucket = buckets[size_t(hash_value(layout)) >> 1];
    for (uint32_t n : bucket)
      if (layouts[n] == layout)
        return n;
    bucket.push_back(layouts.size());
    layouts.push_back(layout);
    return bucket.back();
  }

private:
  llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 1>> buckets;
  std::vector<Layout> layouts;
};

class Solver {
public:
  Solver(const ReshardProblem &problem, ReshardPlanner &planner)
      : problem(problem), planner(planner) {}
  ReshardSolution run();

private:
  void enumerateClasses();
  void chooseFactors();
  bool chooseAgain(uint32_t op);
  void countUses(uint32_t op, int delta);
  void joinSums();
  uint32_t choiceWithout(uint32_t opClass, const AxisList &axes);
  void produce();
  void placeAll();
  bool splitAtoms(AxisList list);
  bool sumsOver(uint32_t op, const AxisList &axes) const;
  llvm::SmallVector<uint32_t, 2> resultsSummedOver(uint32_t op, const AxisList &axes) const;
  ReductionPlacement placeOver(size_t atom);
  int64_t priceOfReducing(uint32_t value, size_t atom);
  void require();
  void chooseHubs();
  Layout hubOf(uint32_t value, llvm::ArrayRef<const Layout *> uses);
  int64_t price(uint32_t value, const Layout &from, const Layout &to, int64_t &steps);

  const ReshardProblem &problem;
  ReshardPlanner &planner;
  ReshardSolution solution;
  LayoutTable table;
  /// The numbers of the operand layouts of each choice of each class.
  std::vector<llvm::SmallVector<llvm::SmallVector<uint32_t, 4>, 1>> operandNumbers;
  /// Choices added by choiceWithout, by (class, layout number of the axes).
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> without;
  /// Uses of a value in a layout, by (value, layout number).
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, int> uses;
  /// Of each value, the partial axes that are reduced right after it is made. Until sums are
  /// placed, of those that are reduced at once only.
  std::vector<AxisList> reduced;
  /// Lists of axes that sums are partial over, none overlapping another, and what is placed so far.
  llvm::SmallVector<AxisList, 4> atoms;
  std::vector<ReductionPlacement> placements;
};

} // namespace

static Layout withoutPartial(Layout layout) {
  layout.partial.clear();
  layout.partialKind = Reduction::Sum;
  return layout;
}

/// `layout` with its dimensions freed of the axes it is then partial over.
static Layout withPartial(Layout layout, const AxisList &partial, Reduction kind) {
  for (AxisList &axes : layout.dims)
    if (axesOverlap(axes, partial))
      axes = subtractAxes(axes, partial);
  layout.partial = partial;
  layout.partialKind = partial.empty() ? Reduction::Sum : kind;
  return layout;
}

/// True if `axes` are some of `list`, part by part.
static bool contains(llvm::ArrayRef<AxisRef> list, llvm::ArrayRef<AxisRef> axes) {
  AxisList rest = subtractAxes(list, axes);
  return shardCount(rest) * shardCount(axes) == shardCount(list) &&
         sortedAxes(subtractAxes(list, rest)) == sortedAxes(axes);
}

void Solver::enumerateClasses() {
  for (const ReshardProblem::OpClass &c : problem.classes) {
    solution.choices.push_back(enumerateFactorChoices(c.rule, c.operands, c.results, planner));
    auto &numbers = operandNumbers.emplace_back();
    for (const FactorChoice &choice : solution.choices.back().choices) {
      auto &list = numbers.emplace_back();
      for (const Layout &layout : choice.operands)
        list.push_back(table.number(layout));
    }
  }
}

void Solver::countUses(uint32_t op, int delta) {
  const ReshardProblem::Op &o = problem.ops[op];
  const auto &numbers = operandNumbers[o.opClass][solution.choice[op]];
  for (auto [value, number] : llvm::zip(o.operands, numbers))
    if (value != kNoValue)
      uses[{value, number}] += delta;
}

/// Chooses anew for one op, given the layouts in which other ops use its operands: one reshard
/// serves all of them. Returns whether the choice changed.
bool Solver::chooseAgain(uint32_t op) {
  const ReshardProblem::Op &o = problem.ops[op];
  const auto &choices = solution.choices[o.opClass].choices;
  uint32_t best = 0;
  std::tuple<int64_t, int64_t, int64_t> bestPrice{INT64_MAX, 0, 0};
  for (auto [i, choice] : llvm::enumerate(choices)) {
    int64_t bytes = costUnits(choice.resultBytes);
    for (auto [j, value] : llvm::enumerate(o.operands)) {
      if (choice.operandBytes[j] == 0)
        continue;
      auto use =
          value == kNoValue ? uses.end() : uses.find({value, operandNumbers[o.opClass][i][j]});
      if (use == uses.end() || use->second == 0)
        bytes += costUnits(choice.operandBytes[j]);
    }
    std::tuple<int64_t, int64_t, int64_t> price{bytes, -choice.shards, choice.steps};
    if (price < bestPrice) {
      bestPrice = price;
      best = i;
    }
  }
  return std::exchange(solution.choice[op], best) != best;
}

void Solver::chooseFactors() {
  solution.choice.assign(problem.ops.size(), 0);
  std::vector<uint32_t> open;
  // First the ops that have no choice: what they gather is there for the others.
  for (uint32_t op = 0; op < problem.ops.size(); ++op) {
    if (solution.choices[problem.ops[op].opClass].choices.size() == 1)
      countUses(op, 1);
    else
      open.push_back(op);
  }
  for (const ReshardProblem::Demand &demand : problem.demands)
    ++uses[{demand.value, table.number(demand.layout)}];
  for (uint32_t op : open) {
    chooseAgain(op);
    countUses(op, 1);
  }
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds && !open.empty(); ++round) {
    bool changed = false;
    for (uint32_t op : open) {
      countUses(op, -1);
      changed |= chooseAgain(op);
      countUses(op, 1);
    }
    if (!changed)
      break;
  }
}

/// A choice of the class that splits nothing over `axes`: as if its tensors were planned without
/// them.
uint32_t Solver::choiceWithout(uint32_t opClass, const AxisList &axes) {
  Layout key;
  key.partial = axes;
  auto [entry, isNew] = without.try_emplace({opClass, table.number(key)});
  if (!isNew)
    return entry->second;
  const ReshardProblem::OpClass &c = problem.classes[opClass];
  llvm::SmallVector<PlannedTensor, 4> operands(c.operands);
  llvm::SmallVector<PlannedTensor, 2> results(c.results);
  auto strip = [&](PlannedTensor &tensor) {
    for (AxisList &dim : tensor.layout.dims)
      dim = subtractAxes(dim, axes);
    tensor.layout.partial.clear();
  };
  llvm::for_each(operands, strip);
  llvm::for_each(results, strip);
  auto &choices = solution.choices[opClass].choices;
  choices.push_back(enumerateFactorChoices(c.rule, operands, results, planner).choices.front());
  auto &numbers = operandNumbers[opClass].emplace_back();
  for (const Layout &layout : choices.back().operands)
    numbers.push_back(table.number(layout));
  return entry->second = choices.size() - 1;
}

/// Sums of partial sums are made before the reduction even where the result is planned sharded over
/// the axes of the sum: one reduce-scatter of the total sends less than one of each term. (The
/// gradients by one value of several products under sequence parallelism, or of all microbatches.)
/// Terms with other uses are left alone: those may need them reduced anyway.
void Solver::joinSums() {
  std::vector<AxisList> partial(problem.values.size());
  std::vector<uint32_t> useCounts(problem.values.size(), 0);
  for (const ReshardProblem::Op &op : problem.ops)
    for (uint32_t value : op.operands)
      if (value != kNoValue)
        ++useCounts[value];
  for (const ReshardProblem::Demand &demand : problem.demands)
    ++useCounts[demand.value];
  for (uint32_t op = 0; op < problem.ops.size(); ++op) {
    const ReshardProblem::Op &o = problem.ops[op];
    const FactorRule &rule = problem.classes[o.opClass].rule;
    const FactorChoice &choice = solution.choiceOf(problem, op);
    for (auto [value, layout] : llvm::zip(o.results, choice.results))
      if (layout.partialKind == Reduction::Sum)
        partial[value] = layout.partial;
    // The axes over which all terms are partial.
    uint32_t areTerms = o.addsUp ? rule.separatelyLinear : rule.jointlyLinear;
    AxisList axes;
    unsigned terms = 0;
    for (auto [index, value] : llvm::enumerate(o.operands)) {
      if (index >= 32 || !(areTerms >> index & 1))
        continue;
      if (value == kNoValue || useCounts[value] > 1 || partial[value].empty() ||
          (terms && partial[value] != axes)) {
        terms = 0;
        break;
      }
      axes = partial[value];
      ++terms;
    }
    // What is added up over repetitions, even over a single one, is a term of the sum that goes on.
    if (terms < (o.addsUp ? 1 : 2) || o.results.size() != 1)
      continue;
    bool splits =
        llvm::any_of(choice.axes, [&](const AxisList &list) { return axesOverlap(list, axes); });
    if (splits)
      solution.choice[op] = choiceWithout(o.opClass, axes);
    partial[o.results.front()] = axes;
  }
}

void Solver::produce() {
  for (const ReshardProblem::Value &value : problem.values)
    solution.produced.push_back(value.planned);
  for (uint32_t op = 0; op < problem.ops.size(); ++op)
    for (auto [value, layout] :
         llvm::zip(problem.ops[op].results, solution.choiceOf(problem, op).results))
      solution.produced[value] = layout;
  reduced.resize(problem.values.size());

  // Maxima and minima are reduced at once. Sums over lists of axes that overlap are placed by the
  // parts that none of them splits.
  llvm::SmallVector<AxisList, 4> placed, atOnce;
  for (auto [value, layout] : llvm::enumerate(solution.produced)) {
    if (layout.partial.empty())
      continue;
    if (layout.partialKind == Reduction::Sum && !llvm::is_contained(placed, layout.partial) &&
        !llvm::is_contained(atOnce, layout.partial))
      (splitAtoms(layout.partial) ? placed : atOnce).push_back(layout.partial);
    if (layout.partialKind != Reduction::Sum || llvm::is_contained(atOnce, layout.partial))
      reduced[value] = layout.partial;
  }
  // What is demanded partial may stay so: over whole atoms only.
  for (const ReshardProblem::Demand &demand : problem.demands)
    if (!demand.layout.partial.empty() && demand.layout.partialKind == Reduction::Sum)
      splitAtoms(demand.layout.partial);
  // Where a sum may pass over some of its axes only.
  for (const ReshardProblem::Demand &demand : problem.demands) {
    AxisList used = demand.passes == kNoValue ? AxisList() : demand.layout.usedAxes();
    for (size_t i = 0; i < atoms.size() && !used.empty(); ++i)
      if (AxisList rest = subtractAxes(atoms[i], used);
          !rest.empty() && shardCount(rest) != shardCount(atoms[i]) && splitAtoms(rest))
        break;
  }
}

/// Adds a list of axes to the atoms, splitting those that it overlaps. Returns false, with the
/// atoms as they were, if an axis is factored in unrelated ways (3 x 4 and 4 x 3).
bool Solver::splitAtoms(AxisList list) {
  llvm::SmallVector<AxisList, 4> split;
  for (const AxisList &atom : atoms) {
    AxisList onlyOld = subtractAxes(atom, list), onlyNew = subtractAxes(list, atom);
    // What both have, which must come out alike from either side.
    AxisList common = sortedAxes(subtractAxes(atom, onlyOld));
    if (common != sortedAxes(subtractAxes(list, onlyNew)) ||
        shardCount(onlyOld) * shardCount(common) != shardCount(atom) ||
        shardCount(onlyNew) * shardCount(common) != shardCount(list))
      return false;
    if (!common.empty())
      split.push_back(common);
    if (!onlyOld.empty())
      split.push_back(onlyOld);
    list = onlyNew;
  }
  if (!list.empty())
    split.push_back(list);
  atoms = std::move(split);
  return true;
}

bool Solver::sumsOver(uint32_t op, const AxisList &axes) const {
  const FactorRule &rule = problem.classes[problem.ops[op].opClass].rule;
  for (auto [factor, list] : llvm::zip(rule.factors, solution.choiceOf(problem, op).axes))
    if (factor.kind == FactorKind::Reduction && factor.reduction == Reduction::Sum &&
        axesOverlap(list, axes))
      return true;
  return false;
}

/// The results that the op makes partial over `axes`.
llvm::SmallVector<uint32_t, 2> Solver::resultsSummedOver(uint32_t op, const AxisList &axes) const {
  const FactorRule &rule = problem.classes[problem.ops[op].opClass].rule;
  const FactorAxes &split = solution.choiceOf(problem, op).axes;
  llvm::SmallVector<uint32_t, 2> results;
  for (auto [tensor, value] : llvm::zip(rule.results, problem.ops[op].results))
    if (axesOverlap(partialAxes(rule, tensor, split), axes))
      results.push_back(value);
  return results;
}

/// What reducing a value over one more list costs beside those over which it is reduced anyway: one
/// collective over both sends less than two.
int64_t Solver::priceOfReducing(uint32_t value, size_t atom) {
  const ReshardProblem::Value &v = problem.values[value];
  AxisList others;
  for (size_t i = 0; i < placements.size(); ++i)
    if (i != atom && placements[i].reduced.size() && placements[i].reduced.test(value))
      others.append(atoms[i].begin(), atoms[i].end());
  AxisList all = others;
  all.append(atoms[atom].begin(), atoms[atom].end());
  Layout goal = withoutPartial(v.planned);
  auto price = [&](const AxisList &partial) {
    if (partial.empty())
      return int64_t(0);
    Layout from = withPartial(solution.produced[value], sortedAxes(partial), Reduction::Sum);
    return costUnits(planner.cost(v.shape, v.elementBytes, from, goal));
  };
  return v.runs * std::max(int64_t(0), price(all) - price(others));
}

ReductionPlacement Solver::placeOver(size_t atom) {
  const AxisList &axes = atoms[atom];
  std::vector<ReductionOp> ops;
  ops.reserve(problem.ops.size() + problem.values.size() / 8);
  std::vector<uint32_t> numbers(problem.values.size());
  llvm::BitVector hasOp(problem.values.size());
  for (const ReshardProblem::Op &op : problem.ops)
    for (uint32_t value : op.results)
      hasOp.set(value);
  // Demands that let sums pass stand among the ops.
  auto demand = problem.demands.begin();
  auto addPassing = [&](uint32_t before) {
    for (; demand != problem.demands.end() && demand->order <= before; ++demand)
      if (demand->passes != kNoValue)
        ops.push_back({llvm::ArrayRef(demand->value), llvm::ArrayRef(demand->passes), 1, 0, false,
                       axesOverlap(demand->layout.usedAxes(), axes)});
  };
  // Arguments that come in partial.
  for (uint32_t value = 0; value < numbers.size(); ++value) {
    numbers[value] = value;
    const Layout &layout = problem.values[value].planned;
    if (!hasOp.test(value) && reduced[value].empty() && axesOverlap(layout.partial, axes))
      ops.push_back({{}, llvm::ArrayRef(numbers[value]), 0, 0, true, true});
  }
  // Per (class, choice): whether it sums over these axes, or splits its work over them. A result
  // that has all the factors summed over is whole.
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, std::pair<bool, bool>> known;
  std::deque<llvm::SmallVector<uint32_t, 2>> summed;
  for (uint32_t i = 0; i < problem.ops.size(); ++i) {
    addPassing(i);
    const ReshardProblem::Op &op = problem.ops[i];
    const FactorRule &rule = problem.classes[op.opClass].rule;
    auto [entry, isNew] = known.try_emplace({op.opClass, solution.choice[i]});
    if (isNew)
      entry->second = {sumsOver(i, axes),
                       llvm::any_of(solution.choiceOf(problem, i).axes,
                                    [&](const AxisList &list) { return axesOverlap(list, axes); })};
    llvm::ArrayRef<uint32_t> results = op.results;
    if (entry->second.first && results.size() > 1)
      results = summed.emplace_back(resultsSummedOver(i, axes));
    // What is reduced at once is no source.
    bool isSource = entry->second.first && !results.empty() && reduced[results.front()].empty();
    ops.push_back({op.operands, results, rule.jointlyLinear, rule.separatelyLinear, isSource,
                   entry->second.second});
  }
  addPassing(problem.ops.size());
  llvm::BitVector mustBeWhole(problem.values.size());
  for (const ReshardProblem::Demand &demand : problem.demands)
    if (demand.passes == kNoValue && !contains(demand.layout.partial, axes))
      mustBeWhole.set(demand.value);
  return placeReductions(problem.values.size(), ops, mustBeWhole,
                         [&](uint32_t value) { return priceOfReducing(value, atom); });
}

void Solver::placeAll() {
  placements.resize(atoms.size());
  // The lists with the most sums first, since the others then join their reductions.
  llvm::SmallVector<std::pair<int64_t, size_t>, 4> order;
  for (size_t atom = 0; atom < atoms.size(); ++atom) {
    int64_t sums = 0;
    if (atoms.size() > 1)
      for (uint32_t op = 0; op < problem.ops.size(); ++op)
        sums += sumsOver(op, atoms[atom]);
    order.push_back({-sums, atom});
  }
  llvm::sort(order);
  const int rounds = atoms.size() > 1 ? 2 : 1;
  for (int round = 0; round < rounds; ++round)
    for (auto [sums, atom] : order)
      placements[atom] = placeOver(atom);

  for (auto [axes, placement] : llvm::zip(atoms, placements)) {
    for (uint32_t value : placement.partial.set_bits()) {
      Layout &layout = solution.produced[value];
      if (!axesOverlap(layout.partial, axes)) {
        AxisList all = layout.partial;
        all.append(axes.begin(), axes.end());
        layout.partial = sortedAxes(all);
      }
      if (placement.reduced.test(value)) {
        reduced[value].append(axes.begin(), axes.end());
        reduced[value] = sortedAxes(reduced[value]);
      }
    }
  }
}

/// The layouts in which ops use values: dimensions from the choice, partial axes from what the
/// values are left partial over, and those of the addends beside a whole one.
void Solver::require() {
  auto left = [&](uint32_t value) {
    return subtractAxes(solution.produced[value].partial, reduced[value]);
  };
  for (uint32_t i = 0; i < problem.ops.size(); ++i) {
    const ReshardProblem::Op &op = problem.ops[i];
    const FactorRule &rule = problem.classes[op.opClass].rule;
    const FactorChoice &choice = solution.choiceOf(problem, i);
    // What the result is partial over by way of jointly linear operands, or by the op's own sum
    // over a factor that such an operand does not have.
    AxisList passed;
    for (auto [j, value] : llvm::enumerate(op.operands))
      if (value != kNoValue && j < 32 && (rule.jointlyLinear >> j & 1))
        passed.append(subtractAxes(left(value), passed));
    auto &list = solution.required.emplace_back();
    for (auto [j, value] : llvm::enumerate(op.operands)) {
      if (value == kNoValue) {
        list.emplace_back();
        continue;
      }
      AxisList partial = left(value);
      if (j < 32 && (rule.jointlyLinear >> j & 1)) {
        AxisList more = subtractAxes(passed, partial);
        for (auto [f, factor] : llvm::enumerate(rule.factors))
          if (factor.kind == FactorKind::Reduction &&
              llvm::none_of(rule.operands[j],
                            [&](const DimFactors &dim) { return llvm::is_contained(dim, f); }))
            more.append(choice.axes[f].begin(), choice.axes[f].end());
        partial.append(more.begin(), more.end());
      }
      Layout layout = choice.operands[j];
      layout.partial = sortedAxes(partial);
      list.push_back(std::move(layout));
    }
  }
  for (const ReshardProblem::Demand &demand : problem.demands) {
    solution.demanded.push_back(demand.layout);
    if (demand.passes == kNoValue)
      continue;
    solution.demanded.back().partial = left(demand.value);
    solution.demanded.back().partialKind = Reduction::Sum;
  }
}

int64_t Solver::price(uint32_t value, const Layout &from, const Layout &to, int64_t &steps) {
  if (from == to)
    return 0;
  const ReshardProblem::Value &v = problem.values[value];
  steps += planner.path(v.shape, v.elementBytes, from, to).size();
  return costUnits(planner.cost(v.shape, v.elementBytes, from, to));
}

/// The layout to bring a value to once: the one from which all uses together cost least.
Layout Solver::hubOf(uint32_t value, llvm::ArrayRef<const Layout *> usesOfValue) {
  const Layout &produced = solution.produced[value];
  const AxisList &cut = reduced[value];
  AxisList left = subtractAxes(produced.partial, cut);
  // What uses need of the reshards; keeping a value on one coordinate comes after and is free.
  llvm::SmallVector<Layout, 4> goals;
  for (const Layout *use : usesOfValue) {
    Layout goal = *use;
    goal.partial = left;
    goal.partialKind = left.empty() ? Reduction::Sum : produced.partialKind;
    if (!llvm::is_contained(goals, goal))
      goals.push_back(goal);
  }
  if (goals.empty() || (goals.size() == 1 && goals.front() == produced))
    return produced;
  llvm::SmallVector<Layout, 4> hubs;
  if (cut.empty())
    hubs.push_back(produced);
  Layout planned =
      withPartial(withoutPartial(problem.values[value].planned), left, produced.partialKind);
  hubs.push_back(planned);
  for (const Layout &goal : goals)
    if (!llvm::is_contained(hubs, goal))
      hubs.push_back(goal);

  std::pair<int64_t, int64_t> bestPrice{INT64_MAX, 0};
  const Layout *best = &hubs.front();
  for (const Layout &hub : hubs) {
    int64_t steps = 0;
    int64_t bytes = price(value, produced, hub, steps);
    for (const Layout &goal : goals)
      bytes += price(value, hub, goal, steps);
    if (std::make_pair(bytes, steps) < bestPrice) {
      bestPrice = {bytes, steps};
      best = &hub;
    }
  }
  return *best;
}

void Solver::chooseHubs() {
  std::vector<llvm::SmallVector<const Layout *, 2>> layouts(problem.values.size());
  for (auto [op, list] : llvm::zip(problem.ops, solution.required))
    for (auto [value, layout] : llvm::zip(op.operands, list))
      if (value != kNoValue)
        layouts[value].push_back(&layout);
  for (auto [demand, layout] : llvm::zip(problem.demands, solution.demanded))
    layouts[demand.value].push_back(&layout);
  for (uint32_t value = 0; value < problem.values.size(); ++value)
    solution.hub.push_back(problem.values[value].free ? solution.produced[value]
                                                      : hubOf(value, layouts[value]));
}

ReshardSolution Solver::run() {
  enumerateClasses();
  chooseFactors();
  joinSums();
  produce();
  placeAll();
  require();
  chooseHubs();
  return std::move(solution);
}

ReshardSolution cleave::solveReshards(const ReshardProblem &problem, ReshardPlanner &planner) {
  return Solver(problem, planner).run();
}
