// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the cleave dialect.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVETYPES_H
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVETYPES_H

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "mlir/IR/BuiltinTypes.h"

#define GET_TYPEDEF_CLASSES
#include "cleave/Dialect/Cleave/IR/CleaveTypes.h.inc"

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVETYPES_H
