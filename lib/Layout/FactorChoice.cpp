// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/FactorChoice.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/Twine.h"
#include <cmath>
#include <numeric>

using namespace cleave;

int64_t cleave::costUnits(double bytes) {
  return bytes < 1e15 ? std::llround(bytes * 1024) : int64_t(1e18);
}

static bool mustBeWhole(const Factor &factor) {
  return factor.viaDecomposition || factor.kind == FactorKind::NeedReplication ||
         factor.kind == FactorKind::Permutation;
}

/// Factors that are a part of a merged or split dimension of some tensor.
static llvm::SmallBitVector compoundFactors(const FactorRule &rule) {
  llvm::SmallBitVector compound(rule.factors.size());
  auto scan = [&](llvm::ArrayRef<TensorFactors> tensors) {
    for (const TensorFactors &tensor : tensors)
      for (const DimFactors &dim : tensor)
        if (countSplitFactors(rule, dim) >= 2)
          for (uint16_t factor : dim)
            compound.set(factor);
  };
  scan(rule.operands);
  scan(rule.results);
  return compound;
}

/// The longest major prefix of `axes` that divides `size`.
static AxisList dividingPrefix(int64_t size, llvm::ArrayRef<AxisRef> axes) {
  AxisList prefix;
  for (AxisRef ref : axes) {
    uint32_t taken = std::gcd(size, int64_t(ref.size));
    bool all = taken == ref.size;
    for (const AxisRef &part : takeMajor(ref, taken))
      appendAxis(prefix, part);
    if (!all)
      break;
    size /= taken;
  }
  return prefix;
}

/// The longest major prefix of `axes` that shares no device digit with `taken`.
static AxisList disjointPrefix(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<AxisRef> taken) {
  AxisList rest = subtractAxes(axes, taken);
  return commonPrefix(axes, rest);
}

bool cleave::isExpressible(const FactorRule &rule, const FactorAxes &axes) {
  AxisList used;
  for (auto [factor, list] : llvm::zip(rule.factors, axes)) {
    if (list.empty())
      continue;
    if (mustBeWhole(factor) || axesOverlap(used, list))
      return false;
    used.append(list.begin(), list.end());
  }
  auto fits = [&](const TensorFactors &tensor) { return isRepresentable(rule, tensor, axes); };
  if (!llvm::all_of(rule.operands, fits) || !llvm::all_of(rule.results, fits))
    return false;
  // One value is a partial sum, maximum or minimum, not two of them.
  std::optional<Reduction> kind;
  for (auto [factor, list] : llvm::zip(rule.factors, axes)) {
    if (factor.kind != FactorKind::Reduction || list.empty())
      continue;
    if (kind && *kind != factor.reduction)
      return false;
    kind = factor.reduction;
  }
  return true;
}

std::string cleave::describeFactor(const FactorRule &rule, uint16_t factor) {
  auto find = [&](llvm::ArrayRef<TensorFactors> tensors, llvm::StringRef what) -> std::string {
    for (auto [t, tensor] : llvm::enumerate(tensors))
      for (auto [d, dim] : llvm::enumerate(tensor))
        if (llvm::is_contained(dim, factor))
          return (what + " " + llvm::Twine(t) + " dimension " + llvm::Twine(d) + " (size " +
                  llvm::Twine(rule.factors[factor].size) + ")")
              .str();
    return "";
  };
  std::string text = find(rule.operands, "operand");
  return text.empty() ? find(rule.results, "result") : text;
}

std::optional<FactorAxes> cleave::inferFactorAxes(const FactorRule &rule,
                                                  llvm::ArrayRef<Layout> operands,
                                                  llvm::ArrayRef<Layout> results,
                                                  std::string &why) {
  FactorAxes axes(rule.factors.size());
  auto merge = [&](const TensorFactors &tensor, const Layout &layout) {
    if (tensor.empty())
      return;
    FactorAxes projected = projectToFactors(rule, tensor, layout);
    for (auto [mine, theirs] : llvm::zip(axes, projected))
      if (mine.empty())
        mine = theirs;
  };
  for (auto [tensor, layout] : llvm::zip(rule.operands, operands))
    merge(tensor, layout);
  for (auto [tensor, layout] : llvm::zip(rule.results, results))
    merge(tensor, layout);
  auto check = [&](llvm::ArrayRef<TensorFactors> tensors, llvm::ArrayRef<Layout> layouts,
                   llvm::StringRef what) {
    for (auto [i, tensor, layout] : llvm::enumerate(tensors, layouts)) {
      // A tensor that the rule says nothing of is unsharded.
      Layout expected =
          tensor.empty() ? Layout::replicated(layout.rank()) : tensorLayout(tensor, axes);
      if (expected.dims != layout.dims) {
        why = (what + " " + llvm::Twine(i) +
               " is not laid out as the other operands and results require")
                  .str();
        return false;
      }
    }
    return true;
  };
  if (!check(rule.operands, operands, "operand") || !check(rule.results, results, "result"))
    return std::nullopt;
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    if (axes[i].empty() || !mustBeWhole(factor))
      continue;
    why = describeFactor(rule, i) + (factor.kind == FactorKind::NeedReplication
                                         ? " must be whole inside the op"
                                         : " has no partitioned form when it is sharded");
    return std::nullopt;
  }
  if (!isExpressible(rule, axes)) {
    why = "an axis is used twice, or a part of a merged or split dimension is sharded unevenly";
    return std::nullopt;
  }
  return axes;
}

