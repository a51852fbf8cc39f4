// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attributes of the cleave dialect.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVEATTRIBUTES_TD
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVEATTRIBUTES_TD

include "cleave/Dialect/Cleave/IR/CleaveDialect.td"
include "cleave/Dialect/Cleave/IR/CleaveEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"

class Cleave_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Cleave_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

/// A plain value of the Layout library, held by the attribute's storage.
class Cleave_ValueParameter<string type, string desc>
    : AttrParameter<type, desc, "const " # type # " &">;

def Cleave_ReductionParameter
    : AttrParameter<"::cleave::Reduction", "how partial values combine">;

def Cleave_MeshAttr : Cleave_Attr<"Mesh", "mesh_shape"> {
  let summary = "names and sizes of a mesh's axes";
  let description = [{
    A grid of logical devices, `<["dp"=2, "tp"=4]>`; the last axis is the minor one. With
    `device_ids=[...]` the list gives the physical device of each row-major position; without it
    the order is the identity. A mesh without axes has one device, whose number may be given:
    `<[], device_ids=[3]>`.
  }];
  let parameters = (ins Cleave_ValueParameter<"::cleave::Mesh", "the mesh">:$mesh);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static ::llvm::LogicalResult
    verify(::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
           ::llvm::ArrayRef<::cleave::Mesh::Axis> axes, ::llvm::ArrayRef<int64_t> deviceIds);
  }];
}

def Cleave_AxisRefAttr : Cleave_Attr<"AxisRef", "axis"> {
  let summary = "mesh axis or a part of one";
  let description = [{
    `"tp"` is the whole axis. An axis of size n can be read as pre-size x size x rest, major to
    minor; `"tp":(2)2` is its part with pre-size 2 and size 2.
  }];
  let parameters = (ins StringRefParameter<"name of the axis">:$name,
                        AttrParameter<"int64_t", "0 for a whole axis">:$preSize,
                        AttrParameter<"int64_t", "0 for a whole axis">:$size);
  let builders = [AttrBuilder<(ins "::llvm::StringRef":$name), [{
    return $_get($_ctxt, name, 0, 0);
  }]>];
  let extraClassDeclaration = [{
    bool isSubAxis() const { return getSize() != 0; }
    /// As written in the IR: `"tp"` or `"tp":(2)2`.
    std::string toString() const;
  }];
}

def Cleave_AxisListAttr : Cleave_Attr<"AxisList", "axes"> {
  let summary = "list of axes, major to minor";
  let description = [{ `<["dp", "tp":(1)2]>`. }];
  let parameters = (ins OptionalArrayRefParameter<"::cleave::AxisRefAttr", "the axes">:$axes);
  let extraClassDeclaration = [{
    bool empty() const { return getAxes().empty(); }
  }];
}

def Cleave_DimShardingAttr : Cleave_Attr<"DimSharding", "dim_sharding"> {
  let summary = "axes that shard one dimension";
  let description = [{
    `{"dp", "tp"}` is closed: propagation adds no axis. `{"dp", ?}` is open. A `p1` behind it is a
    priority: dimensions of priority 0 (the default) are propagated first.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::cleave::AxisRefAttr", "major to minor">:$axes,
                        AttrParameter<"bool", "no axis may be added">:$isClosed,
                        AttrParameter<"std::optional<int64_t>", "0 is first">:$priority);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<::cleave::AxisRefAttr>":$axes,
                                   "bool":$isClosed), [{
    return $_get($_ctxt, axes, isClosed, std::nullopt);
  }]>];
  let extraClassDeclaration = [{
    bool empty() const { return getAxes().empty(); }
    int64_t getPriorityOrDefault() const { return getPriority().value_or(0); }
  }];
}

def Cleave_ShardingAttr : Cleave_Attr<"Sharding", "sharding"> {
  let summary = "how a tensor lies on a mesh";
  let description = [{
    ```mlir
    #cleave.sharding<@mesh, [{"dp"}, {"tp", ?}p1, {} ], replicated={"x"}, unreduced={"y"}>
    ```

    One list of axes a dimension; `replicated` names axes over which the value must stay replicated;
    `unreduced` names axes over which it is still partial, waiting for a sum (or
    `unreduced=max{"y"}`, `unreduced=min{"y"}`). An axis may stand in one of the lists only.
    `replicated` and `unreduced` are in the mesh's order.
  }];
  let parameters = (ins
      AttrParameter<"::mlir::FlatSymbolRefAttr", "the mesh's symbol">:$mesh,
      OptionalArrayRefParameter<"::cleave::DimShardingAttr", "one a dimension">:$dimShardings,
      OptionalArrayRefParameter<"::cleave::AxisRefAttr", "in mesh order">:$replicatedAxes,
      OptionalArrayRefParameter<"::cleave::AxisRefAttr", "in mesh order">:$unreducedAxes,
      Cleave_ReductionParameter:$reduction);
  let builders = [AttrBuilderWithInferredContext<(ins
      "::mlir::FlatSymbolRefAttr":$mesh,
      "::llvm::ArrayRef<::cleave::DimShardingAttr>":$dimShardings,
      CArg<"::llvm::ArrayRef<::cleave::AxisRefAttr>", "{}">:$replicatedAxes,
      CArg<"::llvm::ArrayRef<::cleave::AxisRefAttr>", "{}">:$unreducedAxes,
      CArg<"::cleave::Reduction", "::cleave::Reduction::Sum">:$reduction), [{
    return $_get(mesh.getContext(), mesh, dimShardings, replicatedAxes, unreducedAxes, reduction);
  }]>];
  let extraClassDeclaration = [{
    unsigned getRank() const { return getDimShardings().size(); }
    /// All dimensions unsharded and open.
    static ShardingAttr getFullyOpen(::mlir::FlatSymbolRefAttr mesh, unsigned rank);
    /// All dimensions unsharded and closed.
    static ShardingAttr getFullyClosed(::mlir::FlatSymbolRefAttr mesh, unsigned rank);
    /// The same sharding with every dimension closed and without priorities.
    ShardingAttr getClosed() const;
    /// The same sharding without unreduced axes.
    ShardingAttr getReduced() const;
  }];
}

