// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the ODS files of the exec dialect share.

#ifndef CLEAVE_DIALECT_EXEC_IR_EXECBASE_TD
#define CLEAVE_DIALECT_EXEC_IR_EXECBASE_TD

include "cleave/Dialect/Exec/IR/ExecAttributes.td"
include "cleave/Dialect/Exec/IR/ExecInterfaces.td"
include "cleave/Dialect/Exec/IR/ExecTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

def Exec_TensorArrayAttr : TypedArrayAttrBase<Exec_TensorAttr, "array of tensors">;
def Exec_ExprArrayAttr : TypedArrayAttrBase<Exec_ExprAttr, "array of expressions">;
def Exec_AxisListArrayAttr : TypedArrayAttrBase<Cleave_AxisListAttr, "array of axis lists">;

#endif // CLEAVE_DIALECT_EXEC_IR_EXECBASE_TD
