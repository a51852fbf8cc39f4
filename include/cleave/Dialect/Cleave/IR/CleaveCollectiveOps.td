// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The collectives, plain and started.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVECOLLECTIVEOPS_TD
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVECOLLECTIVEOPS_TD

include "cleave/Dialect/Cleave/IR/CleaveAttributes.td"
include "cleave/Dialect/Cleave/IR/CleaveInterfaces.td"
include "cleave/Dialect/Cleave/IR/CleaveTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// What a collective has besides its operand and sharding. Each part gives the arguments, the text of
// the assembly format and the bodies of the interface's methods.
class Cleave_CollectiveParts<dag args, string format, string axesBody, string dimBody,
                             string dim2Body, string reductionBody> {
  dag arguments = args;
  string assembly = format;
  string axes = axesBody;
  string dim = dimBody;
  string dim2 = dim2Body;
  string reduction = reductionBody;
}

class Cleave_CollectiveOp<string mnemonic, string kind, bit start, Cleave_CollectiveParts parts,
                          list<Trait> traits>
    : Op<Cleave_Dialect, mnemonic,
         !listconcat(traits, [DeclareOpInterfaceMethods<Cleave_CollectiveOpInterface>])> {
  let arguments = !con((ins AnyRankedTensor:$tensor), parts.arguments,
                       (ins OptionalAttr<Cleave_ShardingAttr>:$sharding));
  let assemblyFormat = "$tensor " # parts.assembly #
      " (`sharding` `` `=` `` $sharding^)? attr-dict `:` "
      "custom<OperandAndResultType>(type($tensor), type($result))";
  let extraClassDefinition = [{
    ::cleave::CollectiveKind $cppClass::getCollectiveKind() {
      return ::cleave::CollectiveKind::}] # kind # [{;
    }
    bool $cppClass::isStart() { return }] # !if(start, "true", "false") # [{; }
    ::mlir::Value $cppClass::getTensorOperand() { return getTensor(); }
    ::mlir::Value $cppClass::getTensorResult() { return getResult(); }
    ::cleave::AxisListAttr $cppClass::getCollectiveAxes() { return }] # parts.axes # [{; }
    std::optional<int64_t> $cppClass::getCollectiveDim() { return }] # parts.dim # [{; }
    std::optional<int64_t> $cppClass::getCollectiveDim2() { return }] # parts.dim2 # [{; }
    ::cleave::Reduction $cppClass::getCollectiveReduction() { return }] # parts.reduction # [{; }
    ::cleave::ShardingAttr $cppClass::getCollectiveSharding() { return getShardingAttr(); }
    void $cppClass::setCollectiveSharding(::cleave::ShardingAttr sharding) {
      setShardingAttr(sharding);
    }
  }];
}

multiclass Cleave_Collective<string mnemonic, string kind, Cleave_CollectiveParts parts,
                             string text, string example> {
  def Op : Cleave_CollectiveOp<mnemonic, kind, 0, parts, [Pure]> {
    let summary = text;
    let description = "```mlir\n" # example # "\n```\n";
    let results = (outs AnyRankedTensor:$result);
  }
  // Not pure: two equal starts are two transfers, and each has its own `cleave.done`.
  def StartOp : Cleave_CollectiveOp<mnemonic # "_start", kind, 1, parts, []> {
    let summary = "Starts: " # text;
    let description = "Like `cleave." # mnemonic # "`, with a token for `cleave.done`. The tensor may "
                      "only be used there.\n";
    let results = (outs AnyRankedTensor:$result, Cleave_TokenType:$token);
  }
}

defvar reduceParts = Cleave_CollectiveParts<
    (ins Cleave_ReductionAttr:$reduction, Cleave_AxisListAttr:$axes),
    "custom<Reduction>($reduction) `over` custom<AxisList>($axes)",
    "getAxesAttr()", "std::nullopt", "std::nullopt", "getReduction().getValue()">;
defvar reduceScatterParts = Cleave_CollectiveParts<
    (ins Cleave_ReductionAttr:$reduction, Cleave_AxisListAttr:$axes, I64Attr:$dim),
    "custom<Reduction>($reduction) `over` custom<AxisList>($axes) `dim` $dim",
    "getAxesAttr()", "getDim()", "std::nullopt", "getReduction().getValue()">;
defvar oneDimParts = Cleave_CollectiveParts<
    (ins Cleave_AxisListAttr:$axes, I64Attr:$dim),
    "`over` custom<AxisList>($axes) `dim` $dim",
    "getAxesAttr()", "getDim()", "std::nullopt", "::cleave::Reduction::Sum">;
defvar twoDimParts = Cleave_CollectiveParts<
    (ins Cleave_AxisListAttr:$axes, I64Attr:$dim, I64Attr:$dim2),
    "`over` custom<AxisList>($axes) `dim` $dim `to` $dim2",
    "getAxesAttr()", "getDim()", "getDim2()", "::cleave::Reduction::Sum">;
defvar permuteParts = Cleave_CollectiveParts<
    (ins), "", "{}", "std::nullopt", "std::nullopt", "::cleave::Reduction::Sum">;

defm Cleave_AllReduce : Cleave_Collective<"all_reduce", "AllReduce", reduceParts,
    "Combines a partial value over `axes`",
    [{%1 = cleave.all_reduce %0 sum over ["tp"] sharding=<@mesh, [{}, {} ]> : tensor<8x16xf32>}]>;

defm Cleave_AllGather : Cleave_Collective<"all_gather", "AllGather", oneDimParts,
    "Removes `axes`, the minor ones of dimension `dim`, by gathering the shards",
    [{%1 = cleave.all_gather %0 over ["tp"] dim 1 sharding=<@mesh, [{}, {} ]> : tensor<8x16xf32>}]>;

defm Cleave_ReduceScatter : Cleave_Collective<"reduce_scatter", "ReduceScatter", reduceScatterParts,
    "Combines a partial value over `axes`, by which dimension `dim` becomes sharded (minor)",
    [{%1 = cleave.reduce_scatter %0 sum over ["tp"] dim 1 sharding=<@mesh, [{}, {"tp"} ]>
    : tensor<8x16xf32>}]>;

defm Cleave_AllToAll : Cleave_Collective<"all_to_all", "AllToAll", twoDimParts,
    "Moves `axes` from the minor end of dimension `dim` to the minor end of `dim2`",
    [{%1 = cleave.all_to_all %0 over ["tp"] dim 0 to 1 sharding=<@mesh, [{}, {"tp"} ]>
    : tensor<8x16xf32>}]>;

defm Cleave_AllSlice : Cleave_Collective<"all_slice", "AllSlice", oneDimParts,
    "Shards dimension `dim` by `axes` (minor): each device keeps its part, nothing is sent",
    [{%1 = cleave.all_slice %0 over ["tp"] dim 1 sharding=<@mesh, [{}, {"tp"} ]> : tensor<8x16xf32>}]>;

defm Cleave_CollectivePermute : Cleave_Collective<"collective_permute", "CollectivePermute",
    permuteParts,
    "Moves whole local blocks between devices: the same local shape under another sharding",
    [{%1 = cleave.collective_permute %0 sharding=<@mesh, [{"tp"}, {"dp"} ]> : tensor<8x16xf32>}]>;

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVECOLLECTIVEOPS_TD
