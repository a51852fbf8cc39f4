// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What stopped shardings from spreading. Looked for once, after propagation: axes are only ever
// added, so a conflict that arose is still there.

#include "PropagationState.h"

using namespace cleave;

void Propagation::Impl::findConflicts(uint32_t index, std::vector<PropagationConflict> &found) {
  const OpState &op = ops[index];
  const CompiledRule &rule = *op.rule;
  size_t firstOfOp = found.size();

  auto sideOf = [&](const CompiledRule::Occurrence &at, uint16_t factor) {
    Value value = tensorOf(op, at);
    return PropagationConflict::Side{value, dimOf(value, at.dim).origin, factor,
                                     lists[dimOf(value, at.dim).list]};
  };
  auto factorAt = [&](const CompiledRule::Occurrence &at) {
    return rule.tensor(at.tensor)[at.dim][at.position];
  };
  // A sharding of smaller priority gives way to one of a round before; that is no conflict.
  auto sameRound = [&](const DimState &a, const DimState &b) { return a.round == b.round; };
  auto report = [&](const PropagationConflict::Side &a, const PropagationConflict::Side &b) {
    for (size_t i = firstOfOp; i < found.size(); ++i)
      if (std::minmax(found[i].a.factor, found[i].b.factor) == std::minmax(a.factor, b.factor))
        return;
    found.push_back({index, a, b});
  };

  for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
    const CompiledRule::FactorInfo &info = rule.factors[factor];
    if (!info.propagates)
      continue;
    Candidate best = agree(op, info);
    if (best.conflictA) {
      const DimState &a = dimOf(tensorOf(op, *best.conflictA), best.conflictA->dim);
      const DimState &b = dimOf(tensorOf(op, *best.conflictB), best.conflictB->dim);
      if (sameRound(a, b))
        report(sideOf(*best.conflictA, factor), sideOf(*best.conflictB, factor));
      continue;
    }
    if (best.list == 0)
      continue;
    const CompiledRule::Occurrence *byFactor = nullptr;
    withoutOtherFactors(op, factor, best.list, &byFactor);
    if (!byFactor || !sameRound(dimOf(tensorOf(op, *best.from), best.from->dim),
                                dimOf(tensorOf(op, *byFactor), byFactor->dim)))
      continue;
    // Where a tensor has the axes in another dimension already, the matter is decided: the op
    // gathers or scatters. Where it has them nowhere, both factors wanted them and neither got
    // them.
    for (const CompiledRule::Occurrence &at : rule.occurrencesOf(info)) {
      Value value = tensorOf(op, at);
      if (value != kNoValue && mayTake(op, at) && !dimOf(value, at.dim).closed &&
          lists.extends(best.list, visibleList(op, at)) &&
          withoutOtherDims(value, at.dim, best.list) == best.list) {
        report(sideOf(*best.from, factor), sideOf(*byFactor, factorAt(*byFactor)));
        break;
      }
    }
  }
}
