// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The graph dialect and its attributes.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHDIALECT_H
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHDIALECT_H

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "llvm/ADT/APFloat.h"

#include "cleave/Dialect/Graph/IR/GraphEnums.h.inc"

#include "cleave/Dialect/Graph/IR/GraphDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "cleave/Dialect/Graph/IR/GraphAttributes.h.inc"

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHDIALECT_H
