// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which persistent tensor a value is a form of.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_STATEOFVALUE_H
#define CLEAVE_DIALECT_CLEAVE_IR_STATEOFVALUE_H

#include "mlir/IR/Value.h"

namespace cleave {

/// The argument with `cleave.state` that the value is, or is made of by ops without side effects
/// that have no other operand (conversions, constraints, reshapes); null if there is none.
mlir::BlockArgument stateArgumentOf(mlir::Value value);

} // namespace cleave

#endif // CLEAVE_DIALECT_CLEAVE_IR_STATEOFVALUE_H
