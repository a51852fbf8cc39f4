// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations of the cleave dialect, other than the collectives.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVEOPS_TD
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVEOPS_TD

include "cleave/Dialect/Cleave/IR/CleaveAttributes.td"
include "cleave/Dialect/Cleave/IR/CleaveInterfaces.td"
include "cleave/Dialect/Cleave/IR/CleaveTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Cleave_Op<string mnemonic, list<Trait> traits = []> : Op<Cleave_Dialect, mnemonic, traits>;

def Cleave_ShardingArrayAttr : TypedArrayAttrBase<Cleave_ShardingAttr, "array of shardings">;

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

def Cleave_MeshOp : Cleave_Op<"mesh", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Names a mesh of devices";
  let description = [{
    ```mlir
    cleave.mesh @mesh = <["dp"=2, "tp"=4]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Cleave_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
  let extraClassDeclaration = [{
    /// The mesh as a plain value; lives as long as the context.
    const ::cleave::Mesh &getLayoutMesh() { return getMesh().getMesh(); }
  }];
}

def Cleave_StateOp : Cleave_Op<"state", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "A persistent tensor, shared by all entry points";
  let description = [{
    ```mlir
    cleave.state @"model.layers.0.self_attn.q_proj.weight" : tensor<2x3x16x96xf32>
        {checkpoint = "model.layers.0.self_attn.q_proj.weight", checkpoint_shape = [96, 96],
         logical = #cleave.logical<["kv_heads", "q_groups", "head_dim", "embed"]>, kind = "weight"}
    ```

    The type is the shape in which the program sees the tensor; the checkpoint keeps its own name and
    shape, which holds the same elements in the same row-major order. Arguments read a state by a
    `cleave.state` attribute. One sharding holds for all entry points.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type,
                       OptionalAttr<StrAttr>:$checkpoint,
                       OptionalAttr<DenseI64ArrayAttr>:$checkpoint_shape,
                       OptionalAttr<Cleave_LogicalAxesAttr>:$logical,
                       OptionalAttr<StrAttr>:$kind,
                       OptionalAttr<Cleave_ShardingAttr>:$sharding);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Hints for propagation
//===----------------------------------------------------------------------===//

def Cleave_ShardingConstraintOp : Cleave_Op<"sharding_constraint",
    [Pure, SameOperandsAndResultType,
     DeclareOpInterfaceMethods<Cleave_ShardingRuleOpInterface>,
     DeclareOpInterfaceMethods<Cleave_DifferentiableOpInterface>]> {
  let summary = "Asks for a sharding of a value";
  let description = [{
    The result has the sharding given; where a dimension is open, propagation may add to it. In the
    derivative the gradient of an activation is asked for the same sharding with all dimensions open;
    the gradient of a parameter (an argument with `cleave.state`) is not constrained.

    ```mlir
    %1 = cleave.sharding_constraint %0 <@mesh, [{"dp"}, {?} ]> : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Cleave_ShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Cleave_ShardingGroupOp : Cleave_Op<"sharding_group"> {
  let summary = "Puts a value into a group of values that are sharded alike";
  let description = [{
    All values with the same `group_id` in a function get one sharding.

    ```mlir
    cleave.sharding_group %0 group_id=0 : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$group_id);
  let assemblyFormat = "$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Cleave_PropagationBarrierOp : Cleave_Op<"propagation_barrier",
    [Pure, SameOperandsAndResultType,
     DeclareOpInterfaceMethods<Cleave_ShardingRuleOpInterface>,
     DeclareOpInterfaceMethods<Cleave_DifferentiableOpInterface>]> {
  let summary = "Stops propagation in one or both directions";
  let description = [{
    `FORWARD` lets shardings pass from operand to result only, `BACKWARD` from result to operand
    only, `NONE` in neither direction. In the derivative the same values are kept apart: the gradient
    flows the other way, and so does what may pass.

    ```mlir
    %1 = cleave.propagation_barrier %0 allowed_direction=BACKWARD : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Cleave_PropagationDirectionAttr:$direction);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat =
      "$input `allowed_direction` `` `=` `` custom<Direction>($direction) attr-dict `:` type($input)";
}

def Cleave_ReshardOp : Cleave_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "The same value with another sharding";
  let description = [{
    Unlike a constraint, which propagation reads, a reshard stands where data really moves.

    ```mlir
    %1 = cleave.reshard %0 <@mesh, [{"dp"}, {} ]> : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Cleave_ShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($input)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Local programs
//===----------------------------------------------------------------------===//

def Cleave_DeviceCoordOp : Cleave_Op<"device_coord",
    [Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "This device's coordinate along a list of axes";
  let description = [{
    The linear coordinate, major to minor, in [0, product of the axes' sizes).

    ```mlir
    %c = cleave.device_coord @mesh ["dp", "tp"] : index
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, Cleave_AxisListAttr:$axes);
  let results = (outs Index:$result);
  let assemblyFormat = "$mesh custom<AxisList>($axes) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Cleave_MaskPaddingOp : Cleave_Op<"mask_padding", [Pure, SameOperandsAndResultType]> {
  let summary = "Overwrites the padding of some dimensions";
  let description = [{
    Elements outside the valid extent of the listed dimensions become `fill`; the extent follows from
    the type's encoding and the device's coordinates.

    ```mlir
    %1 = cleave.mask_padding %0 dims [0] fill -inf
        : tensor<2x16xf32, #cleave.shard<@mesh, [{"dp"}, {} ], global=[3, 16]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$dims, TypedAttrInterface:$fill);
  let results = (outs AnyRankedTensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Cleave_DoneOp : Cleave_Op<"done", [TypesMatchWith<"the result has the operand's type", "tensor",
                                                      "result", "$_self">]> {
  let summary = "Waits for a started collective";
  let description = [{
    Takes both results of a start, whose tensor may be used nowhere else, and gives the tensor.

    ```mlir
    %r = cleave.done %t, %token : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tensor, Cleave_TokenType:$token);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$tensor `,` $token attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Manual computation
//===----------------------------------------------------------------------===//

def Cleave_ManualComputationOp : Cleave_Op<"manual_computation",
    [IsolatedFromAbove, RecursiveMemoryEffects, SingleBlock,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
     DeclareOpInterfaceMethods<Cleave_DifferentiableOpInterface>]> {
  let summary = "A body written by hand for some axes of a mesh";
  let description = [{
    The body is local on the manual axes and global on all others. The types of its arguments are
    the operands' types, local over the manual axes of `in_shardings`, with the #cleave.shard encoding
    that says so; `cleave.return` gives values that are local in the same way by `out_shardings`.
    Collectives in the body name manual axes only. A dimension divides evenly over its manual axes,
    which are major to the free ones. There is no derivative.

    ```mlir
    %1 = cleave.manual_computation(%0) in_shardings=[<@mesh, [{"tp"}, {} ]>]
        out_shardings=[<@mesh, [{}, {} ]>] manual_axes=["tp"]
        (%arg0: tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {} ], global=[8, 16]>>) {
      %2 = cleave.all_gather %arg0 over ["tp"] dim 0
          : tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {} ], global=[8, 16]>>
         -> tensor<8x16xf32, #cleave.shard<@mesh, [{}, {} ], global=[8, 16]>>
      cleave.return %2 : tensor<8x16xf32, #cleave.shard<@mesh, [{}, {} ], global=[8, 16]>>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Cleave_ShardingArrayAttr:$in_shardings,
                       Cleave_ShardingArrayAttr:$out_shardings, Cleave_AxisListAttr:$manual_axes);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    /// The mesh that the shardings name; null without operands and results.
    ::mlir::FlatSymbolRefAttr getMeshSymbol();
    /// The sharding of a body's argument over the free axes.
    ::cleave::ShardingAttr getFreeSharding(unsigned argument);
    ::cleave::ShardingAttr getInSharding(unsigned index);
    ::cleave::ShardingAttr getOutSharding(unsigned index);
    /// The axes that are manual here and in the computations around it.
    static ::cleave::AxisList getEnclosingManualAxes(::mlir::Operation *op,
                                                     const ::cleave::Mesh &mesh);
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Cleave_ReturnOp : Cleave_Op<"return",
    [Pure, Terminator, HasParent<"::cleave::ManualComputationOp">]> {
  let summary = "Ends the body of a manual computation";
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVEOPS_TD