def Cleave_LogicalAxesAttr : Cleave_Attr<"LogicalAxes", "logical"> {
  let summary = "logical names of a tensor's dimensions";
  let description = [{
    `#cleave.logical<["embed", "mlp"]>`, one name a dimension. A strategy is a table from these names
    to mesh axes. An empty name marks a dimension that no strategy may shard.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::mlir::StringAttr", "one a dimension">:$names);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<::llvm::StringRef>":$names), [{
    ::llvm::SmallVector<::mlir::StringAttr> attrs;
    for (::llvm::StringRef name : names)
      attrs.push_back(::mlir::StringAttr::get($_ctxt, name));
    return $_get($_ctxt, attrs);
  }]>];
  let extraClassDeclaration = [{
    unsigned getRank() const { return getNames().size(); }
    /// The dimension of this name, if there is one.
    std::optional<unsigned> find(::llvm::StringRef name) const;
  }];
}

def Cleave_ShardAttr : Cleave_Attr<"Shard", "shard", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "encoding of a local tensor type: which part of which global tensor it is";
  let description = [{
    ```mlir
    tensor<3x16xf32, #cleave.shard<@mesh, [{"dp"}, {} ], global=[6, 16]>>
    ```

    The local size of a dimension is ceil(global / shards). What lies beyond the global size in the
    last shards is padding; its content is unspecified. A partial value names the axes over which it
    waits for a reduction: `unreduced={"tp"}`.
  }];
  let parameters = (ins
      AttrParameter<"::mlir::FlatSymbolRefAttr", "the mesh's symbol">:$mesh,
      OptionalArrayRefParameter<"::cleave::AxisListAttr", "one a dimension">:$dimAxes,
      OptionalArrayRefParameter<"int64_t", "global shape">:$globalShape,
      OptionalArrayRefParameter<"::cleave::AxisRefAttr", "in mesh order">:$unreducedAxes,
      Cleave_ReductionParameter:$reduction);
  let builders = [AttrBuilderWithInferredContext<(ins
      "::mlir::FlatSymbolRefAttr":$mesh,
      "::llvm::ArrayRef<::cleave::AxisListAttr>":$dimAxes,
      "::llvm::ArrayRef<int64_t>":$globalShape,
      CArg<"::llvm::ArrayRef<::cleave::AxisRefAttr>", "{}">:$unreducedAxes,
      CArg<"::cleave::Reduction", "::cleave::Reduction::Sum">:$reduction), [{
    return $_get(mesh.getContext(), mesh, dimAxes, globalShape, unreducedAxes, reduction);
  }]>];
  let genVerifyDecl = 1;
}

def Cleave_ReductionAttr : Cleave_Attr<"Reduction", "reduction"> {
  let summary = "how partial values combine: sum, max or min";
  let parameters = (ins Cleave_ReductionParameter:$value);
}

def Cleave_ShardingRuleAttr : Cleave_Attr<"ShardingRule", "sharding_rule"> {
  let summary = "how an op's dimensions decompose into factors";
  let description = [{
    ```mlir
    #cleave.sharding_rule<([i, k], [k, j]) -> ([i, j]) {i=8, j=16, k=32} reduction={k}>
    ```

    Each operand and result lists its dimensions, each dimension the factors (iteration dimensions)
    that make it up, major to minor: `[ij]` is a dimension made of two factors, `[]` a tensor
    without dimensions, `_` a dimension of size 1 without a factor. Factors are named `i` to `z`,
    then `z_1`, `z_2` and so on, in the order of the list of sizes.

    A factor is pass-through unless it is listed: `reduction={k}` (`reduction=max{k}` and `min`
    for other kinds), `need_replication={j}`, `permutation={i}`. `via_decomposition={k}` marks
    factors for which a sharded op is replaced by its decomposition; `pad_safe={k}` reductions whose
    padding the op never reads. `jointly_linear=[0, 1]` and `separately_linear=[0]` list the operands
    in which the op is linear, and `priority=1` is the op's priority in propagation.
  }];
  let parameters = (ins Cleave_ValueParameter<"::cleave::FactorRule", "the rule">:$rule);
}

def Cleave_PropagationDirectionAttr
    : EnumAttr<Cleave_Dialect, Cleave_PropagationDirection, "direction">;

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVEATTRIBUTES_TD
