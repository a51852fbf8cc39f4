// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations of the cleave dialect. Including this file gives the whole dialect.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVEOPS_H
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVEOPS_H

#include "cleave/Dialect/Cleave/IR/CleaveAttributes.h"
#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "cleave/Dialect/Cleave/IR/CleaveInterfaces.h"
#include "cleave/Dialect/Cleave/IR/CleaveTypes.h"
#include "cleave/Dialect/Cleave/IR/PartitionInfo.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "cleave/Dialect/Cleave/IR/CleaveOps.h.inc"

#define GET_OP_CLASSES
#include "cleave/Dialect/Cleave/IR/CleaveCollectiveOps.h.inc"

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVEOPS_H
