// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Enumerations of the exec dialect; the numbers are those of the schema.

#ifndef CLEAVE_DIALECT_EXEC_IR_EXECENUMS_TD
#define CLEAVE_DIALECT_EXEC_IR_EXECENUMS_TD

include "mlir/IR/EnumAttr.td"

class Exec_Enum<string name, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::cleave::exec";
  let genSpecializedAttr = 0;
}

def Exec_Region : Exec_Enum<"Region", "where a buffer lies",
    [I32EnumAttrCase<"State", 0, "state">, I32EnumAttrCase<"Input", 1, "input">,
     I32EnumAttrCase<"Output", 2, "output">, I32EnumAttrCase<"Stash", 3, "stash">,
     I32EnumAttrCase<"Scratch", 4, "scratch">, I32EnumAttrCase<"Host", 5, "host">,
     I32EnumAttrCase<"Workspace", 6, "workspace">]>;

def Exec_CollectiveKind : Exec_Enum<"CollectiveKind", "which collective",
    [I32EnumAttrCase<"AllReduce", 0, "all_reduce">, I32EnumAttrCase<"AllGather", 1, "all_gather">,
     I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">,
     I32EnumAttrCase<"AllToAll", 3, "all_to_all">, I32EnumAttrCase<"AllSlice", 4, "all_slice">,
     I32EnumAttrCase<"Permute", 5, "permute">]>;

def Exec_StateKind : Exec_Enum<"StateKind", "what a state is for",
    [I32EnumAttrCase<"Weight", 0, "weight">, I32EnumAttrCase<"Gradient", 1, "gradient">,
     I32EnumAttrCase<"Optimizer", 2, "optimizer">, I32EnumAttrCase<"Cache", 3, "cache">,
     I32EnumAttrCase<"Other", 4, "other">]>;

#endif // CLEAVE_DIALECT_EXEC_IR_EXECENUMS_TD
