// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "core/expr.h"

#include <algorithm>

namespace cleave::rt {
namespace {
constexpr size_t kMaxStack = 64;
}

Status checkExpr(const fb::Expr &expr, size_t numAxisLists, uint32_t repetitions) {
  const flatbuffers::Vector<int64_t> &code = *expr.code();
  if (code.size() == 0 || code.size() % 2 != 0)
    return absl::DataLossError(
        absl::StrCat("an expression has ", code.size(), " words, not pairs of them"));
  size_t depth = 0;
  for (flatbuffers::uoffset_t i = 0; i < code.size(); i += 2) {
    int64_t op = code[i], arg = code[i + 1];
    if (op < 0 || op > int64_t(ExprOp::Repetition))
      return absl::DataLossError(absl::StrCat("an expression has unknown operation ", op));
    if (op == int64_t(ExprOp::Const) || op == int64_t(ExprOp::Coord) ||
        op == int64_t(ExprOp::Repetition)) {
      if (op == int64_t(ExprOp::Repetition) && arg != int64_t(repetitions))
        return absl::DataLossError(absl::StrCat("an expression names one of ", arg,
                                                " repetitions, in a segment of ", repetitions));
      if (op == int64_t(ExprOp::Coord) && (arg < 0 || uint64_t(arg) >= numAxisLists))
        return absl::DataLossError(
            absl::StrCat("an expression names axis list ", arg, " of ", numAxisLists));
      if (++depth > kMaxStack)
        return absl::DataLossError("an expression is nested too deeply");
      continue;
    }
    if (arg != 0)
      return absl::DataLossError(
          absl::StrCat("an expression has argument ", arg, " where none is allowed"));
    if (depth < 2)
      return absl::DataLossError("an expression lacks an operand");
    --depth;
  }
  if (depth != 1)
    return absl::DataLossError(absl::StrCat("an expression leaves ", depth, " values, not one"));
  return absl::OkStatus();
}

StatusOr<int64_t> evaluate(const fb::Expr &expr, std::span<const uint32_t> coords,
                           uint32_t repetition) {
  const flatbuffers::Vector<int64_t> &code = *expr.code();
  int64_t stack[kMaxStack];
  size_t top = 0;
  for (flatbuffers::uoffset_t i = 0; i < code.size(); i += 2) {
    ExprOp op = ExprOp(code[i]);
    int64_t arg = code[i + 1];
    if (op == ExprOp::Const) {
      stack[top++] = arg;
      continue;
    }
    if (op == ExprOp::Coord) {
      stack[top++] = coords[size_t(arg)];
      continue;
    }
    if (op == ExprOp::Repetition) {
      stack[top++] = repetition;
      continue;
    }
    int64_t b = stack[--top], a = stack[top - 1], r = 0;
    bool overflow = false;
    switch (op) {
    case ExprOp::Add:
      overflow = __builtin_add_overflow(a, b, &r);
      break;
    case ExprOp::Sub:
      overflow = __builtin_sub_overflow(a, b, &r);
      break;
    case ExprOp::Mul:
      overflow = __builtin_mul_overflow(a, b, &r);
      break;
    case ExprOp::Min:
      r = std::min(a, b);
      break;
    case ExprOp::Max:
      r = std::max(a, b);
      break;
    default: {
      if (b == 0)
        return absl::DataLossError("an expression divides by zero");
      if (b == -1) { // the only quotient that can overflow
        overflow = op == ExprOp::FloorDiv && __builtin_sub_overflow(int64_t(0), a, &r);
        break;
      }
      int64_t quotient = a / b;
      if (a % b != 0 && ((a < 0) != (b < 0)))
        --quotient;
      r = op == ExprOp::FloorDiv ? quotient : a - b * quotient;
      break;
    }
    }
    if (overflow)
      return absl::DataLossError("an expression overflows");
    stack[top - 1] = r;
  }
  return stack[0];
}

static bool uses(const fb::Expr &expr, ExprOp op) {
  for (flatbuffers::uoffset_t i = 0; i < expr.code()->size(); i += 2)
    if (expr.code()->Get(i) == int64_t(op))
      return true;
  return false;
}

bool dependsOnDevice(const fb::Expr &expr) { return uses(expr, ExprOp::Coord); }
bool dependsOnRepetition(const fb::Expr &expr) { return uses(expr, ExprOp::Repetition); }

} // namespace cleave::rt
