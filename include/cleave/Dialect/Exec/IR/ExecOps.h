// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations of the exec dialect. Including this file gives the whole dialect.

#ifndef CLEAVE_DIALECT_EXEC_IR_EXECOPS_H
#define CLEAVE_DIALECT_EXEC_IR_EXECOPS_H

#include "cleave/Dialect/Cleave/IR/CleaveAttributes.h"
#include "cleave/Dialect/Exec/IR/ExecDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "cleave/Dialect/Exec/IR/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "cleave/Dialect/Exec/IR/ExecAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "cleave/Dialect/Exec/IR/ExecTypes.h.inc"

#include "cleave/Dialect/Exec/IR/ExecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "cleave/Dialect/Exec/IR/ExecOps.h.inc"

#define GET_OP_CLASSES
#include "cleave/Dialect/Exec/IR/ExecInstructionOps.h.inc"

namespace cleave::exec {

/// Bytes of a tensor's elements: the element type's own size (i1 takes one byte).
int64_t byteSize(mlir::RankedTensorType type);
int64_t elementBytes(mlir::Type elementType);

} // namespace cleave::exec

#endif // CLEAVE_DIALECT_EXEC_IR_EXECOPS_H
