// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/FactorRule.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/Twine.h"
#include <numeric>

using namespace cleave;

Layout cleave::tensorLayout(const TensorFactors &tensor, const FactorAxes &axes) {
  Layout layout = Layout::replicated(tensor.size());
  for (auto [dim, factors] : llvm::zip(layout.dims, tensor))
    for (uint16_t factor : factors)
      for (const AxisRef &ref : axes[factor])
        appendAxis(dim, ref);
  return layout;
}

AxisList cleave::partialAxes(const FactorRule &rule, const FactorAxes &axes) {
  AxisList partial;
  for (auto [factor, list] : llvm::zip(rule.factors, axes))
    if (factor.kind == FactorKind::Reduction)
      partial.append(list.begin(), list.end());
  return sortedAxes(partial);
}

bool cleave::hasFactor(const TensorFactors &tensor, uint16_t factor) {
  return llvm::any_of(tensor,
                      [&](const DimFactors &dim) { return llvm::is_contained(dim, factor); });
}

AxisList cleave::partialAxes(const FactorRule &rule, const TensorFactors &result,
                             const FactorAxes &axes) {
  AxisList partial;
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (factor.kind == FactorKind::Reduction && !axes[index].empty() && !hasFactor(result, index))
      partial.append(axes[index].begin(), axes[index].end());
  return sortedAxes(partial);
}

unsigned cleave::countSplitFactors(const FactorRule &rule, const DimFactors &dim) {
  return llvm::count_if(dim, [&](uint16_t factor) { return rule.factors[factor].size > 1; });
}

bool cleave::isRepresentable(const FactorRule &rule, const TensorFactors &tensor,
                             const FactorAxes &axes) {
  for (const DimFactors &dim : tensor) {
    if (countSplitFactors(rule, dim) < 2)
      continue;
    bool whole = true; // every factor so far is sharded down to one element
    for (uint16_t factor : dim) {
      int64_t size = rule.factors[factor].size, shards = shardCount(axes[factor]);
      if (size % shards != 0 || (shards > 1 && !whole))
        return false;
      whole &= shards == size;
    }
  }
  return true;
}

/// Deals the axes of a compound dimension to its factors, as far as they divide.
static void projectCompound(const FactorRule &rule, const DimFactors &dim,
                            llvm::ArrayRef<AxisRef> axes, FactorAxes &result) {
  const uint16_t *factor = dim.begin();
  int64_t rest = rule.factors[*factor].size;
  for (AxisRef ref : axes) {
    while (ref.size > 1) {
      while (rest == 1) {
        if (++factor == dim.end())
          return;
        rest = rule.factors[*factor].size;
      }
      uint32_t taken = std::gcd(rest, int64_t(ref.size));
      if (taken == 1)
        return;
      for (const AxisRef &part : takeMajor(ref, taken))
        appendAxis(result[*factor], part);
      rest /= taken;
    }
  }
}

FactorAxes cleave::projectToFactors(const FactorRule &rule, const TensorFactors &tensor,
                                    const Layout &layout) {
  FactorAxes result(rule.factors.size());
  for (auto [dim, axes] : llvm::zip(tensor, layout.dims)) {
    if (dim.empty() || axes.empty())
      continue;
    if (countSplitFactors(rule, dim) >= 2) {
      projectCompound(rule, dim, axes, result);
      continue;
    }
    // One factor that matters: it takes everything, unevenly too.
    uint16_t target = dim.front();
    for (uint16_t factor : dim)
      if (rule.factors[factor].size > 1)
        target = factor;
    result[target] = axes;
  }
  return result;
}

//===------------------------------------------------------------------------------------------===//
// checkRule
//===------------------------------------------------------------------------------------------===//

static std::string checkTensor(const FactorRule &rule, const TensorFactors &tensor,
                               llvm::ArrayRef<int64_t> shape, llvm::StringRef what,
                               llvm::SmallBitVector &used) {
  if (tensor.empty())
    return "";
  if (tensor.size() != shape.size())
    return (what + " has " + llvm::Twine(shape.size()) + " dimensions, but the rule lists " +
            llvm::Twine(tensor.size()))
        .str();
  llvm::SmallBitVector seen(rule.factors.size());
  for (auto [index, dim] : llvm::enumerate(tensor)) {
    std::string where = (what + " dimension " + llvm::Twine(index)).str();
    int64_t product = 1;
    for (uint16_t factor : dim) {
      if (factor >= rule.factors.size())
        return (where + " names factor " + llvm::Twine(factor) + ", but the rule has " +
                llvm::Twine(rule.factors.size()) + " factors")
            .str();
      if (seen.test(factor))
        return (what + " has factor " + llvm::Twine(factor) + " twice").str();
      seen.set(factor);
      used.set(factor);
      product *= rule.factors[factor].size;
    }
    if (product != shape[index])
      return (where + " has size " + llvm::Twine(shape[index]) + ", but its factors multiply to " +
              llvm::Twine(product))
          .str();
  }
  return "";
}

static std::string checkTensors(const FactorRule &rule, llvm::ArrayRef<TensorFactors> tensors,
                                llvm::ArrayRef<llvm::SmallVector<int64_t>> shapes,
                                llvm::StringRef what, llvm::SmallBitVector &used) {
  if (tensors.size() != shapes.size())
    return ("the op has " + llvm::Twine(shapes.size()) + " " + what + "s, but the rule lists " +
            llvm::Twine(tensors.size()))
        .str();
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    std::string name = (what + " " + llvm::Twine(index)).str();
    std::string error = checkTensor(rule, tensor, shapes[index], name, used);
    if (!error.empty())
      return error;
  }
  return "";
}

std::string cleave::checkRule(const FactorRule &rule,
                              llvm::ArrayRef<llvm::SmallVector<int64_t>> operandShapes,
                              llvm::ArrayRef<llvm::SmallVector<int64_t>> resultShapes) {
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (factor.size < 1)
      return ("factor " + llvm::Twine(index) + " has size " + llvm::Twine(factor.size) +
              ", expected at least 1")
          .str();
  llvm::SmallBitVector inOperands(rule.factors.size()), inResults(rule.factors.size());
  std::string error = checkTensors(rule, rule.operands, operandShapes, "operand", inOperands);
  if (error.empty())
    error = checkTensors(rule, rule.results, resultShapes, "result", inResults);
  if (!error.empty())
    return error;
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (!inOperands.test(index) && !inResults.test(index))
      return ("factor " + llvm::Twine(index) + " is in no operand and no result").str();
    if (factor.kind == FactorKind::Reduction && inResults.test(index) &&
        llvm::all_of(rule.results,
                     [&](const TensorFactors &result) { return hasFactor(result, index); }))
      return ("reduction factor " + llvm::Twine(index) + " is in every result").str();
  }
  auto tooWide = [&](uint32_t mask) {
    return rule.operands.size() < 32 && (mask >> rule.operands.size()) != 0;
  };
  if (tooWide(rule.jointlyLinear) || tooWide(rule.separatelyLinear))
    return ("a linearity mask names an operand beyond the last of " +
            llvm::Twine(rule.operands.size()))
        .str();
  return "";
}
