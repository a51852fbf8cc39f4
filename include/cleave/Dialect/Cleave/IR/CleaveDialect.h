// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The cleave dialect: the sharding language.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVEDIALECT_H
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVEDIALECT_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dialect.h"

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h.inc"

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVEDIALECT_H
