// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations of the graph dialect. Including this file gives the whole dialect.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHOPS_H
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHOPS_H

#include "cleave/Dialect/Cleave/IR/CleaveInterfaces.h"
#include "cleave/Dialect/Cleave/IR/PartitionInfo.h"
#include "cleave/Dialect/Graph/IR/GraphDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphElementwiseOps.h.inc"

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphShapeOps.h.inc"

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphContractionOps.h.inc"

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphIndexingOps.h.inc"

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphNamedOps.h.inc"

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphControlFlowOps.h.inc"

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphGradientOps.h.inc"

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphOptimizerOps.h.inc"

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHOPS_H
