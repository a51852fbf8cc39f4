// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops: one result element from the operands' elements at the same index.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHELEMENTWISEOPS_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHELEMENTWISEOPS_TD

include "cleave/Dialect/Graph/IR/GraphBase.td"

// `joint` and `separate` are the rule's masks of operands in which the op is linear.
class Graph_ElementwiseOp<string mnemonic, int joint, int separate, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([Graph_PartitionByClone], traits)> {
  let hasVerifier = 1;
  code elementwiseDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return verifyElementwise(getOperation()); }
    ::cleave::FactorRule $cppClass::getShardingRule() {
      return elementwiseRule(getOperation(), }] # joint # ", " # separate # [{);
    }
  }];
  let extraClassDefinition = elementwiseDefinition;
}

class Graph_UnaryOp<string mnemonic, TypeConstraint type, string text, int joint = 0,
                    list<Trait> traits = []>
    : Graph_ElementwiseOp<mnemonic, joint, 0, traits> {
  let summary = text;
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand), [{
    build($_builder, $_state, operand.getType(), operand);
  }]>];
  let assemblyFormat = "$operand attr-dict `:` custom<SameTypes>(type($operand), type($result))";
}

/// A function of floats.
class Graph_FunctionOp<string mnemonic, string text>
    : Graph_UnaryOp<mnemonic, Graph_FloatTensor, text, 0, [Graph_Differentiable]>;

class Graph_BinaryOp<string mnemonic, TypeConstraint type, string text, int joint = 0,
                     int separate = 0, list<Trait> traits = []>
    : Graph_ElementwiseOp<mnemonic, joint, separate, traits> {
  let summary = text;
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, lhs.getType(), lhs, rhs);
  }]>];
  let assemblyFormat =
      "$lhs `,` $rhs attr-dict `:` custom<SameTypes>(type($lhs), type($rhs), type($result))";
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

def Graph_NegateOp : Graph_UnaryOp<"negate", Graph_NumberTensor, "-x", 1, [Graph_Differentiable]>;
def Graph_AbsOp : Graph_UnaryOp<"abs", Graph_NumberTensor, "|x|", 0, [Graph_Differentiable]>;
def Graph_SignOp : Graph_UnaryOp<"sign", Graph_NumberTensor, "-1, 0 or 1 by the sign of x", 0,
                                 [Graph_Differentiable]>;
def Graph_ExpOp : Graph_FunctionOp<"exp", "e^x">;
def Graph_Expm1Op : Graph_FunctionOp<"expm1", "e^x - 1">;
def Graph_LogOp : Graph_FunctionOp<"log", "Natural logarithm">;
def Graph_Log1pOp : Graph_FunctionOp<"log1p", "log(1 + x)">;
def Graph_SqrtOp : Graph_FunctionOp<"sqrt", "Square root">;
def Graph_RsqrtOp : Graph_FunctionOp<"rsqrt", "1 / sqrt(x)">;
def Graph_TanhOp : Graph_FunctionOp<"tanh", "Hyperbolic tangent">;
def Graph_LogisticOp : Graph_FunctionOp<"logistic", "1 / (1 + e^-x)">;
def Graph_SinOp : Graph_FunctionOp<"sin", "Sine of radians">;
def Graph_CosOp : Graph_FunctionOp<"cos", "Cosine of radians">;
def Graph_ErfOp : Graph_FunctionOp<"erf", "Error function">;
def Graph_FloorOp : Graph_FunctionOp<"floor", "Largest integer <= x">;
def Graph_CeilOp : Graph_FunctionOp<"ceil", "Smallest integer >= x">;
def Graph_NotOp : Graph_UnaryOp<"not", Graph_IntegerTensor, "Bitwise complement">;

def Graph_ReluOp : Graph_UnaryOp<"relu", Graph_FloatTensor, "max(x, 0)", 0,
                                 [Graph_Decomposable, Graph_Differentiable]>;
def Graph_SiluOp : Graph_UnaryOp<"silu", Graph_FloatTensor, "x * logistic(x)", 0,
                                 [Graph_Decomposable, Graph_Differentiable]>;

def Graph_GeluOp : Graph_ElementwiseOp<"gelu", 0, 0,
                                         [Graph_Decomposable, Graph_Differentiable]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    `none` is x/2 * (1 + erf(x / sqrt(2))); `tanh` is x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))),
    which GPT-2 calls gelu_new.

    ```mlir
    %1 = graph.gelu tanh %0 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_GeluApproximationAttr:$approximate);
  let results = (outs Graph_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "GeluApproximation":$approximate), [{
    build($_builder, $_state, operand.getType(), operand, approximate);
  }]>];
  let assemblyFormat =
      "$approximate $operand attr-dict `:` custom<SameTypes>(type($operand), type($result))";
}

def Graph_ConvertOp : Graph_Op<"convert", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "The same numbers in another element type";
  let description = [{
    Floats are rounded to nearest even. A float becomes an integer by truncation towards zero,
    saturating; NaN becomes 0. Conversion to i1 is `x != 0`.

    ```mlir
    %1 = graph.convert %0 : tensor<4x8xbf16> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Type":$elementType)>];
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

