// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Gradients that have kernels of their own. Those of other ops are made of the ops that are there.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHGRADIENTOPS_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHGRADIENTOPS_TD

include "cleave/Dialect/Graph/IR/GraphBase.td"

def Graph_EmbeddingGradOp : Graph_Op<"embedding_grad",
    [Graph_PartitionOwn, Graph_Decomposable, Graph_Differentiable]> {
  let summary = "Gradient of an embedding's table";
  let description = [{
    Row r of the result is the sum of gradient[i] over all i with ids[i] - offset = r. Ids that name
    no row of the result add nothing. `offset` is the number of the first row, for a device's part of
    the vocabulary. Sums are held in f32 (f64 for f64), in the order of i. The result may be wider
    than `gradient`.

    ```mlir
    %2 = graph.embedding_grad %ids, %gradient
        : (tensor<2x4xi64>, tensor<2x4x16xf32>) -> tensor<100x16xf32>
    %3 = graph.embedding_grad %ids, %gradient offset %o
        : (tensor<2x4xi64>, tensor<2x4x16xf32>, index) -> tensor<25x16xf32>
    ```
  }];
  let arguments = (ins Graph_PositionTensor:$ids, Graph_FloatTensor:$gradient,
                       Optional<Index>:$offset);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$ids `,` $gradient (`offset` $offset^)? attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_AttentionGradOp : Graph_Op<"attention_grad",
    [Graph_PartitionOwn, Graph_Decomposable, Graph_Random, AttrSizedOperandSegments]> {
  let summary = "Gradients of attention by queries, keys and values";
  let description = [{
    `q`, `k`, `v`, the scalars and the attributes are those of the `attention` whose results are
    `result` and `lse`; `result_gradient` is the gradient of the loss by `result`. The results are the
    gradients by `q`, `k` and `v`.

    With the scores s of `attention` and P = exp(s - lse) for visible keys, 0 for others:
    dv = P' result_gradient, and ds = P * (result_gradient v' - D), where D is the sum of
    result * result_gradient over the last dimension. With `softcap` c, ds is multiplied by
    1 - (s / c)^2. Then dq = scale * ds k and dk = scale * ds' q, where dk and dv sum over the queries
    and over the q_groups. With dropout, result_gradient v' and the P of dv are dropped alike. Without `lse` it is computed from `q` and `k`. Kernels go block by block and
    hold no Sq x Skv.

    ```mlir
    %dq, %dk, %dv = graph.attention_grad %q, %k, %v, %result, %gradient lse %lse scale = 0.25 causal
        : (tensor<2x8x2x3x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>,
           tensor<2x8x2x3x16xf32>, tensor<2x8x2x3x16xf32>, tensor<2x2x3x8xf32>)
       -> (tensor<2x8x2x3x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v,
                       Graph_FloatTensor:$result, Graph_FloatTensor:$result_gradient,
                       Optional<Graph_FloatTensor>:$lse, Optional<Index>:$query_offset,
                       Optional<Graph_I64Scalar>:$seed, Optional<Graph_I64Scalar>:$step,
                       Optional<Index>:$dropout_offset, F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<I64Attr>:$window, OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<Graph_DropoutAttr>:$dropout);
  let results = (outs Graph_FloatTensor:$q_gradient, Graph_FloatTensor:$k_gradient,
                      Graph_FloatTensor:$v_gradient);
  // The gradients of an attention op by its operands.
  let builders = [OpBuilder<(ins "AttentionOp":$attention, "::mlir::Value":$resultGradient)>];
  let assemblyFormat =
      "$q `,` $k `,` $v `,` $result `,` $result_gradient (`lse` $lse^)? "
      "(`query_offset` $query_offset^)? (`seed` $seed^)? (`step` $step^)? "
      "(`dropout_offset` $dropout_offset^)? `scale` `=` $scale (`causal` $causal^)? "
      "(`window` `=` $window^)? (`softcap` `=` $softcap^)? (`dropout` `=` $dropout^)? attr-dict `:` "
      "functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// As those of `attention`.
    ::llvm::SmallVector<int64_t> getDropoutStrides();
  }];
  let hasVerifier = 1;
}

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHGRADIENTOPS_TD
