// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Passes of the sharding language.

#ifndef CLEAVE_DIALECT_CLEAVE_TRANSFORMS_PASSES_TD
#define CLEAVE_DIALECT_CLEAVE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

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
