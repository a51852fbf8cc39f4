// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The cleave dialect: the sharding language.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVEDIALECT_TD
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVEDIALECT_TD

include "mlir/IR/DialectBase.td"

def Cleave_Dialect : Dialect {
  let name = "cleave";
  let cppNamespace = "::cleave";
  let summary = "The sharding language: meshes, shardings, collectives.";
  let description = [{
    The dialect says how tensors are spread over a mesh of devices, and holds the collectives that
    move them. Its semantics follow OpenXLA Shardy (`sdy`).

    ## Where shardings live

    | place | attribute |
    |---|---|
    | argument or result of a function | `cleave.sharding` on the argument or result |
    | results of any op | discardable `cleave.shardings`, an array with one entry a result |
    | results of the ops of this dialect | their own `sharding` attribute |

    Logical axis names sit beside them: `cleave.logical` on an argument, and on an op as an array
    with one entry a result. An op may carry a `cleave.sharding_rule` that overrides its own.

    ## Global and local form

    Before partition every tensor has its global type and the shardings above (the *global form*).
    After partition the tensor type has the local shape and a `#cleave.shard` encoding (the *local
    form*), and a function has the attribute `cleave.mesh`. Collectives exist in both forms.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let extraClassDeclaration = [{
    /// Registration, one function a group, each beside its definitions.
    void registerAttributes();
    void registerTypes();
    void registerOps();

    /// `cleave.sharding`: a #cleave.sharding on a function's argument or result.
    static constexpr ::llvm::StringLiteral kShardingAttr = "cleave.sharding";
    /// `cleave.shardings`: an array of #cleave.sharding on an op, one a result.
    static constexpr ::llvm::StringLiteral kShardingsAttr = "cleave.shardings";
    /// `cleave.logical`: a #cleave.logical on an argument; an array of them on an op.
    static constexpr ::llvm::StringLiteral kLogicalAttr = "cleave.logical";
    /// `cleave.sharding_rule`: a #cleave.sharding_rule on an op, overriding the op's own.
    static constexpr ::llvm::StringLiteral kShardingRuleAttr = "cleave.sharding_rule";
    /// `cleave.mesh`: on a function in local form, the mesh that its types name.
    static constexpr ::llvm::StringLiteral kMeshAttr = "cleave.mesh";
    /// `cleave.reason`: a string on a collective or reshard, the op and factor that caused it.
    static constexpr ::llvm::StringLiteral kReasonAttr = "cleave.reason";
    /// `cleave.state`: on an argument or result, the symbol of the state it reads or updates.
    static constexpr ::llvm::StringLiteral kStateAttr = "cleave.state";
    /// `cleave.input`, `cleave.output`: the name of an entry's argument or result.
    static constexpr ::llvm::StringLiteral kInputAttr = "cleave.input";
    static constexpr ::llvm::StringLiteral kOutputAttr = "cleave.output";
    /// `cleave.default`: on an argument with `cleave.input`, the number that it has where none is given.
    static constexpr ::llvm::StringLiteral kDefaultAttr = "cleave.default";
    /// `cleave.entry`: unit attribute of the functions that a user can run.
    static constexpr ::llvm::StringLiteral kEntryAttr = "cleave.entry";
    /// `cleave.block`, `cleave.instance`: name and number of the repeated block an op belongs to.
    static constexpr ::llvm::StringLiteral kBlockAttr = "cleave.block";
    static constexpr ::llvm::StringLiteral kInstanceAttr = "cleave.instance";
  }];
}

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVEDIALECT_TD
