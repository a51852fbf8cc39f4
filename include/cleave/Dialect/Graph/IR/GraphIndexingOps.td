// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ops that pick elements by numbers in tensors, and counter-based random numbers.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHINDEXINGOPS_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHINDEXINGOPS_TD

include "cleave/Dialect/Graph/IR/GraphBase.td"

def Graph_GatherOp : Graph_Op<"gather", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "Slices of a tensor by number along one dimension";
  let description = [{
    The dimension `axis` of the operand is replaced by the dimensions of `indices`:
    result[a.., i.., b..] = operand[a.., indices[i..], b..], and zero where the index is out of range.

    ```mlir
    %2 = graph.gather %0, %1 axis 1
        : (tensor<2x10x16xf32>, tensor<3xi64>) -> tensor<2x3x16xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_PositionTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$indices,
                                 "int64_t":$axis)>];
  let assemblyFormat =
      "$operand `,` $indices `axis` $axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ScatterAddOp : Graph_Op<"scatter_add", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "Adds slices to a tensor at numbers along one dimension";
  let description = [{
    The transpose of `graph.gather`: the operand, to whose slices [.., indices[i..], ..] along `axis`
    the slices updates[.., i.., ..] are added, in row-major order of i. Updates whose index is out of
    range are dropped.

    ```mlir
    %3 = graph.scatter_add %0, %1, %2 axis 0
        : (tensor<10x16xf32>, tensor<3xi64>, tensor<3x16xf32>) -> tensor<10x16xf32>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$operand, Graph_PositionTensor:$indices,
                       Graph_NumberTensor:$updates, I64Attr:$axis);
  let results = (outs Graph_NumberTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$indices,
                                 "::mlir::Value":$updates, "int64_t":$axis), [{
    build($_builder, $_state, operand.getType(), operand, indices, updates, axis);
  }]>];
  let assemblyFormat = "$operand `,` $indices `,` $updates `axis` $axis attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_TopKOp : Graph_Op<"top_k", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "The largest elements of the last dimension, and where they are";
  let description = [{
    In descending order; of equal elements the first comes first. NaN counts as the largest.

    ```mlir
    %values, %indices = graph.top_k %0 : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$operand);
  let results = (outs Graph_NumberTensor:$values, Graph_PositionTensor:$indices);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "int64_t":$k,
                                 CArg<"::mlir::Type", "{}">:$indexType)>];
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_DynamicSliceOp : Graph_Op<"dynamic_slice", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "A part of a tensor that starts at given indices";
  let description = [{
    The result's shape is the size of the part. Start indices, one a dimension, are clamped so that
    the part lies inside the operand.

    ```mlir
    %1 = graph.dynamic_slice %0, %i, %j
        : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, Variadic<Graph_PositionTensor>:$starts);
  let results = (outs Graph_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::ValueRange":$starts,
                                 "::llvm::ArrayRef<int64_t>":$sizes)>];
  let assemblyFormat =
      "$operand (`,` $starts^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_DynamicUpdateSliceOp : Graph_Op<"dynamic_update_slice",
    [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "A tensor with a part replaced";
  let description = [{
    The part starts at the start indices, one a dimension, clamped so that it lies inside the operand.

    ```mlir
    %2 = graph.dynamic_update_slice %0, %1, %i, %j
        : (tensor<4x8xf32>, tensor<4x2xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_Tensor:$update,
                       Variadic<Graph_PositionTensor>:$starts);
  let results = (outs Graph_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$update,
                                 "::mlir::ValueRange":$starts), [{
    build($_builder, $_state, operand.getType(), operand, update, starts);
  }]>];
  let assemblyFormat = "$operand `,` $update (`,` $starts^)? attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_RngOp : Graph_Op<"rng", [Graph_PartitionByClone, Graph_Decomposable]> {
  let summary = "Random numbers by a counter";
  let description = [{
    Philox4x32-10 with the key `seed` (its low and high 32 bits) and, for each element, the counter
    (low, high 32 bits of its row-major index, `site`, low 32 bits of `step`). The numbers depend on
    nothing else: not on the sharding, since the index is that in the global tensor.

    With w0..w3 the words that come out, `uniform` gives floor(w0 / 2^8) / 2^24, in [0, 1), and
    `normal` gives sqrt(-2 log(u)) cos(2 pi v) with u = (floor(w0 / 2^8) + 1) / 2^24 and
    v = floor(w1 / 2^8) / 2^24.

    ```mlir
    %0 = graph.rng uniform %seed, %step site = 7 : (tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_RandomDistributionAttr:$distribution,
                       StaticShapeTensorOf<[I64]>:$seed, StaticShapeTensorOf<[I64]>:$step,
                       I64Attr:$site);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$distribution $seed `,` $step `site` `=` $site attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_DropoutOp : Graph_Op<"dropout",
    [Graph_PartitionOwn, Graph_Decomposable, Graph_Differentiable, Graph_Random,
     AttrSizedOperandSegments]> {
  let summary = "Zeros random elements";
  let description = [{
    Elements are dropped (zero in the result, whatever they were) or divided by 1 - rate, by their
    positions, as `#graph.dropout` says. Without strides, positions are row-major indices. `offset` is
    added to all positions and `site` to the number of the site: a device's part has the offset of its
    first element. Without a seed the result is the operand, as in evaluation. No mask is kept: the
    gradient drops the same elements again.

    ```mlir
    %1 = graph.dropout %0 seed %seed step %step <rate = 1.000000e-01, site = 7>
        : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Optional<Graph_I64Scalar>:$seed,
                       Optional<Graph_I64Scalar>:$step, Optional<Index>:$offset,
                       Optional<Index>:$site, Graph_DropoutAttr:$dropout);
  let results = (outs Graph_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$seed,
                                 "::mlir::Value":$step, "::mlir::Value":$offset,
                                 "DropoutAttr":$dropout), [{
    build($_builder, $_state, operand.getType(), operand, seed, step, offset, ::mlir::Value(),
          dropout);
  }]>];
  let assemblyFormat = "$operand (`seed` $seed^)? (`step` $step^)? (`offset` $offset^)? "
                       "(`site` $site^)? $dropout attr-dict `:` "
                       "functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// By which positions grow along each dimension.
    ::llvm::SmallVector<int64_t> getPositionStrides();
  }];
  let hasVerifier = 1;
}

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHINDEXINGOPS_TD