//===------------------------------------------------------------------------------------------===//
// enumerateFactorChoices
//===------------------------------------------------------------------------------------------===//

namespace {

/// What the tensors of an op ask of one factor.
struct Wish {
  llvm::SmallVector<AxisList, 2> candidates; ///< distinct, in order of the tensors
  unsigned tensors = 0;                      ///< that have the factor
  unsigned voters = 0;                       ///< of these, the ones that ask for candidates[0]
  bool agreed() const { return candidates.size() == 1 && voters == tensors; }
};

class Chooser {
public:
  Chooser(const FactorRule &rule, llvm::ArrayRef<PlannedTensor> operands,
          llvm::ArrayRef<PlannedTensor> results, ReshardPlanner &planner)
      : rule(rule), operands(operands), results(results), planner(planner),
        compound(compoundFactors(rule)), wishes(rule.factors.size()), fixed(rule.factors.size()) {}

  FactorChoices run();

private:
  void collect(llvm::ArrayRef<TensorFactors> factors, llvm::ArrayRef<PlannedTensor> tensors);
  void ask(uint16_t factor, llvm::ArrayRef<AxisRef> axes);
  void fixAgreed();
  void enumerate();
  void evaluate(const FactorAxes &axes);
  void listWholeFactors();

  const FactorRule &rule;
  llvm::ArrayRef<PlannedTensor> operands, results;
  ReshardPlanner &planner;
  llvm::SmallBitVector compound;
  llvm::SmallVector<Wish, 8> wishes;
  llvm::SmallVector<WholeFactor, 4> refused;
  FactorAxes fixed;
  FactorChoices found;

  /// Bounds the enumeration of an op whose tensors ask for many different things.
  static constexpr size_t kMaxCombinations = 1024;
  /// The choices that are kept.
  static constexpr size_t kMaxChoices = 16;
};

} // namespace

void Chooser::ask(uint16_t index, llvm::ArrayRef<AxisRef> axes) {
  Wish &wish = wishes[index];
  ++wish.tensors;
  if (axes.empty())
    return;
  const Factor &factor = rule.factors[index];
  if (mustBeWhole(factor)) {
    refused.push_back({index, AxisList(axes),
                       factor.kind == FactorKind::NeedReplication && !factor.viaDecomposition
                           ? WholeReason::NeedReplication
                           : WholeReason::NoLocalForm});
    return;
  }
  AxisList usable(axes);
  if (compound.test(index))
    usable = dividingPrefix(factor.size, axes);
  if (usable != AxisList(axes))
    refused.push_back({index, subtractAxes(axes, usable), WholeReason::Uneven});
  if (usable.empty())
    return;
  if (!llvm::is_contained(wish.candidates, usable))
    wish.candidates.push_back(usable);
  wish.voters += usable == wish.candidates.front();
}

void Chooser::collect(llvm::ArrayRef<TensorFactors> factors,
                      llvm::ArrayRef<PlannedTensor> tensors) {
  for (auto [tensorFactors, tensor] : llvm::zip(factors, tensors)) {
    if (tensorFactors.empty() || tensor.free)
      continue;
    FactorAxes axes = projectToFactors(rule, tensorFactors, tensor.layout);
    for (auto [dim, planned] : llvm::zip(tensorFactors, tensor.layout.dims)) {
      AxisList dealt;
      for (uint16_t factor : dim) {
        ask(factor, axes[factor]);
        dealt.append(axes[factor].begin(), axes[factor].end());
      }
      // Axes of a compound dimension that no factor could take.
      AxisList rest = subtractAxes(planned, dealt);
      if (!rest.empty() && !dim.empty())
        refused.push_back({dim.back(), rest, WholeReason::Uneven});
    }
  }
}

/// Fixes the factors on which all their tensors agree. Where two of them want one axis, the one in
/// more tensors gets it; equals stay open.
void Chooser::fixAgreed() {
  llvm::SmallVector<uint16_t, 8> agreed;
  for (uint16_t i = 0; i < wishes.size(); ++i)
    if (wishes[i].agreed())
      agreed.push_back(i);
  llvm::sort(agreed, [&](uint16_t a, uint16_t b) {
    return std::make_pair(-int(wishes[a].tensors), a) < std::make_pair(-int(wishes[b].tensors), b);
  });
  AxisList used;
  for (uint16_t i : agreed) {
    const AxisList &axes = wishes[i].candidates.front();
    bool contested = axesOverlap(used, axes) || llvm::any_of(agreed, [&](uint16_t j) {
                       return j != i && wishes[j].tensors == wishes[i].tensors &&
                              axesOverlap(wishes[j].candidates.front(), axes);
                     });
    if (contested)
      continue;
    fixed[i] = axes;
    used.append(axes.begin(), axes.end());
  }
  if (!isExpressible(rule, fixed))
    for (AxisList &axes : fixed)
      axes.clear();
}

