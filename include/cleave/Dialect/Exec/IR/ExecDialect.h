// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The exec dialect: what a rank does.

#ifndef CLEAVE_DIALECT_EXEC_IR_EXECDIALECT_H
#define CLEAVE_DIALECT_EXEC_IR_EXECDIALECT_H

#include "mlir/IR/Dialect.h"

#include "cleave/Dialect/Exec/IR/ExecDialect.h.inc"

#endif // CLEAVE_DIALECT_EXEC_IR_EXECDIALECT_H
