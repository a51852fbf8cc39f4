// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Numbers that depend on the rank and the repetition: postfix code, evaluated at load.
#ifndef CLEAVE_RUNTIME_CORE_EXPR_H
#define CLEAVE_RUNTIME_CORE_EXPR_H

#include "base/status.h"
#include "cleave/schema/executable_generated.h"
#include <cstdint>
#include <span>

namespace cleave::rt {

enum class ExprOp : int64_t { Const, Coord, Add, Sub, Mul, Min, Max, FloorDiv, Rem, Repetition };

/// Checks that the code is well formed: known operations, indices below `numAxisLists`, the
/// segment's repetitions, one value left on a stack that never underflows.
Status checkExpr(const fb::Expr &expr, size_t numAxisLists, uint32_t repetitions);
/// Evaluates code that checkExpr accepted. `coords` holds the device's coordinate along each axis
/// list. Overflow and division by zero are errors.
StatusOr<int64_t> evaluate(const fb::Expr &expr, std::span<const uint32_t> coords,
                           uint32_t repetition);
/// True if the value may differ from device to device.
bool dependsOnDevice(const fb::Expr &expr);
/// True if the value may differ from repetition to repetition.
bool dependsOnRepetition(const fb::Expr &expr);

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_CORE_EXPR_H
