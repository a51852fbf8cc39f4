// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Named transformer ops. Each has a decomposition into primitives, which is its definition.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHNAMEDOPS_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHNAMEDOPS_TD

include "cleave/Dialect/Graph/IR/GraphBase.td"

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

def Graph_EmbeddingOp : Graph_Op<"embedding",
    [Graph_PartitionOwn, Graph_Decomposable, Graph_Differentiable]> {
  let summary = "Rows of a table by number";
  let description = [{
    Result row i is table[ids[i] - offset], and zero where that is no row of the table. `offset` is
    the number of the table's first row, for a device's part of the vocabulary; partial results then
    sum to the whole.

    ```mlir
    %2 = graph.embedding %ids, %table : (tensor<2x4xi64>, tensor<100x16xf32>) -> tensor<2x4x16xf32>
    %3 = graph.embedding %ids, %table offset %o
        : (tensor<2x4xi64>, tensor<25x16xf32>, index) -> tensor<2x4x16xf32>
    ```
  }];
  let arguments = (ins Graph_PositionTensor:$ids, Graph_FloatTensor:$table,
                       Optional<Index>:$offset);
  let results = (outs Graph_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$ids, "::mlir::Value":$table)>];
  let assemblyFormat = "$ids `,` $table (`offset` $offset^)? attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

