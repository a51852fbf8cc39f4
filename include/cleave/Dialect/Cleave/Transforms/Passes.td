// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Passes of the sharding language.

#ifndef CLEAVE_DIALECT_CLEAVE_TRANSFORMS_PASSES_TD
#define CLEAVE_DIALECT_CLEAVE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Propagate: from shardings on some values to shardings on all
//===----------------------------------------------------------------------===//

def PropagatePass : Pass<"cleave-propagate", "::mlir::func::FuncOp"> {
  let summary = "Spreads the shardings given on some values to all";
  let description = [{
    Shardings pass through the ops' sharding rules, factor by factor: from operands to results, from
    results to operands, and between operands (also along a contraction). The semantics are those of
    OpenXLA Shardy:

    - rounds of user priority: what was given with priority 0 spreads as far as it can, then what was
      given with `p1` joins, and so on; until then a dimension takes no axes, but keeps its own from
      the value's other dimensions;
    - in each, ops of higher priority first (elementwise and reshaping ops before contractions);
    - in each, the axes on which the sharded tensors of an op agree: one list may extend another, and
      what comes after the point where two disagree stays where it is. Axes that another factor of
      the op has, or another dimension of the value, or that are `replicated` or `unreduced` in the
      value, end the list, inside an axis where its major part is free.

    Closed dimensions never change, open ones only grow at their minor end. `unreduced` is never
    inferred. A factor that the op needs whole is not passed on; one that is part of a merged or split
    dimension only where it divides. Values of one `sharding_group` have one sharding; a
    `propagation_barrier` lets shardings pass in its direction; the function's results take part with
    the shardings that they have. The result depends on the order of ops alone.

    Two shardings of one priority that cannot both hold in an op give a remark that names both and
    where they were given (`conflict-remarks=false` only counts them).

    Assumes global form and one mesh a function; a function without shardings is laid out on the
    module's only mesh. Guarantees that every tensor of the function, outside manual computations, and
    every result of the function has a sharding in which all dimensions are closed.

    ```mlir
    // Before
    func.func @main(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {?} ]>},
                    %w: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {"tp"} ]>})
        -> tensor<8x32xf32> {
      %0 = graph.dot_general %x, %w contract [1] x [0]
          : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      return %0 : tensor<8x32xf32>
    }
    // After
    func.func @main(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {} ]>},
                    %w: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"tp"} ]>})
        -> (tensor<8x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"} ]>}) {
      %0 = graph.dot_general %x, %w contract [1] x [0]
          {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {"tp"} ]>]}
          : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      return %0 : tensor<8x32xf32>
    }
    ```
  }];
  let options = [Option<"conflictRemarks", "conflict-remarks", "bool", "true",
                        "Emit a remark for each conflict">];
  let statistics = [
    Statistic<"numOps", "ops", "Ops of the functions">,
    Statistic<"numVisits", "visits", "Times that an op was looked at">,
    Statistic<"numConflicts", "conflicts", "Conflicts found">,
  ];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

//===----------------------------------------------------------------------===//
// Reshard: from shardings on values to collectives
//===----------------------------------------------------------------------===//

def InsertReshardsPass : Pass<"cleave-insert-reshards", "::mlir::func::FuncOp"> {
  let summary = "Makes every change of sharding an op of its own";
  let description = [{
    Decides how each op is split and where partial sums are reduced, and inserts `cleave.reshard`
    wherever a value is needed in another layout than the one it is made in.

    Assumes that every value has a sharding (a value without one is replicated) and that no op needs
    its decomposition (`cleave-decompose-sharded`). Guarantees what `cleave-verify-resharded` checks:
    the shardings of an op's operands and results are those of one assignment of axes to the factors
    of its rule, values that wait for a sum or a maximum carry `unreduced`, and sharding constraints
    are gone.

    How an op is split. Factors on which all tensors of the op agree keep their axes; of two such
    factors that want one axis, the one in more tensors wins. What stays open is settled by the ring
    bytes of the reshards it takes, where a reshard that another use needs anyway is free; of equal
    ones by the more shards, then the fewer steps.

    Where sums are reduced. Over each list of axes, a minimum cut of the regions of ops that are
    linear in the partial operand: of equal ones nearest to the source. A whole addend beside a
    partial one is resharded to `unreduced` too, which keeps it on coordinate 0. Maxima and minima
    are reduced at once.

    A factor that a sharding splits but the op cannot (it needs the factor whole, has no partitioned
    form for it, or the factor is part of a merged or split dimension and does not divide) is made
    whole, with a warning that names the op, the factor and the axes, unless the op splits something
    else over these axes.

    ```mlir
    // Before: a matrix product over a sharded dimension.
    %0 = graph.dot_general %x, %w contract [1] x [0]
        {cleave.shardings = [#cleave.sharding<@mesh, [{}, {} ]>]} : ...
    // After
    %0 = graph.dot_general %x, %w contract [1] x [0]
        {cleave.shardings = [#cleave.sharding<@mesh, [{}, {} ], unreduced={"tp"}>]} : ...
    %1 = cleave.reshard %0 <@mesh, [{}, {} ]> {cleave.reason = "..."} : tensor<8x16xf32>
    ```
  }];
  let statistics = [
    Statistic<"numClasses", "op-classes", "Kinds of ops that were thought out">,
    Statistic<"numReshards", "reshards", "Reshards inserted">,
    Statistic<"numReductions", "reductions", "Reshards that reduce partial values">,
  ];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def VerifyReshardedPass : Pass<"cleave-verify-resharded", "::mlir::func::FuncOp"> {
  let summary = "Checks what cleave-insert-reshards guarantees";
  let description = [{
    The contract between resharding and partitioning: each op's operands and results are laid out by
    one assignment of axes to the factors of its rule, partial values come from sharded reductions
    and pass through linear ops only, returned values have the function's result shardings, an
    entry's results are whole, and no sharding constraint is left. The error names the op.
  }];
}

def ReshardToCollectivesPass
    : Pass<"cleave-reshard-to-collectives", "::mlir::func::FuncOp"> {
  let summary = "Lowers reshards to the cheapest collectives";
  let description = [{
    Replaces each `cleave.reshard` by the sequence of collectives that sends the fewest bytes (then
    the fewest steps), each with the reshard's `cleave.reason`. Reshards that make a whole value
    partial stay: they send nothing and become a selection at partition.

    ```mlir
    // Before
    %1 = cleave.reshard %0 <@mesh, [{}, {} ]> : tensor<8x16xf32>
    // After, where %0 is [{"tp"}, {} ]
    %1 = cleave.all_gather %0 over ["tp"] dim 0 sharding=<@mesh, [{}, {} ]> : tensor<8x16xf32>
    ```
  }];
  let statistics = [Statistic<"numCollectives", "collectives", "Collectives made">];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

#endif // CLEAVE_DIALECT_CLEAVE_TRANSFORMS_PASSES_TD
