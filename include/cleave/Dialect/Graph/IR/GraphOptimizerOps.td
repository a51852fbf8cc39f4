// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ops of an optimizer's step.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHOPTIMIZEROPS_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHOPTIMIZEROPS_TD

include "cleave/Dialect/Graph/IR/GraphBase.td"

def Graph_AdamWOp : Graph_Op<"adamw",
    [Graph_PartitionByClone, Graph_Decomposable, AttrSizedOperandSegments]> {
  let summary = "Adam with decoupled weight decay";
  let description = [{
    With the numbers lr, b1, b2, eps and d (`learning_rate`, `beta1`, `beta2`, `epsilon`,
    `weight_decay`) and t = `step`, the number of this update, counted from 1:

    m' = b1 m + (1 - b1) g, v' = b2 v + (1 - b2) g^2,
    p' = p - lr d p - lr (m' / (1 - b1^t)) / (sqrt(v' / (1 - b2^t)) + eps).

    Without `weight_decay`, d is 0. Where `apply` is false, all keep their values, whatever the gradient
    holds. Moments and numbers are f32 (or f64), in which all is computed;
    the parameter is rounded once to its own type.

    ```mlir
    %p1, %m1, %v1 = graph.adamw %p, %g, %m, %v step %t learning_rate %lr beta1 %b1 beta2 %b2
        epsilon %eps weight_decay %d
        : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<i64>,
           tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
       -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$parameter, Graph_FloatTensor:$gradient,
                       Graph_FloatTensor:$first_moment, Graph_FloatTensor:$second_moment,
                       Graph_PositionTensor:$step, Graph_FloatTensor:$learning_rate,
                       Graph_FloatTensor:$beta1, Graph_FloatTensor:$beta2,
                       Graph_FloatTensor:$epsilon, Optional<Graph_FloatTensor>:$weight_decay,
                       Optional<Graph_PredicateTensor>:$apply);
  let results = (outs Graph_FloatTensor:$new_parameter, Graph_FloatTensor:$new_first_moment,
                      Graph_FloatTensor:$new_second_moment);
  let builders = [OpBuilder<(ins "::mlir::Value":$parameter, "::mlir::Value":$gradient,
                                 "::mlir::Value":$firstMoment, "::mlir::Value":$secondMoment,
                                 "::mlir::Value":$step, "::mlir::Value":$learningRate,
                                 "::mlir::Value":$beta1, "::mlir::Value":$beta2,
                                 "::mlir::Value":$epsilon, "::mlir::Value":$weightDecay), [{
    build($_builder, $_state, parameter.getType(), firstMoment.getType(), secondMoment.getType(),
          parameter, gradient, firstMoment, secondMoment, step, learningRate, beta1, beta2, epsilon,
          weightDecay, /*apply=*/::mlir::Value());
  }]>];
  let assemblyFormat =
      "$parameter `,` $gradient `,` $first_moment `,` $second_moment `step` $step `learning_rate` "
      "$learning_rate `beta1` $beta1 `beta2` $beta2 `epsilon` $epsilon (`weight_decay` "
      "$weight_decay^)? (`apply` $apply^)? attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// What each result takes the place of.
    ::llvm::SmallVector<::mlir::Value> getUpdated() {
      return {getParameter(), getFirstMoment(), getSecondMoment()};
    }
  }];
  let hasVerifier = 1;
}

def Graph_SgdOp : Graph_Op<"sgd",
    [Graph_PartitionByClone, Graph_Decomposable, AttrSizedOperandSegments]> {
  let summary = "Stochastic gradient descent, with momentum";
  let description = [{
    With g' = g + weight_decay p: without momentum p' = p - lr g'; with it u' = momentum u + g' and
    p' = p - lr u', where u is the velocity. `velocity`, `momentum` and the second result go together.
    Where `apply` is false, all keep their values, whatever the gradient holds.
    Velocity and numbers are f32 (or f64), in which all is computed; the parameter is rounded once to
    its own type.

    ```mlir
    %p1 = graph.sgd %p, %g learning_rate %lr
        : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %p2, %u2 = graph.sgd %p, %g velocity %u learning_rate %lr momentum %mu weight_decay %d
        : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
       -> (tensor<4x8xf32>, tensor<4x8xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$parameter, Graph_FloatTensor:$gradient,
                       Optional<Graph_FloatTensor>:$velocity, Graph_FloatTensor:$learning_rate,
                       Optional<Graph_FloatTensor>:$momentum,
                       Optional<Graph_FloatTensor>:$weight_decay,
                       Optional<Graph_PredicateTensor>:$apply);
  let results = (outs Graph_FloatTensor:$new_parameter, Optional<Graph_FloatTensor>:$new_velocity);
  let builders = [OpBuilder<(ins "::mlir::Value":$parameter, "::mlir::Value":$gradient,
                                 "::mlir::Value":$velocity, "::mlir::Value":$learningRate,
                                 "::mlir::Value":$momentum, "::mlir::Value":$weightDecay), [{
    build($_builder, $_state, parameter.getType(), velocity ? velocity.getType() : ::mlir::Type(),
          parameter, gradient, velocity, learningRate, momentum, weightDecay,
          /*apply=*/::mlir::Value());
  }]>];
  let assemblyFormat =
      "$parameter `,` $gradient (`velocity` $velocity^)? `learning_rate` $learning_rate "
      "(`momentum` $momentum^)? (`weight_decay` $weight_decay^)? (`apply` $apply^)? attr-dict `:` "
      "functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// What each result takes the place of.
    ::llvm::SmallVector<::mlir::Value> getUpdated() {
      ::llvm::SmallVector<::mlir::Value> values{getParameter()};
      if (getVelocity())
        values.push_back(getVelocity());
      return values;
    }
  }];
  let hasVerifier = 1;
}

def Graph_GlobalNormOp : Graph_Op<"global_norm", [Graph_PartitionByClone, Graph_Decomposable]> {
  let summary = "Square root of the sum of squares of all elements of several tensors";
  let description = [{
    Each element of each operand counts once, however the operand is sharded or replicated: sharded,
    the decomposition is used, whose partial sums are reduced over the axes that shard. Computed in
    f32 (f64 if the result is).

    ```mlir
    %2 = graph.global_norm %0, %1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<Graph_FloatTensor>:$inputs);
  let results = (outs Graph_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs)>];
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// Builds the sum of the squares of a tensor's elements, in a type of floats.
    static ::mlir::Value sumOfSquares(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                      ::mlir::Value x, ::mlir::Type compute);
  }];
  let hasVerifier = 1;
}

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHOPTIMIZEROPS_TD
