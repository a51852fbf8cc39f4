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
    decomposition does not. Where the first operand or a result is sharded along such a factor, or any
    operand along one that the op sums over, the op is replaced by its decomposition. The shardings of
    the new values are then to be propagated.

    Assumes shardings on values (`cleave-propagate`). Afterwards no op is sharded along such a factor
    by one of these.

    ```mlir
    %1 = graph.rms_norm %0 eps = 1.0e-05 {cleave.shardings = [#cleave.sharding<@mesh, [{}, {"tp"} ]>] }
        : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    becomes a square, a sum over the sharded dimension, and so on.
  }];
  let dependentDialects = ["::cleave::graph::GraphDialect"];
}

def DifferentiatePass : Pass<"cleave-differentiate", "::mlir::ModuleOp"> {
  let summary = "Makes a training step of a forward function";
  let description = [{
    Differentiates the loss of the entry function (`forward`) by its parameters, and puts the functions
    of a training step in its place. Parameters are the arguments whose `cleave.state` is of kind
    "weight" or of none; in a function without such arguments all arguments of floats.

    - `@prologue`, if the loss has a `graph.cross_entropy`, or there are several microbatches: counts
      the labels that are not ignored, over all microbatches, and zeroes what `micro` adds to.
    - `@micro`: the loss of one microbatch and its gradients. The loss of each cross_entropy is divided
      by the count of the prologue, so that the losses and gradients of microbatches add up to those of
      the whole batch. A loss that is more than one cross_entropy is averaged over microbatches.
    - `@update`: the global norm of the gradients, clipping to `max_grad_norm` by
      min(1, max_grad_norm / (norm + 1e-6)), and the optimizer.

    What passes between them are states: `grad.NAME` for each parameter NAME (kind "gradient", in f32,
    or in f64 for parameters in f64), the moments of adamw `NAME.exp_avg` and `NAME.exp_avg_sq`, or the
    velocity of sgd `NAME.momentum_buffer` (kind "optimizer", zero before the first step), `step.number`
    (i64, kind "optimizer": the updates done), and `step.label_count` and `step.loss` (kind
    "accumulator"). Those of a parameter have its logical axes. With one microbatch `micro` writes gradients and loss,
    with several it adds to them, and the prologue takes its inputs with a first dimension that counts
    microbatches.

    Numbers are inputs of `update`, scalars in f32: `learning_rate`, `beta1`, `beta2`, `eps` (adamw)
    or `momentum` (sgd), `weight_decay`, `max_grad_norm`. The option `defaults` gives them a
    `cleave.default` each. Weight decay acts on parameters that have two
    or more dimensions in the checkpoint, changed by the options `decay` and `no-decay`. The outputs of
    `update` are `loss` and `grad_norm`, the norm before clipping.

    With `scale-loss` the gradients start from the state `step.loss_scale` (kind "optimizer") instead of
    1, so that they are as many times too large: `cleave-loss-scaling` divides them by it and keeps it.

    Ops that draw random numbers in training and have no seed (`graph.dropout`, dropout of
    `graph.attention`) draw in `micro` by the input `dropout_seed`, of i64, 0 where it is not given, and
    by `step.number`. In the forward function that is kept they are removed, and with `form=gradients`
    they stay as they are, so that nothing is dropped.

    With `form=gradients` there is one function, `@gradients`, with the forward function's arguments:
    it gives the loss and, as output `grad.NAME`, the gradient of each parameter.

    Gradient ops carry the block and instance of their forward op and its name after `grad.`. Gradients
    by operands and by parameters are separate ops. Gradients of values with `cleave.logical` have the
    same logical axes.

    Assumes global form, before shardings are planned.

    ```mlir
    func.func @forward(%w: tensor<4x8xf32> {cleave.state = @w}, %x: tensor<2x4xf32> {cleave.input = "x"})
        -> (tensor<f32> {cleave.output = "loss"}) attributes {cleave.entry} {
      %y = graph.dot_general %x, %w contract [1] x [0] : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
      %loss = graph.reduce sum %y dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
      return %loss : tensor<f32>
    }
    ```
    becomes with `form=gradients`
    ```mlir
    func.func @gradients(%w: tensor<4x8xf32> {cleave.state = @w}, %x: tensor<2x4xf32> {cleave.input = "x"})
        -> (tensor<f32> {cleave.output = "loss"}, tensor<4x8xf32> {cleave.output = "grad.w"})
        attributes {cleave.entry} {
      %y = graph.dot_general %x, %w contract [1] x [0] : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
      %loss = graph.reduce sum %y dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
      %one = graph.constant dense<1.0> : tensor<f32>
      %dy = graph.broadcast %one dims [] : tensor<f32> -> tensor<2x8xf32>
      %dw = graph.dot_general %x, %dy contract [0] x [0] : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
      return %loss, %dw : tensor<f32>, tensor<4x8xf32>
    }
    ```
  }];
  let options = [
    Option<"form", "form", "std::string", [{"step"}],
           "step: prologue, micro and update; gradients: one function">,
    Option<"entry", "entry", "std::string", [{""}],
           "The forward function; by default the only one with cleave.entry">,
    Option<"loss", "loss", "std::string", [{"loss"}],
           "The cleave.output of the loss; an only result needs no name">,
    Option<"optimizer", "optimizer", "std::string", [{"adamw"}], "adamw or sgd">,
    Option<"momentum", "momentum", "bool", "false", "sgd has a velocity">,
    Option<"microbatches", "microbatches", "int64_t", "1",
           "Microbatches a step; the forward function is that of one">,
    ListOption<"decay", "decay", "std::string",
               "Parameters that decay whatever their rank, as patterns: *.bias">,
    ListOption<"noDecay", "no-decay", "std::string",
               "Parameters that do not decay, as patterns; goes before decay">,
    ListOption<"defaults", "defaults", "std::string",
               "Defaults of the step's numbers: learning_rate=3e-4">,
    Option<"scaleLoss", "scale-loss", "bool", "false",
           "Gradients start from the state step.loss_scale; only with form=step">,
    Option<"keepForward", "keep-forward", "bool", "false",
           "Keeps the forward function as it is, beside the new ones">,
  ];
  let dependentDialects = ["::cleave::CleaveDialect", "::cleave::graph::GraphDialect"];
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

    Guarantees one entry `@train_step` in their place: the prologue, then `@micro` for each of the
    microbatches, then the update. All microbatches but the last are one body that a `graph.repetition`
    repeats; the last stands by itself before the update, so that what it gives can be sent while it
    goes on. States of kind "gradient" and "accumulator" become values; the others are read and updated
    by the entry, optimizer states without a checkpoint. What `@micro` adds to such a state becomes a
    `graph.sum_repetitions`. Inputs of `@micro` get `microbatches` times the rows; row r of microbatch i
    is row r * microbatches + i, so that no row leaves the device that has it. Random ops draw by the
    rows of the whole batch. Scalar inputs are the same for all microbatches. Partial sums that
    microbatches add stay partial until the last: the placement of reductions sees all of them.

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
  let dependentDialects = ["::cleave::graph::GraphDialect", "::mlir::arith::ArithDialect"];
}

//===----------------------------------------------------------------------===//
// Repetitions
//===----------------------------------------------------------------------===//

def OutlineRepetitionsPass : Pass<"cleave-outline-repetitions", "::mlir::ModuleOp"> {
  let summary = "Makes functions of what is repeated";
  let description = [{
    Assumes functions of one block, in global or local form.

    Guarantees that no `graph.repetition` is left: what depends on its number is a private function
    `@F.repeated` (`@F.repeated_2` and so on), which a `graph.repeat` in @F calls. With it go cheap ops and
    collectives marked `cleave.again` that serve the body alone: they are done anew in each call, so that
    nothing is held that can be had again. Other collectives, and what others need too, stay in @F, are
    done once, and their results are operands. What `graph.sum_repetitions` adds up, the function adds to
    what the call before returned.

    ```mlir
    %i = graph.repetition count 3
    %0 = graph.iota dim 0 offset %i : tensor<2xi64>
    %1 = graph.sum_repetitions %0 over %i : tensor<2xi64>
    ```
    becomes
    ```mlir
    %1 = graph.repeat @f.repeated() count 3 : () -> tensor<2xi64>
    func.func private @f.repeated(%i: index, %sum: tensor<2xi64>) -> tensor<2xi64> {
      %0 = graph.iota dim 0 offset %i : tensor<2xi64>
      %1 = graph.add %sum, %0 : tensor<2xi64>
      return %1 : tensor<2xi64>
    }
    ```
  }];
  let dependentDialects = ["::cleave::graph::GraphDialect"];
  let statistics = [Statistic<"numBodies", "bodies", "Functions made of what is repeated">];
}

//===----------------------------------------------------------------------===//
// Mixed precision
//===----------------------------------------------------------------------===//

def MixedPrecisionPass : Pass<"cleave-mixed-precision", "::mlir::ModuleOp"> {
  let summary = "Stores weights in f32 that the program computes with in 16 bits";
  let description = [{
    States of kind "weight" (or of none) in bf16 or f16 become f32: master weights, to which an
    optimizer's small updates can be added. Each function converts a weight once, before all uses, and
    goes on in its own types; a function that updates such a state widens the result.

    Comes before `cleave-differentiate`, which gives a weight's gradient the type in which the weight is
    stored: products of a weight gradient are summed over tokens, devices and microbatches in f32. What
    lies beside the weights needs no change: norms, softmax, losses and the optimizer compute in f32
    inside, whatever the types of their operands.

    Assumes functions of one block, in global form, before shardings are planned. Where a strategy
    stores the weight sharded, the copy is gathered, not the master.

    ```mlir
    cleave.state @w : tensor<4x8xbf16> {kind = "weight"}
    func.func @forward(%w: tensor<4x8xbf16> {cleave.state = @w}, %x: tensor<2x4xbf16> {cleave.input = "x"})
        -> tensor<2x8xbf16> attributes {cleave.entry} {
      %y = graph.dot_general %x, %w contract [1] x [0] : (tensor<2x4xbf16>, tensor<4x8xbf16>) -> tensor<2x8xbf16>
      return %y : tensor<2x8xbf16>
    }
    ```
    becomes
    ```mlir
    cleave.state @w : tensor<4x8xf32> {kind = "weight"}
    func.func @forward(%w: tensor<4x8xf32> {cleave.state = @w}, %x: tensor<2x4xbf16> {cleave.input = "x"})
        -> tensor<2x8xbf16> attributes {cleave.entry} {
      %c = graph.convert %w : tensor<4x8xf32> -> tensor<4x8xbf16>
      %y = graph.dot_general %x, %c contract [1] x [0] : (tensor<2x4xbf16>, tensor<4x8xbf16>) -> tensor<2x8xbf16>
      return %y : tensor<2x8xbf16>
    }
    ```
  }];
  let statistics = [Statistic<"numMasters", "masters", "Weights that are stored in f32">,
                    Statistic<"numConversions", "conversions", "Conversions of weights">];
  let dependentDialects = ["::cleave::graph::GraphDialect"];
}

def NarrowGradientsPass : Pass<"cleave-narrow-gradients", "::mlir::ModuleOp"> {
  let summary = "Gives weight gradients the type of the operands that they are made of";
  let description = [{
    Assumes functions that write states of kind "gradient", as `cleave-differentiate` makes them. Where
    such a gradient is an op's result that is wider than all of the op's floats (a product of 16-bit
    operands, the gradient of a table), maybe added to others or moved, the op rounds to the operands'
    type and its result is widened again. Sums over devices, which come before a rounding, are then of
    16 bits: half the bytes are sent, and each partial sum is rounded. Sums over tokens stay in f32
    inside the op, and so do sums over microbatches.

    ```mlir
    %g = graph.dot_general %dy, %x contract [0] x [0] : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xf32>
    ```
    becomes
    ```mlir
    %n = graph.dot_general %dy, %x contract [0] x [0] : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xbf16>
    %g = graph.convert %n : tensor<4x8xbf16> -> tensor<4x8xf32>
    ```
  }];
  let statistics = [Statistic<"numNarrowed", "narrowed", "Gradients that are made narrower">];
  let dependentDialects = ["::cleave::graph::GraphDialect"];
}

//===----------------------------------------------------------------------===//
// Loss scaling
//===----------------------------------------------------------------------===//

def LossScalingPass : Pass<"cleave-loss-scaling", "::mlir::ModuleOp"> {
  let summary = "Keeps the scale of the loss, and skips updates that overflow";
  let description = [{
    Assumes `@micro` and `@update` as `cleave-differentiate` with `scale-loss` makes them: gradients are
    too large by the factor in the state `step.loss_scale`. f16 keeps small gradients that way.

    - The state holds 0 before the first step, which stands for `init`.
    - `@update` divides the gradients by the scale before it takes their norm.
    - Gradients that overflowed make the norm infinite or NaN, which is the same number on all devices:
      then every state that `@update` writes keeps its value on all of them, the number of updates too,
      and the scale is halved, but not below 1.
    - The state `step.good_steps` (i64) counts the updates since the scale last changed. The
      `growth-interval`-th doubles the scale, up to 2^32.
    - The output `loss_scale` is the scale that this step used.

    ```mlir
    func.func @update(%w: tensor<4xf32> {cleave.state = @w}, %g: tensor<4xf32> {cleave.state = @grad.w}, ...)
        -> (tensor<4xf32> {cleave.state = @w}, tensor<f32> {cleave.output = "grad_norm"}) {
      ...
      return %w1, %norm : tensor<4xf32>, tensor<f32>
    ```
    becomes
    ```mlir
      %inverse = graph.divide %one, %scale : tensor<f32>
      %factor = graph.broadcast %inverse dims [] : tensor<f32> -> tensor<4xf32>
      %unscaled = graph.multiply %g, %factor : tensor<4xf32>
      ...
      %size = graph.abs %norm : tensor<f32>
      %finite = graph.compare lt %size, %infinity : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %all = graph.broadcast %finite dims [] : tensor<i1> -> tensor<4xi1>
      %w2 = graph.select %all, %w1, %w : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let options = [
    Option<"init", "init", "double", "65536.0", "The first scale; a power of two rounds nothing">,
    Option<"growthInterval", "growth-interval", "int64_t", "2000",
           "Updates in a row after which the scale doubles">,
  ];
  let dependentDialects = ["::cleave::CleaveDialect", "::cleave::graph::GraphDialect"];
}

#endif // CLEAVE_DIALECT_GRAPH_TRANSFORMS_PASSES_TD
