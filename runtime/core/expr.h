// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Rank-dependent numbers: postfix code over the device's mesh coordinates, evaluated at load.
#ifndef CLEAVE_RUNTIME_CORE_EXPR_H
#define CLEAVE_RUNTIME_CORE_EXPR_H

#include "base/status.h"
#include "cleave/schema/executable_generated.h"
#include <cstdint>
#include <span>

namespace cleave::rt {

enum class ExprOp : int64_t { Const, Coord, Add, Sub, Mul, Min, Max, FloorDiv, Rem, InputScalar };

/// Checks that the code is well formed: known operations, indices below `numAxisLists`, one value
/// left on a stack that never underflows.
Status checkExpr(const fb::Expr &expr, size_t numAxisLists);
/// Evaluates code that checkExpr accepted. `coords` holds the device's coordinate along each axis
/// list. Overflow and division by zero are errors.
StatusOr<int64_t> evaluate(const fb::Expr &expr, std::span<const uint32_t> coords);
/// True if the value is the same on every device.
bool isConstant(const fb::Expr &expr);

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_CORE_EXPR_H
