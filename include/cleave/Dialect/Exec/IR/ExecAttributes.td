// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attributes of the exec dialect.

#ifndef CLEAVE_DIALECT_EXEC_IR_EXECATTRIBUTES_TD
#define CLEAVE_DIALECT_EXEC_IR_EXECATTRIBUTES_TD

include "cleave/Dialect/Cleave/IR/CleaveAttributes.td"
include "cleave/Dialect/Exec/IR/ExecDialect.td"
include "cleave/Dialect/Exec/IR/ExecEnums.td"
include "mlir/IR/AttrTypeBase.td"

class Exec_Attr<string name, string attrMnemonic> : AttrDef<Exec_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Exec_RegionAttr : EnumAttr<Exec_Dialect, Exec_Region, "region"> {
  let assemblyFormat = "$value";
}
def Exec_CollectiveKindAttr : EnumAttr<Exec_Dialect, Exec_CollectiveKind, "collective_kind"> {
  let assemblyFormat = "$value";
}
def Exec_StateKindAttr : EnumAttr<Exec_Dialect, Exec_StateKind, "state_kind"> {
  let assemblyFormat = "$value";
}

def Exec_ExprAttr : Exec_Attr<"Expr", "expr"> {
  let summary = "number that depends on the rank";
  let description = [{
    Postfix code over 64-bit integers: a number, `coord N` (the device's mixed-radix digit along axis
    list N of the entry), `repetition N` (the number of the repetition, of N), or one of `add`, `sub`,
    `mul`, `min`, `max`, `div` (rounds down), `rem`.

    ```mlir
    #exec.expr<coord 0, 64, mul, 509, min>     // min(coord * 64, 509)
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t", "pairs of opcode and argument">:$code);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    enum Opcode : int64_t { Const, Coord, Add, Sub, Mul, Min, Max, FloorDiv, Rem, Repetition };
    static ExprAttr getConstant(::mlir::MLIRContext *context, int64_t value);
    /// The value if it does not depend on the rank.
    std::optional<int64_t> getConstant();
    /// The value for a device with these coordinates, one an axis list; none if it overflows,
    /// divides by zero or depends on the repetition.
    std::optional<int64_t> evaluate(::llvm::ArrayRef<int64_t> coordinates);
    /// Bounds for coordinates in [0, sizes[i]); none where an intermediate value may overflow.
    std::optional<std::pair<int64_t, int64_t>> bounds(::llvm::ArrayRef<int64_t> sizes);
  }];
}

def Exec_TensorAttr : Exec_Attr<"Tensor", "tensor"> {
  let summary = "named tensor of an entry's signature";
  let description = [{
    Global type, sharding, and the place of each device's local (padded) part in its region. An input
    may have a default: the number that all its elements have where none are given.

    ```mlir
    #exec.tensor<"logits", tensor<2x8x509xf32>, <@mesh, [{"dp"}, {}, {"tp"} ]>, offset = 0,
                 bytes = 4096>
    #exec.tensor<"learning_rate", tensor<f32>, <@mesh, []>, offset = 0, bytes = 4, default = 3.0e-4 : f64>
    ```
  }];
  let parameters = (ins StringRefParameter<"name">:$name,
                        "::mlir::RankedTensorType":$type,
                        "::cleave::ShardingAttr":$sharding,
                        "int64_t":$offset, "int64_t":$bytes,
                        OptionalParameter<"::mlir::FloatAttr">:$defaultValue);
  let assemblyFormat =
      "`<` $name `,` $type `,` $sharding `,` `offset` `=` $offset `,` `bytes` `=` $bytes "
      "(`,` `default` `=` $defaultValue^)? `>`";
}

def Exec_DropoutAttr : Exec_Attr<"Dropout", "dropout"> {
  let summary = "which weights of attention are dropped";
  let description = [{
    The schema has the exact meaning. `position` is that of the device's first weight; `strides` are those
    of batch, query, KV head and group.

    ```mlir
    #exec.dropout<threshold = 429496730, site = 7, scale = 1.25 : f64, position = <coord 0, 512, mul>,
                  strides = [1024, 64, 512, 256]>
    ```
  }];
  let parameters = (ins "int64_t":$threshold, "int64_t":$site, "::mlir::FloatAttr":$scale,
                        "::cleave::exec::ExprAttr":$position,
                        ArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = "`<` `threshold` `=` $threshold `,` `site` `=` $site `,` `scale` `=` $scale `,` "
                       "`position` `=` $position `,` `strides` `=` `[` $strides `]` `>`";
  let genVerifyDecl = 1;
}

#endif // CLEAVE_DIALECT_EXEC_IR_EXECATTRIBUTES_TD
