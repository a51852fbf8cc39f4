// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/ReductionPlacement.h"

#include "cleave/Layout/MinimumCut.h"
#include "llvm/ADT/SmallVector.h"

using namespace cleave;

namespace {

bool hasBit(uint32_t mask, unsigned index) { return index < 32 && (mask >> index & 1); }

/// The flow network: two nodes for each value that may be partial, joined by an edge of its cost.
struct Placer {
  llvm::ArrayRef<ReductionOp> ops;
  const llvm::BitVector &mustBeWhole;
  llvm::function_ref<int64_t(uint32_t)> cost;

  MinimumCut graph;
  uint32_t source = 0, sink = 0;
  llvm::SmallVector<uint32_t> in; ///< a value's first node, kNoValue if it is never partial

  Placer(unsigned numValues, llvm::ArrayRef<ReductionOp> ops, const llvm::BitVector &mustBeWhole,
         llvm::function_ref<int64_t(uint32_t)> cost)
      : ops(ops), mustBeWhole(mustBeWhole), cost(cost), in(numValues, kNoValue) {
    source = graph.addNode();
    sink = graph.addNode();
  }

  bool reached(uint32_t value) const { return value != kNoValue && in[value] != kNoValue; }
  uint32_t out(uint32_t value) const { return in[value] + 1; }

  void reach(uint32_t value) {
    if (in[value] != kNoValue)
      return;
    in[value] = graph.addNode();
    graph.addNode();
    // One more unit a reduction: of equal bytes, the fewer reductions.
    graph.addEdge(in[value], out(value), cost(value) + 1);
    if (value < mustBeWhole.size() && mustBeWhole.test(value))
      needWhole(value);
  }
  void needWhole(uint32_t value) { graph.addEdge(out(value), sink, MinimumCut::kUnbounded); }

  void addOp(const ReductionOp &op);
  /// The operands through which a partial value may pass, given which may be partial at all.
  llvm::SmallVector<unsigned, 4> passing(const ReductionOp &op,
                                         llvm::function_ref<bool(uint32_t)> mayBePartial) const;
};

} // namespace

llvm::SmallVector<unsigned, 4>
Placer::passing(const ReductionOp &op, llvm::function_ref<bool(uint32_t)> mayBePartial) const {
  llvm::SmallVector<unsigned, 4> joint, separate;
  if (op.source || op.usesAxes)
    return joint;
  for (auto [i, value] : llvm::enumerate(op.operands)) {
    if (value == kNoValue || !mayBePartial(value))
      continue;
    if (hasBit(op.jointlyLinear, i))
      joint.push_back(i);
    else if (hasBit(op.separatelyLinear, i))
      separate.push_back(i);
  }
  if (!joint.empty() || separate.size() <= 1)
    return joint.empty() ? separate : joint;
  // Two operands of a product: one may stay partial. The one that is dearest to reduce, unless it
  // is a product with itself.
  unsigned best = separate.front();
  for (unsigned i : separate)
    if (cost(op.operands[i]) > cost(op.operands[best]))
      best = i;
  if (llvm::count(op.operands, op.operands[best]) > 1)
    return {};
  return {best};
}

void Placer::addOp(const ReductionOp &op) {
  auto through = passing(op, [&](uint32_t value) { return reached(value); });
  if (op.source || !through.empty())
    for (uint32_t result : op.results)
      reach(result);
  if (op.source)
    for (uint32_t result : op.results)
      graph.addEdge(source, in[result], MinimumCut::kUnbounded);
  for (auto [i, value] : llvm::enumerate(op.operands)) {
    if (!reached(value))
      continue;
    if (!llvm::is_contained(through, i)) {
      needWhole(value);
      continue;
    }
    for (uint32_t result : op.results)
      graph.addEdge(out(value), in[result], MinimumCut::kUnbounded);
  }
}

ReductionPlacement cleave::placeReductions(unsigned numValues, llvm::ArrayRef<ReductionOp> ops,
                                           const llvm::BitVector &mustBeWhole,
                                           llvm::function_ref<int64_t(uint32_t)> cost) {
  Placer placer(numValues, ops, mustBeWhole, cost);
  for (const ReductionOp &op : ops)
    placer.addOp(op);
  llvm::BitVector side = placer.graph.solve(placer.source, placer.sink);

  ReductionPlacement placement;
  placement.partial.resize(numValues);
  placement.reduced.resize(numValues);
  auto cut = [&](uint32_t value) {
    return side.test(placer.in[value]) && !side.test(placer.out(value));
  };
  for (const ReductionOp &op : ops) {
    // The flow decided over all values that could be partial; what is partial is decided in order.
    bool partial = op.source;
    for (unsigned i : placer.passing(op, [&](uint32_t value) { return placer.reached(value); }))
      partial |= placement.staysPartial(op.operands[i]);
    if (!partial)
      continue;
    for (uint32_t result : op.results) {
      placement.partial.set(result);
      if (cut(result))
        placement.reduced.set(result);
    }
  }
  return placement;
}
