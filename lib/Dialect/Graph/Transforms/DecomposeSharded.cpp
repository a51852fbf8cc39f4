// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-decompose-sharded: replaces ops that have no partitioned form for how they are sharded.

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/Transforms/Decompose.h"
#include "cleave/Dialect/Graph/Transforms/Passes.h"

namespace cleave::graph {
#define GEN_PASS_DEF_DECOMPOSESHARDEDPASS
#include "cleave/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace cleave::graph

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
/// True if the value's sharding splits a factor that is marked `viaDecomposition`, and is of this
/// kind if one is given.
bool splitsMarkedFactor(Value value, const TensorFactors &tensor, const FactorRule &rule,
                        Operation *op, std::optional<FactorKind> kind = std::nullopt) {
  ShardingAttr sharding = getSharding(value);
  const Mesh *mesh = sharding ? findMesh(op, sharding.getMesh()) : nullptr;
  if (!mesh)
    return false;
  FailureOr<Layout> layout = layoutOf(sharding, *mesh);
  if (failed(layout) || layout->rank() != tensor.size())
    return false;
  FactorAxes axes = projectToFactors(rule, tensor, *layout);
  for (auto [factor, factorAxes] : llvm::zip(rule.factors, axes))
    if (factor.viaDecomposition && !factorAxes.empty() && (!kind || factor.kind == *kind))
      return true;
  return false;
}

bool needsDecomposition(DecomposableOpInterface op) {
  std::optional<FactorRule> rule = shardingRuleOf(op);
  if (!rule || llvm::none_of(rule->factors, [](const Factor &f) { return f.viaDecomposition; }))
    return false;
  // Weights and labels are brought to where the first operand is. What an op only sums over it
  // takes as it is.
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (splitsMarkedFactor(operand, rule->operands[i], *rule, op,
                           i == 0 ? std::nullopt : std::optional(FactorKind::Reduction)))
      return true;
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule->results))
    if (splitsMarkedFactor(result, tensor, *rule, op))
      return true;
  return false;
}

struct DecomposeSharded : graph::impl::DecomposeShardedPassBase<DecomposeSharded> {
  void runOnOperation() override {
    SmallVector<DecomposableOpInterface> found;
    getOperation()->walk([&](DecomposableOpInterface op) {
      if (needsDecomposition(op))
        found.push_back(op);
    });
    for (DecomposableOpInterface op : found)
      if (failed(replaceByDecomposition(op)))
        return signalPassFailure();
    if (found.empty())
      markAllAnalysesPreserved();
  }
};
} // namespace