void Chooser::evaluate(const FactorAxes &axes) {
  if (!isExpressible(rule, axes))
    return;
  FactorChoice choice;
  choice.axes = axes;
  for (const AxisList &list : axes)
    choice.shards *= shardCount(list);
  auto reshard = [&](const PlannedTensor &tensor, const Layout &from, const Layout &to) {
    if (tensor.free || from == to)
      return 0.0;
    choice.steps += planner.path(tensor.shape, tensor.elementBytes, from, to).size();
    return planner.cost(tensor.shape, tensor.elementBytes, from, to);
  };
  for (auto [factors, tensor] : llvm::zip(rule.operands, operands)) {
    Layout layout =
        factors.empty() ? Layout::replicated(tensor.shape.size()) : tensorLayout(factors, axes);
    choice.operandBytes.push_back(reshard(tensor, tensor.layout, layout));
    choice.operands.push_back(std::move(layout));
  }
  Reduction kind = Reduction::Sum;
  for (auto [factor, list] : llvm::zip(rule.factors, axes))
    if (factor.kind == FactorKind::Reduction && !list.empty())
      kind = factor.reduction;
  for (auto [factors, tensor] : llvm::zip(rule.results, results)) {
    Layout layout =
        factors.empty() ? Layout::replicated(tensor.shape.size()) : tensorLayout(factors, axes);
    layout.partial = partialAxes(rule, factors, axes);
    layout.partialKind = layout.partial.empty() ? Reduction::Sum : kind;
    choice.resultBytes += reshard(tensor, layout, tensor.layout);
    choice.results.push_back(std::move(layout));
  }
  found.choices.push_back(std::move(choice));
}

void Chooser::enumerate() {
  AxisList used;
  for (const AxisList &axes : fixed)
    used.append(axes.begin(), axes.end());
  // The options of each open factor: what its tensors ask for, as far as it is not taken, or
  // nothing.
  llvm::SmallVector<uint16_t, 8> open;
  llvm::SmallVector<llvm::SmallVector<AxisList, 3>, 8> options;
  size_t combinations = 1;
  for (uint16_t i = 0; i < wishes.size(); ++i) {
    if (!fixed[i].empty())
      continue;
    llvm::SmallVector<AxisList, 3> list;
    for (const AxisList &candidate : wishes[i].candidates) {
      AxisList free = disjointPrefix(candidate, used);
      if (!free.empty() && !llvm::is_contained(list, free))
        list.push_back(free);
    }
    if (list.empty())
      continue;
    list.push_back({});
    while (list.size() > 1 && combinations * list.size() > kMaxCombinations)
      list.erase(list.end() - 2);
    combinations *= list.size();
    open.push_back(i);
    options.push_back(std::move(list));
  }
  FactorAxes axes = fixed;
  for (size_t n = 0; n < combinations; ++n) {
    size_t rest = n;
    for (size_t i = open.size(); i-- > 0;) {
      axes[open[i]] = options[i][rest % options[i].size()];
      rest /= options[i].size();
    }
    evaluate(axes);
  }
}

void Chooser::listWholeFactors() {
  AxisList used;
  for (const AxisList &axes : found.choices.front().axes)
    used.append(axes.begin(), axes.end());
  for (WholeFactor &entry : refused) {
    entry.axes = subtractAxes(entry.axes, used);
    bool known = llvm::any_of(found.whole, [&](const WholeFactor &other) {
      return other.factor == entry.factor && other.axes == entry.axes;
    });
    if (!entry.axes.empty() && !known)
      found.whole.push_back(entry);
  }
}

FactorChoices Chooser::run() {
  collect(rule.operands, operands);
  collect(rule.results, results);
  fixAgreed();
  enumerate();
  auto bytes = [](const FactorChoice &choice) {
    int64_t sum = costUnits(choice.resultBytes);
    for (double b : choice.operandBytes)
      sum += costUnits(b);
    return sum;
  };
  using Key = std::tuple<int64_t, int64_t, int64_t, size_t>;
  llvm::SmallVector<Key, 8> order;
  for (auto [i, choice] : llvm::enumerate(found.choices))
    order.push_back({bytes(choice), -choice.shards, choice.steps, i});
  llvm::sort(order);
  llvm::SmallVector<FactorChoice, 1> sorted;
  for (const Key &key : llvm::ArrayRef(order).take_front(kMaxChoices))
    sorted.push_back(std::move(found.choices[std::get<3>(key)]));
  found.choices = std::move(sorted);
  listWholeFactors();
  return std::move(found);
}

FactorChoices cleave::enumerateFactorChoices(const FactorRule &rule,
                                             llvm::ArrayRef<PlannedTensor> operands,
                                             llvm::ArrayRef<PlannedTensor> results,
                                             ReshardPlanner &planner) {
  return Chooser(rule, operands, results, planner).run();
}
