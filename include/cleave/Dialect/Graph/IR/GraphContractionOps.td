// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products and reductions.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHCONTRACTIONOPS_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHCONTRACTIONOPS_TD

include "cleave/Dialect/Graph/IR/GraphBase.td"

def Graph_DotGeneralOp : Graph_Op<"dot_general", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "Products summed over contracting dimensions";
  let description = [{
    The result's dimensions are the batch dimensions, the free dimensions of the left operand and those
    of the right one, each in the operand's order. Sums are held in f32 (f64 for f64 operands); the
    result's element type may be wider than the operands'.

    ```mlir
    %2 = graph.dot_general %0, %1 batch [0] x [0] contract [2] x [1]
        : (tensor<3x4x8xf32>, tensor<3x8x5xf32>) -> tensor<3x4x5xf32>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$lhs, Graph_NumberTensor:$rhs,
                       DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs Graph_NumberTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                                 "::llvm::ArrayRef<int64_t>":$lhsBatch,
                                 "::llvm::ArrayRef<int64_t>":$rhsBatch,
                                 "::llvm::ArrayRef<int64_t>":$lhsContract,
                                 "::llvm::ArrayRef<int64_t>":$rhsContract,
                                 CArg<"::mlir::Type", "{}">:$elementType)>];
  let assemblyFormat = "$lhs `,` $rhs custom<BatchDims>($lhs_batch, $rhs_batch) "
                       "`contract` $lhs_contract `x` $rhs_contract attr-dict `:` "
                       "functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// Dimensions that are neither batch nor contracting, in order.
    ::llvm::SmallVector<int64_t> getLhsFree();
    ::llvm::SmallVector<int64_t> getRhsFree();
  }];
  let hasVerifier = 1;
}

def Graph_ReduceOp : Graph_Op<"reduce", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "Combines elements along dimensions";
  let description = [{
    The listed dimensions disappear. An empty reduction gives 0 for `sum`, 1 for `prod`, and for `max`
    and `min` the smallest and largest value of the type (infinities for floats). f16 and bf16 are
    combined in f32.

    ```mlir
    %1 = graph.reduce sum %0 dims [1] : tensor<4x8xf32> -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_NumberTensor:$operand,
                       DenseI64ArrayAttr:$dims);
  let results = (outs Graph_NumberTensor:$result);
  let builders = [OpBuilder<(ins "ReduceKind":$kind, "::mlir::Value":$operand,
                                 "::llvm::ArrayRef<int64_t>":$dims)>];
  let assemblyFormat =
      "$kind $operand `dims` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHCONTRACTIONOPS_TD
