// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Passes of the sharding language.

#ifndef CLEAVE_DIALECT_CLEAVE_TRANSFORMS_PASSES_TD
#define CLEAVE_DIALECT_CLEAVE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Plan: from logical axes to shardings
//===----------------------------------------------------------------------===//

def ApplyStrategyPass : Pass<"cleave-apply-strategy", "::mlir::ModuleOp"> {
  let summary = "Turns logical axis names into shardings by the roles of the mesh's axes";
  let description = [{
    The name of a mesh axis is its role: `dp` shards the batch, `fsdp` the batch and the stored
    parameters, `tp` weights and activations as Megatron does. The built-in table, by logical name:

    | name | weights | activations |
    |---|---|---|
    | `batch` | | dp, fsdp, in the mesh's order |
    | `vocab`, `mlp` | tp | tp |
    | `kv_heads`, `q_groups` | parts of tp | parts of tp |
    | `seq` (norm regions) | | tp with `sequence-parallel`, for results of ops |
    | all others | | |

    Heads: with `kv_heads` of size kv and `q_groups` (query heads of one KV head) of size g, tp = a x b,
    `kv_heads` gets the major part `"tp":(1)a` and `q_groups` the minor one. Of all a that divide tp, the
    one is taken that leaves a device the fewest query heads, ceil(kv/a) x ceil(g/b), then the fewest
    KV heads, then the smallest; with g = 1, a = tp. Keys and values, which have no `q_groups`, get the
    same a: g is known from other tensors with as many KV heads.

    Stored parameters get fsdp besides (with `zero=3` dp too), optimizer states fsdp (from `zero=1` on
    dp too): on `embed` if it divides, else on the dimension without axes
    that wastes the least on padding (of equal ones the largest), else behind the axes of a
    sharded dimension whose blocks divide. A `cleave.sharding_constraint` before the first use gathers
    the parameter over fsdp. With `reshard-after-forward` each half of each microbatch has a gather of its
    own: one constraint with `cleave.again`, which keeps the gather from being made one with another, and
    one that gathers. Where a backward half begins in the block in which the forward half ended it uses
    what is there. Without it there is one gather for all uses but those of the update.

    From `zero=2` on, and with fsdp, the gradient of each microbatch (`cleave.gradient_of`) is constrained
    to the sharding in which it is added up; not so with `whole-gradients`, where the sums are scattered.

    With `regather-activations` values whose dimension `seq` is sharded are saved so: another constraint
    with `cleave.again` stands before what the backward half uses of them.

    A strategy file overrides all this:

    ```json
    {"weights": {"embed": ["tp"]}, "activations": {"seq": ["tp:(1)2"]},
     "constraints": {"model.layers.*.mlp.down_proj.weight": [[], ["tp"]]}}
    ```

    Its tables replace entries of the built-in ones. A constraint gives the axes of each dimension of
    the parameters that match a glob pattern; a plain name goes before patterns, and two patterns that
    match one parameter are an error. Roles that the mesh lacks count as one device.

    Assumes one `cleave.mesh` and functions with `cleave.entry`. Guarantees a closed sharding on every
    `cleave.state`, on the arguments that read it, on arguments with logical names, and a closed
    constraint behind every result with logical names; results of entries get the sharding of the
    value they return. Shardings that were there stay. Dimensions of one element are not sharded.
    An axis that shards nothing is a warning; one that is neither a role nor in the strategy file nor in
    a sharding of the program is an error.

    ```mlir
    // Before, with <["dp"=2, "tp"=4]>
    %0 = graph.add %a, %b {cleave.logical = [#cleave.logical<["batch", "seq", "mlp"]>]} : ...
    // After
    %0 = graph.add %a, %b {cleave.logical = [#cleave.logical<["batch", "seq", "mlp"]>]} : ...
    %1 = cleave.sharding_constraint %0 <@mesh, [{"dp"}, {}, {"tp"} ]> : tensor<4x8x16xf32>
    ```
  }];
  let options = [
    Option<"sequenceParallel", "sequence-parallel", "bool", "false",
           "Shard the sequence of norm regions over tp">,
    Option<"strategyFile", "strategy-file", "std::string", "\"\"",
           "JSON file with tables and constraints">,
    Option<"strategyText", "strategy-text", "std::string", "\"\"",
           "What the strategy file holds, instead of reading it">,
    Option<"zero", "zero", "int", "0",
           "Stage of ZeRO over dp: 1, 2 store optimizer states sharded, 3 parameters too">,
    Option<"reshardAfterForward", "reshard-after-forward", "bool", "true",
           "Let gathered parameters go after the forward half and gather them again for the backward half">,
    Option<"wholeGradients", "whole-gradients", "bool", "false",
           "Add up gradients of microbatches whole and scatter the sums">,
    Option<"regatherActivations", "regather-activations", "bool", "false",
           "Save sequence-sharded activations sharded and gather them again for the backward half">,
  ];
  let statistics = [Statistic<"numConstraints", "constraints", "Constraints inserted">];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

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
    are reduced at once. A sharding constraint wants its value whole; but one in the backward half of a
    step (`cleave.backward`) asks for a layout only, so that partial sums pass it unless they are over axes
    that it shards a dimension by. What is resharded from a value of a constraint with `cleave.again` is
    resharded for itself and carries the attribute on.

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

//===----------------------------------------------------------------------===//
// Partition: from the global to the local form
//===----------------------------------------------------------------------===//

def PartitionPass : Pass<"cleave-partition", "::mlir::func::FuncOp"> {
  let summary = "Rewrites functions to local tensors";
  let description = [{
    Every tensor type becomes the local one, with a `#cleave.shard` encoding; each op is rewritten by
    its PartitionOpInterface. Assumes what `cleave-verify-resharded` checks and that reshards are
    collectives. The function gets the attribute `cleave.mesh`; arguments and results keep their
    `cleave.sharding`, results stay sharded.

    Padding holds anything, NaN too. Before an op that sums (or takes the maximum, minimum) over an
    unevenly sharded factor, every operand with that factor passes a `cleave.mask_padding` with the
    neutral element: both operands of a product, since 0 * NaN is NaN.

    ```mlir
    // Before: 3 rows over "dp"=2
    func.func @f(%x: tensor<3x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {} ]>})
    // After
    func.func @f(%x: tensor<2x16xf32, #cleave.shard<@mesh, [{"dp"}, {} ], global=[3, 16]>>
        {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {} ]>}) attributes {cleave.mesh = @mesh}
    ```
  }];
  let statistics = [Statistic<"numMasks", "masks", "Operands whose padding is masked">];
  let dependentDialects = ["::cleave::CleaveDialect", "::cleave::graph::GraphDialect"];
}

//===----------------------------------------------------------------------===//
// Collectives in local form
//===----------------------------------------------------------------------===//

def MergeCollectivesPass : Pass<"cleave-merge-collectives", "::mlir::func::FuncOp"> {
  let summary = "Fewer and smaller collectives";
  let description = [{
    In local form: equal collectives of one operand become one; an all-reduce whose result is only
    sliced over the same axes becomes a reduce-scatter; dead collectives go. All-reduces,
    reduce-scatters and all-gathers of at most `small-bytes`, of one kind, type and list of axes, that
    do not depend on each other are laid side by side and get one number, `cleave.bucket`: they meet
    once. Sums wait for the last of their bucket. Gathers are together with those that are first used
    in the same run of ops of one block and instance, so that no more is gathered ahead than before;
    gathers of parameters, and what is gathered again, go where the first of them stands.
  }];
  let options = [Option<"smallBytes", "small-bytes", "int64_t", "65536",
                        "Combine collectives of at most this many bytes; 0 to leave them alone">,
                 Option<"bucketBytes", "bucket-bytes", "int64_t", "26214400",
                        "Bytes of one bucket, at most">];
  let statistics = [
    Statistic<"numEqual", "equal", "Collectives that were equal to another">,
    Statistic<"numScattered", "scattered", "All-reduces that became reduce-scatters">,
    Statistic<"numCombined", "combined", "Small collectives that are members of a bucket">,
  ];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def OverlapCollectivesPass : Pass<"cleave-overlap-collectives", "::mlir::func::FuncOp"> {
  let summary = "Starts collectives early and waits for them late";
  let description = [{
    In local form: splits a collective into its start, right after its operand is there, and
    `cleave.done`, right before the first use, where other work lies in between. Collectives of
    values that are there from the beginning (gathers of parameters), and those that are made again for a
    backward half (`cleave.again`), start no earlier than `prefetch` repeated blocks
    (`cleave.instance`) before their use, and no earlier than leaves at most `prefetch-bytes` of such
    results waiting, or one. Where the operand is larger than the result (a gradient that is scattered)
    the wait comes at most `prefetch` blocks after that of the start, and no more than `operand-bytes` of
    operands, or one, are held by started collectives.
  }];
  let options = [
    Option<"prefetch", "prefetch", "int64_t", "1",
           "Blocks by which a parameter's collective may run ahead of its use">,
    Option<"prefetchBytes", "prefetch-bytes", "int64_t", "2147483648",
           "Bytes of prefetched results that may wait at a time; -1 for no bound">,
    Option<"operandBytes", "operand-bytes", "int64_t", "268435456",
           "Bytes that started collectives hold but would free; -1 for no bound">,
  ];
  let statistics = [Statistic<"numSplit", "split", "Collectives split into start and done">];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

#endif // CLEAVE_DIALECT_CLEAVE_TRANSFORMS_PASSES_TD