def Graph_RmsNormOp : Graph_Op<"rms_norm",
    [Graph_PartitionByClone, Graph_Decomposable, Graph_Differentiable]> {
  let summary = "Root mean square norm over the last dimension";
  let description = [{
    x / sqrt(mean(x^2) + eps) * weight.

    ```mlir
    %1 = graph.rms_norm %0 weight %w eps = 1.0e-05
        : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Optional<Graph_FloatTensor>:$weight,
                       F64Attr:$eps);
  let results = (outs Graph_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$weight, "double":$eps),
  [{
    build($_builder, $_state, operand.getType(), operand, weight, $_builder.getF64FloatAttr(eps));
  }]>];
  let assemblyFormat = "$operand (`weight` $weight^)? `eps` `=` $eps attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_LayerNormOp : Graph_Op<"layer_norm",
    [Graph_PartitionByClone, Graph_Decomposable, Graph_Differentiable, AttrSizedOperandSegments]> {
  let summary = "Norm over the last dimension";
  let description = [{
    (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias, with the biased variance.

    ```mlir
    %1 = graph.layer_norm %0 weight %w bias %b eps = 1.0e-05
        : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Optional<Graph_FloatTensor>:$weight,
                       Optional<Graph_FloatTensor>:$bias, F64Attr:$eps);
  let results = (outs Graph_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$weight,
                                 "::mlir::Value":$bias, "double":$eps), [{
    build($_builder, $_state, operand.getType(), operand, weight, bias,
          $_builder.getF64FloatAttr(eps));
  }]>];
  let assemblyFormat = "$operand (`weight` $weight^)? (`bias` $bias^)? `eps` `=` $eps attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

def Graph_RopeTableOp : Graph_Op<"rope_table", [Graph_PartitionByClone, Graph_Decomposable]> {
  let summary = "Cosines and sines of the rotary angles";
  let description = [{
    Element [.., p, j] is the cosine (sine) of positions[.., p] * f(j), where
    f(j) = base^(-2j / rotary_dim) for j in [0, rotary_dim / 2), changed by `scaling`. Angles are
    computed in f64.

    ```mlir
    %cos, %sin = graph.rope_table %positions rotary_dim = 16 base = 1.0e+04
        : (tensor<4xi64>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %cos, %sin = graph.rope_table %positions rotary_dim = 16 base = 5.0e+05
        scaling = <llama3, factor = 8.0, low_freq_factor = 1.0, high_freq_factor = 4.0,
                   original_max_position = 8192>
        : (tensor<4xi64>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    ```
  }];
  let arguments = (ins Graph_PositionTensor:$positions, I64Attr:$rotary_dim, F64Attr:$base,
                       OptionalAttr<Graph_RopeScalingAttr>:$scaling);
  let results = (outs Graph_FloatTensor:$cos, Graph_FloatTensor:$sin);
  let builders = [OpBuilder<(ins "::mlir::Value":$positions, "int64_t":$rotaryDim, "double":$base,
                                 CArg<"RopeScalingAttr", "{}">:$scaling,
                                 CArg<"::mlir::Type", "{}">:$elementType)>];
  let assemblyFormat = "$positions `rotary_dim` `=` $rotary_dim `base` `=` $base "
                       "(`scaling` `=` $scaling^)? attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_RopeOp : Graph_Op<"rope",
    [Graph_PartitionByClone, Graph_Decomposable, Graph_Differentiable]> {
  let summary = "Rotates the head dimension by position";
  let description = [{
    With R/2 the last size of `cos` and `sin`, element j of the last dimension is rotated together
    with element j + R/2, for j in [0, R/2); elements from R on pass. The operand is [B, S, ..., D]; the
    tables are [S, R/2] or [B, S, R/2].

    ```mlir
    %1 = graph.rope %0, %cos, %sin
        : (tensor<2x4x3x16xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x3x16xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$cos, Graph_FloatTensor:$sin);
  let results = (outs Graph_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$cos,
                                 "::mlir::Value":$sin), [{
    build($_builder, $_state, operand.getType(), operand, cos, sin);
  }]>];
  let assemblyFormat =
      "$operand `,` $cos `,` $sin attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// Number of elements that are rotated: twice the last size of the tables.
    int64_t getRotaryDim();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Graph_AttentionOp : Graph_Op<"attention",
    [Graph_PartitionOwn, Graph_Decomposable, Graph_Random, AttrSizedOperandSegments,
     DeclareOpInterfaceMethods<Cleave_DifferentiableOpInterface, ["saveForGradient"]>]> {
  let summary = "Softmax attention with grouped key-value heads";
  let description = [{
    `q` is [B, Sq, Hkv, G, D], `k` [B, Skv, Hkv, D], `v` [B, Skv, Hkv, Dv] and the result
    [B, Sq, Hkv, G, Dv]: G query heads share a key-value head.

    Scores are s = scale * q.k, then with `softcap` c: c * tanh(s / c). Row r of `q` is query
    i = query_offset + r; key j is visible to it if j <= i (with `causal`) and i - j < window (with
    `window`). The result is the softmax over the visible keys times their values, and 0 for a query
    that sees no key.

    `lse`, [B, Hkv, G, Sq] in f32 (f64 for f64 operands), is the logarithm of the sum of exp(s) over
    the visible keys, -inf without any. The gradient reuses it.

    With `dropout` and a seed, weights of the softmax are dropped before values are summed, as
    `#graph.dropout` says; `lse` is that of all weights. Strides are those of batch, query, kv_head and
    q_group, multiples of 64, and keys stand side by side. Without strides, positions are row-major
    indices on [B, Hkv, G, Sq, Skv], with Skv rounded up to a multiple of 64. `dropout_offset` is added
    to all positions.

    ```mlir
    %3 = graph.attention %q, %k, %v scale = 0.25 causal window = 4
        : (tensor<2x8x2x3x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>)
       -> tensor<2x8x2x3x16xf32>
    %4, %lse = graph.attention %q, %k, %v scale = 0.25 causal
        : (tensor<2x8x2x3x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>)
       -> (tensor<2x8x2x3x16xf32>, tensor<2x2x3x8xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v,
                       Optional<Index>:$query_offset, Optional<Graph_I64Scalar>:$seed,
                       Optional<Graph_I64Scalar>:$step, Optional<Index>:$dropout_offset,
                       F64Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$window,
                       OptionalAttr<F64Attr>:$softcap, OptionalAttr<Graph_DropoutAttr>:$dropout);
  let results = (outs Graph_FloatTensor:$result, Optional<Graph_FloatTensor>:$lse);
  let builders = [OpBuilder<(ins "::mlir::Value":$q, "::mlir::Value":$k, "::mlir::Value":$v,
                                 "double":$scale, "bool":$causal,
                                 CArg<"std::optional<int64_t>", "{}">:$window,
                                 CArg<"std::optional<double>", "{}">:$softcap)>];
  let assemblyFormat =
      "$q `,` $k `,` $v (`query_offset` $query_offset^)? (`seed` $seed^)? (`step` $step^)? "
      "(`dropout_offset` $dropout_offset^)? `scale` `=` $scale (`causal` $causal^)? "
      "(`window` `=` $window^)? (`softcap` `=` $softcap^)? (`dropout` `=` $dropout^)? attr-dict `:` "
      "functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// By which positions of weights grow along batch, query, kv_head and q_group. Needs `dropout`.
    ::llvm::SmallVector<int64_t> getDropoutStrides();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

def Graph_CrossEntropyOp : Graph_Op<"cross_entropy",
    [Graph_PartitionByClone, Graph_Decomposable,
     DeclareOpInterfaceMethods<Cleave_DifferentiableOpInterface, ["saveForGradient"]>]> {
  let summary = "Mean negative log likelihood of labels";
  let description = [{
    `loss` is the mean of logsumexp(logits[i]) - logits[i, labels[i]] over the rows i whose label is
    not `ignore_index`, and `count` is their number; without such rows the loss is NaN. A label that is
    neither `ignore_index` nor in [0, V) takes 0 in place of its logit. Both results are f32 (f64 for
    f64 logits). With `normalizer`, a number of the results' type, the sum over the rows is divided by
    it and not by `count`, so that the losses of the parts of a batch add up.

    `lse`, of the labels' shape and the other results' type, is logsumexp(logits[i]) of every row. The
    gradient reuses it.

    ```mlir
    %loss, %count = graph.cross_entropy %logits, %labels ignore_index = -100
        : (tensor<2x4x100xf32>, tensor<2x4xi64>) -> (tensor<f32>, tensor<f32>)
    %part, %n = graph.cross_entropy %logits, %labels normalizer %total ignore_index = -100
        : (tensor<2x4x100xf32>, tensor<2x4xi64>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %l, %c, %lse = graph.cross_entropy %logits, %labels ignore_index = -100
        : (tensor<2x4x100xf32>, tensor<2x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x4xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_PositionTensor:$labels,
                       Optional<Graph_FloatTensor>:$normalizer, I64Attr:$ignore_index);
  let results = (outs Graph_FloatTensor:$loss, Graph_FloatTensor:$count,
                      Optional<Graph_FloatTensor>:$lse);
  let builders = [OpBuilder<(ins "::mlir::Value":$logits, "::mlir::Value":$labels,
                                 CArg<"int64_t", "-100">:$ignoreIndex)>];
  let assemblyFormat = "$logits `,` $labels (`normalizer` $normalizer^)? `ignore_index` `=` "
                       "$ignore_index attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// Builds the number of labels that are not ignored, in the type of `count`.
    ::mlir::Value countLabels(::mlir::OpBuilder &builder, ::mlir::Value labels);
  }];
  let hasVerifier = 1;
}

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHNAMEDOPS_TD
