// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Constants and ops that only move elements.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHSHAPEOPS_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHSHAPEOPS_TD

include "cleave/Dialect/Graph/IR/GraphBase.td"

def Graph_DenseElementsAttr
    : Attr<CPred<"::llvm::isa<::mlir::DenseIntOrFPElementsAttr>($_self)">,
           "dense integer or float elements"> {
  let storageType = "::mlir::DenseElementsAttr";
  let returnType = "::mlir::DenseElementsAttr";
  let convertFromStorage = "$_self";
}

def Graph_ConstantOp : Graph_Op<"constant", [ConstantLike, Graph_PartitionOwn]> {
  let summary = "A constant";
  let description = [{
    A splat takes any sharding. Other constants are made whole on every device.

    ```mlir
    %0 = graph.constant dense<0.0> : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_DenseElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::DenseElementsAttr":$value), [{
      build($_builder, $_state, value.getType(), value);
    }]>,
    // A splat of a number, which is rounded to the type.
    OpBuilder<(ins "::mlir::RankedTensorType":$type, "double":$splat)>,
  ];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_IotaOp : Graph_Op<"iota", [Graph_PartitionOwn]> {
  let summary = "The index along one dimension";
  let description = [{
    Element i is offset + i[dim]. `offset` is the number of the first element, for a device's part.

    ```mlir
    %0 = graph.iota dim 1 : tensor<4x8xi64>
    %1 = graph.iota dim 1 offset %o : (index) -> tensor<4x8xi64>
    ```
  }];
  let arguments = (ins I64Attr:$dim, Optional<Index>:$offset);
  let results = (outs Graph_NumberTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "int64_t":$dim), [{
    build($_builder, $_state, type, dim, ::mlir::Value());
  }]>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Graph_BroadcastOp : Graph_Op<"broadcast", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "Repeats elements along new dimensions";
  let description = [{
    Dimension d of the operand is dimension dims[d] of the result; it has the same size or size 1.
    `dims` increases.

    ```mlir
    %1 = graph.broadcast %0 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `dims` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ReshapeOp : Graph_Op<"reshape", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "The same elements in row-major order under another shape";
  let description = [{
    ```mlir
    %1 = graph.reshape %0 : tensor<4x8xf32> -> tensor<4x2x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$shape)>];
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_TransposeOp : Graph_Op<"transpose", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "Permutes dimensions";
  let description = [{
    Dimension d of the result is dimension perm[d] of the operand.

    ```mlir
    %1 = graph.transpose %0 perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$perm);
  let results = (outs Graph_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$perm)>];
  let assemblyFormat = "$operand `perm` $perm attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_SliceOp : Graph_Op<"slice", [Graph_PartitionOwn, Graph_Differentiable]> {
  let summary = "A part of a tensor";
  let description = [{
    Dimension d holds elements starts[d], starts[d] + strides[d], ... below limits[d]. A stride of 1
    is not printed.

    ```mlir
    %1 = graph.slice %0 [0:4, 2:8:2] : tensor<4x8xf32> -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits,
                       DenseI64ArrayAttr:$strides);
  let results = (outs Graph_Tensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$starts,
                   "::llvm::ArrayRef<int64_t>":$limits,
                   CArg<"::llvm::ArrayRef<int64_t>", "{}">:$strides)>,
    // Elements [start, limit) of one dimension, all of the others.
    OpBuilder<(ins "::mlir::Value":$operand, "int64_t":$dim, "int64_t":$start, "int64_t":$limit)>,
  ];
  let assemblyFormat = "$operand custom<SliceRanges>($starts, $limits, $strides) attr-dict `:` "
                       "type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_PadOp : Graph_Op<"pad", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "Puts elements of one value around and between those of a tensor";
  let description = [{
    `low` and `high` count the elements put before and after (negative counts remove some), `interior`
    those put between two neighbours.

    ```mlir
    %2 = graph.pad %0, %1 low [0, 1] high [0, 2] interior [0, 0]
        : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x11xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_Tensor:$value, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs Graph_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$value,
                                 "::llvm::ArrayRef<int64_t>":$low,
                                 "::llvm::ArrayRef<int64_t>":$high,
                                 CArg<"::llvm::ArrayRef<int64_t>", "{}">:$interior)>];
  let assemblyFormat = "$operand `,` $value `low` $low `high` $high `interior` $interior attr-dict "
                       "`:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ConcatenateOp : Graph_Op<"concatenate", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "Joins tensors along one dimension";
  let description = [{
    ```mlir
    %2 = graph.concatenate %0, %1 dim 0 : (tensor<1x8xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Graph_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "int64_t":$dim)>];
  let assemblyFormat =
      "$inputs `dim` $dim attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHSHAPEOPS_TD
