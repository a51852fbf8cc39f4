// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Passes over the graph dialect.

#ifndef CLEAVE_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
#define CLEAVE_DIALECT_GRAPH_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposePass : Pass<"cleave-decompose"> {
  let summary = "Replaces named ops by their definitions in primitives";
  let description = [{
    Replaces every op that has a decomposition, or only those that are listed. New ops keep the
    location, block and instance of the op; its results' shardings and logical axes pass to the values
    that replace them.

    ```mlir
    %1 = graph.relu %0 : tensor<4xf32>
    ```
    becomes
    ```mlir
    %zero = graph.constant dense<0.0> : tensor<4xf32>
    %1 = graph.maximum %0, %zero : tensor<4xf32>
    ```
  }];
  let options = [ListOption<"ops", "ops", "std::string",
                            "Names of the ops to decompose, like rms_norm; all if empty">];
  let dependentDialects = ["::cleave::graph::GraphDialect"];
}

def DecomposeShardedPass : Pass<"cleave-decompose-sharded"> {
  let summary = "Replaces ops that have no partitioned form for how they are sharded";
  let description = [{
    A sharding rule can mark a factor `viaDecomposition`: the op itself needs it whole, its
    decomposition does not. Where the first operand or a result is sharded along such a factor, the op
    is replaced by its decomposition. The shardings of the new values are then to be propagated.

    Assumes shardings on values (`cleave-propagate`). Afterwards no op is sharded along such a factor
    by its first operand or a result.

    ```mlir
    %1 = graph.rms_norm %0 eps = 1.0e-05 {cleave.shardings = [#cleave.sharding<@mesh, [{}, {"tp"} ]>] }
        : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    becomes a square, a sum over the sharded dimension, and so on.
  }];
  let dependentDialects = ["::cleave::graph::GraphDialect"];
}

def AnnotateShardingRulesPass : Pass<"cleave-annotate-sharding-rules"> {
  let summary = "Writes each op's own sharding rule into an attribute, to be read or edited";
  let description = [{
    Sets `cleave.sharding_rule` on ops that have a rule and no such attribute.
  }];
}

//===----------------------------------------------------------------------===//
// Fuse step: the functions of a training step as one entry
//===----------------------------------------------------------------------===//

def FuseStepPass : Pass<"cleave-fuse-step", "::mlir::ModuleOp"> {
  let summary = "Makes one entry of prologue, microbatches and update";
  let description = [{
    Assumes `@micro`, `@update` and maybe `@prologue`, as `cleave-differentiate` makes them, in global
    form.

    Guarantees one entry `@train_step` in their place: the prologue, then `microbatches` copies of
    `@micro` in order, then the update. States of kind "gradient" and "accumulator" become values; the
    others are read and updated by the entry, optimizer states without a checkpoint. Inputs of `@micro`
    get `microbatches` times the rows; row r of microbatch i is row r * microbatches + i, so that no row
    leaves the device that has it. Partial sums that microbatches add stay partial until the last: the
    placement of reductions sees all of them.

    ```mlir
    func.func @micro(%w: ... {cleave.state = @w}, %x: tensor<2x8xf32> {cleave.input = "x"})
        -> (tensor<4x8xf32> {cleave.state = @grad.w})
    func.func @update(%w: ... {cleave.state = @w}, %g: ... {cleave.state = @grad.w})
        -> (tensor<4x8xf32> {cleave.state = @w})
    ```
    becomes, with two microbatches,
    ```mlir
    func.func @train_step(%w: ... {cleave.state = @w}, %x: tensor<4x8xf32> {cleave.input = "x"})
        -> (tensor<4x8xf32> {cleave.state = @w}) attributes {cleave.entry}
    ```
  }];
  let options = [Option<"microbatches", "microbatches", "int64_t", "1", "Microbatches of a step">];
  let dependentDialects = ["::cleave::graph::GraphDialect"];
}

#endif // CLEAVE_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
