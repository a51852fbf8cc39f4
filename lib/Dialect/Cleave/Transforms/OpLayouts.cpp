// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "OpLayouts.h"

#include "cleave/Layout/FactorChoice.h"

using namespace mlir;
using namespace cleave;

Layout cleave::layoutOfSharding(ShardingAttr sharding, Type type, const Mesh &mesh) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  unsigned rank = tensor ? tensor.getRank() : 0;
  if (sharding)
    if (FailureOr<Layout> layout = layoutOf(sharding, mesh); succeeded(layout))
      return *layout;
  return Layout::replicated(rank);
}

static bool hasBit(uint32_t mask, unsigned index) { return index < 32 && (mask >> index & 1); }

/// Checks the partial axes of the operands and computes those that the results have from them; the
/// op's own sums come on top. `kind` is that of the op's own reduction.
static bool inferPassed(const OpLayouts &op, AxisList &result, Reduction &kind, std::string &why) {
  const FactorRule &rule = op.rule;
  AxisList used;
  for (const AxisList &axes : op.axes)
    used.append(axes.begin(), axes.end());
  kind = Reduction::Sum;
  for (auto [factor, axes] : llvm::zip(rule.factors, op.axes))
    if (factor.kind == FactorKind::Reduction && !axes.empty())
      kind = factor.reduction;

  std::optional<AxisList> joint;
  AxisList passed;
  for (auto [i, layout] : llvm::enumerate(op.operands)) {
    std::string name = "operand " + std::to_string(i);
    AxisList partial = layout.partial;
    bool isJoint = hasBit(rule.jointlyLinear, i);
    if (!partial.empty() && !isJoint && !hasBit(rule.separatelyLinear, i)) {
      why = name + " is partial, but the op is not linear in it";
      return false;
    }
    if (!partial.empty() && (layout.partialKind != Reduction::Sum || kind != Reduction::Sum)) {
      why = name + " is partial, but only partial sums pass through ops";
      return false;
    }
    if (isJoint) {
      // Beside the op's own sum an operand without the factor stands on coordinate 0 only.
      AxisList missing;
      for (auto [f, factor] : llvm::enumerate(rule.factors))
        if (factor.kind == FactorKind::Reduction && factor.reduction == Reduction::Sum &&
            llvm::none_of(rule.operands[i],
                          [&](const DimFactors &dim) { return llvm::is_contained(dim, f); }))
          missing.append(op.axes[f].begin(), op.axes[f].end());
      if (!subtractAxes(missing, partial).empty()) {
        why = name + " must be kept on coordinate 0 of the axes that the op sums over";
        return false;
      }
      partial = subtractAxes(partial, missing);
      if (joint && *joint != partial) {
        why = name + " is partial over other axes than the operands it is combined with";
        return false;
      }
      joint = partial;
    } else if (axesOverlap(partial, passed)) {
      why = name + " is partial over the same axes as another factor of the product";
      return false;
    } else {
      passed.append(partial.begin(), partial.end());
    }
    if (axesOverlap(partial, used)) {
      why = name + " is partial over axes that split the op's work";
      return false;
    }
  }
  if (joint)
    passed.append(joint->begin(), joint->end());
  result = sortedAxes(passed);
  return true;
}

std::optional<OpLayouts> cleave::inferOpLayouts(Operation *op, const Mesh &mesh, std::string &why) {
  OpLayouts layouts;
  for (Value operand : op->getOperands())
    layouts.operands.push_back(layoutOfSharding(getSharding(operand), operand.getType(), mesh));
  for (Value result : op->getResults())
    layouts.results.push_back(layoutOfSharding(getSharding(result), result.getType(), mesh));
  std::optional<FactorRule> rule = shardingRuleOf(op);
  if (!rule) {
    auto isWhole = [](const Layout &layout) {
      return layout.isReplicated() && layout.partial.empty();
    };
    if (llvm::all_of(layouts.operands, isWhole) && llvm::all_of(layouts.results, isWhole))
      return layouts;
    why = "the op has no sharding rule, but an operand or result is sharded";
    return std::nullopt;
  }
  layouts.rule = std::move(*rule);
  std::optional<FactorAxes> axes =
      inferFactorAxes(layouts.rule, layouts.operands, layouts.results, why);
  if (!axes)
    return std::nullopt;
  layouts.axes = std::move(*axes);
  AxisList passed;
  Reduction kind;
  if (!inferPassed(layouts, passed, kind, why))
    return std::nullopt;
  for (auto [i, layout] : llvm::enumerate(layouts.results)) {
    AxisList partial = partialAxes(layouts.rule, layouts.rule.results[i], layouts.axes);
    partial.append(passed.begin(), passed.end());
    partial = sortedAxes(partial);
    if (layout.partial == partial && (partial.empty() || layout.partialKind == kind))
      continue;
    why = "result " + std::to_string(i) + " should be unreduced over " + toString(mesh, partial) +
          ", but is over " + toString(mesh, layout.partial);
    return std::nullopt;
  }
  return layouts;
}
