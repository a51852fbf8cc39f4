// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Enumerations of the graph dialect.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHENUMS_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHENUMS_TD

include "mlir/IR/EnumAttr.td"

class Graph_Enum<string name, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::cleave::graph";
  let genSpecializedAttr = 0;
}

def Graph_CompareDirection : Graph_Enum<"CompareDirection", "how two elements are compared",
    [I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">,
     I32EnumAttrCase<"LT", 2, "lt">, I32EnumAttrCase<"LE", 3, "le">,
     I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]>;

def Graph_ReduceKind : Graph_Enum<"ReduceKind", "how elements are combined",
    [I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
     I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Prod", 3, "prod">]>;

def Graph_GeluApproximation : Graph_Enum<"GeluApproximation", "formula of gelu",
    [I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Tanh", 1, "tanh">]>;

def Graph_RopeScalingKind : Graph_Enum<"RopeScalingKind", "scaling of rotary frequencies",
    [I32EnumAttrCase<"Linear", 0, "linear">, I32EnumAttrCase<"Llama3", 1, "llama3">]>;

def Graph_RandomDistribution : Graph_Enum<"RandomDistribution", "distribution of random numbers",
    [I32EnumAttrCase<"Uniform", 0, "uniform">, I32EnumAttrCase<"Normal", 1, "normal">]>;

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHENUMS_TD
