// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where a program is resharded: how each op is split, where partial sums are reduced, and which
// layouts of each value exist. Plain values; the pass `cleave-insert-reshards` builds the problem
// from the IR and writes the solution back.

#ifndef CLEAVE_LAYOUT_RESHARDPROBLEM_H
#define CLEAVE_LAYOUT_RESHARDPROBLEM_H

#include "cleave/Layout/FactorChoice.h"
#include "cleave/Layout/ReductionPlacement.h"

#include <vector>

namespace cleave {

/// A straight-line program whose values have layouts. Ops that are alike (same rule, shapes and
/// layouts) share one class, so that what is thought out for one layer serves all of them.
struct ReshardProblem {
  struct Value {
    llvm::SmallVector<int64_t, 4> shape;
    int64_t elementBytes = 4;
    Layout planned;    ///< from propagation; may be partial for a value without a defining op
    bool free = false; ///< see PlannedTensor
    int64_t runs = 1;  ///< how often it is made
  };
  struct OpClass {
    FactorRule rule;
    llvm::SmallVector<PlannedTensor, 4> operands;
    llvm::SmallVector<PlannedTensor, 2> results;
  };
  struct Op {
    uint32_t opClass = 0;
    llvm::SmallVector<uint32_t, 4> operands; ///< values, or kNoValue
    llvm::SmallVector<uint32_t, 2> results;
    bool addsUp = false; ///< all that its operand is in its runs
  };
  /// A use in a fixed layout: a returned value, a sharding constraint. `order` is the number of the
  /// first op that comes after it. With `passes`, a value, partial sums may go on to that one, in
  /// which the demanded value is used further, unless the layout shards a dimension by their axes.
  struct Demand {
    uint32_t value;
    Layout layout;
    uint32_t order;
    uint32_t passes = kNoValue;
  };

  std::vector<Value> values;
  std::vector<OpClass> classes;
  std::vector<Op> ops; ///< in order; a value's op before its uses
  std::vector<Demand> demands;

  /// An error text if numbers are out of range or ranks do not match, empty otherwise.
  std::string check() const;
};

struct ReshardSolution {
  std::vector<FactorChoices> choices; ///< of each class
  std::vector<uint32_t> choice;       ///< of each op, an index into its class's choices
  /// The layout in which each value is made, partial axes included.
  std::vector<Layout> produced;
  /// The layout that each value is brought to once, before any use; equal to `produced` where every
  /// use starts from what was made.
  std::vector<Layout> hub;
  /// The layout in which each op needs each operand. Partial axes that the value's hub does not
  /// have mean: keep the value on coordinate 0 of them and zero elsewhere.
  std::vector<llvm::SmallVector<Layout, 4>> required;
  /// The layouts of `demands`, partial axes as above.
  std::vector<Layout> demanded;

  const FactorChoice &choiceOf(const ReshardProblem &problem, uint32_t op) const {
    return choices[problem.ops[op].opClass].choices[choice[op]];
  }
};

/// Solves in time linear in the ops. Deterministic.
ReshardSolution solveReshards(const ReshardProblem &problem, ReshardPlanner &planner);

} // namespace cleave

#endif // CLEAVE_LAYOUT_RESHARDPROBLEM_H