def Graph_AddOp : Graph_BinaryOp<"add", Graph_NumberTensor, "x + y", 3, 0,
                                [Commutative, Graph_Differentiable]>;
def Graph_SubtractOp : Graph_BinaryOp<"subtract", Graph_NumberTensor, "x - y", 3, 0,
                                     [Graph_Differentiable]>;
def Graph_MultiplyOp
    : Graph_BinaryOp<"multiply", Graph_NumberTensor, "x * y", 0, 3,
                     [Commutative, Graph_Differentiable]>;
def Graph_DivideOp : Graph_BinaryOp<"divide", Graph_NumberTensor,
    "x / y; integers truncate towards zero, and a zero divisor gives -1", 0, 1,
    [Graph_Differentiable]> {
  // Division of integers truncates, which is not linear.
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return verifyElementwise(getOperation()); }
    ::cleave::FactorRule $cppClass::getShardingRule() {
      bool isFloat = ::llvm::isa<::mlir::FloatType>(getResult().getType().getElementType());
      return elementwiseRule(getOperation(), 0, isFloat ? 1 : 0);
    }
  }];
}
def Graph_RemainderOp : Graph_BinaryOp<"remainder", Graph_NumberTensor,
    "x - y * truncate(x / y), with the sign of x; an integer zero divisor gives x", 0, 0,
    [Graph_Differentiable]>;
def Graph_PowerOp : Graph_BinaryOp<"power", Graph_FloatTensor, "x^y", 0, 0,
                                  [Graph_Differentiable]>;
def Graph_MaximumOp : Graph_BinaryOp<"maximum", Graph_NumberTensor,
    "The larger; NaN if either is", 0, 0, [Commutative, Graph_Differentiable]>;
def Graph_MinimumOp : Graph_BinaryOp<"minimum", Graph_NumberTensor,
    "The smaller; NaN if either is", 0, 0, [Commutative, Graph_Differentiable]>;
def Graph_AndOp : Graph_BinaryOp<"and", Graph_IntegerTensor, "Bitwise and", 0, 0, [Commutative]>;
def Graph_OrOp : Graph_BinaryOp<"or", Graph_IntegerTensor, "Bitwise or", 0, 0, [Commutative]>;
def Graph_XorOp
    : Graph_BinaryOp<"xor", Graph_IntegerTensor, "Bitwise exclusive or", 0, 0, [Commutative]>;
def Graph_ShiftLeftOp : Graph_BinaryOp<"shift_left", Graph_IntegerTensor,
    "x * 2^y; 0 where y is negative or not below the width">;
def Graph_ShiftRightLogicalOp : Graph_BinaryOp<"shift_right_logical", Graph_IntegerTensor,
    "x shifted right, zeros coming in; 0 where y is negative or not below the width">;

def Graph_CompareOp : Graph_Op<"compare", [Graph_PartitionByClone]> {
  let summary = "Compares elements";
  let description = [{
    A comparison with NaN is false, except `ne`, which is true.

    ```mlir
    %2 = graph.compare lt %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins Graph_CompareDirectionAttr:$direction, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_PredicateTensor:$result);
  let builders = [OpBuilder<(ins "CompareDirection":$direction, "::mlir::Value":$lhs,
                                 "::mlir::Value":$rhs)>];
  let assemblyFormat = "$direction $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Ternary
//===----------------------------------------------------------------------===//

def Graph_SelectOp : Graph_Op<"select", [Graph_PartitionByClone, Graph_Differentiable]> {
  let summary = "Takes elements of one of two tensors, by a predicate";
  let description = [{
    ```mlir
    %3 = graph.select %p, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_PredicateTensor:$predicate, Graph_Tensor:$on_true,
                       Graph_Tensor:$on_false);
  let results = (outs Graph_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$predicate, "::mlir::Value":$onTrue,
                                 "::mlir::Value":$onFalse), [{
    build($_builder, $_state, onTrue.getType(), predicate, onTrue, onFalse);
  }]>];
  let assemblyFormat = "$predicate `,` $on_true `,` $on_false attr-dict `:` "
                       "functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ClampOp : Graph_ElementwiseOp<"clamp", 0, 0, [Graph_Differentiable]> {
  let summary = "minimum(maximum(x, low), high)";
  let description = [{
    ```mlir
    %3 = graph.clamp %low, %x, %high : tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$low, Graph_NumberTensor:$operand,
                       Graph_NumberTensor:$high);
  let results = (outs Graph_NumberTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$low, "::mlir::Value":$operand,
                                 "::mlir::Value":$high), [{
    build($_builder, $_state, operand.getType(), low, operand, high);
  }]>];
  let assemblyFormat = "$low `,` $operand `,` $high attr-dict `:` "
                       "custom<SameTypes>(type($low), type($operand), type($high), type($result))";
}

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHELEMENTWISEOPS_TD
