// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attributes of the exec dialect: expressions over the rank's coordinates.

#include "cleave/Dialect/Exec/IR/ExecOps.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cleave::exec;

#include "cleave/Dialect/Exec/IR/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "cleave/Dialect/Exec/IR/ExecAttributes.cpp.inc"

void ExecDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "cleave/Dialect/Exec/IR/ExecAttributes.cpp.inc"
      >();
}

//===-- #exec.expr ---------------------------------------------------------------------------===//

static constexpr StringLiteral kOperators[] = {"add", "sub", "mul", "min", "max", "div", "rem"};

Attribute ExprAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> code;
  auto parseStep = [&]() -> ParseResult {
    int64_t number;
    if (OptionalParseResult parsed = parser.parseOptionalInteger(number); parsed.has_value()) {
      code.append({Const, number});
      return *parsed;
    }
    StringRef keyword;
    SMLoc location = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    if (keyword == "coord" || keyword == "repetition") {
      if (parser.parseInteger(number))
        return failure();
      code.append({keyword == "coord" ? Coord : Repetition, number});
      return success();
    }
    const auto *found = llvm::find(kOperators, keyword);
    if (found == std::end(kOperators))
      return parser.emitError(location, "expected a number, 'coord', 'repetition' or an operator");
    code.append({Add + (found - kOperators), 0});
    return success();
  };
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseStep))
    return {};
  return getChecked([&] { return parser.emitError(location); }, parser.getContext(), code);
}

void ExprAttr::print(AsmPrinter &printer) const {
  printer << "<";
  ArrayRef<int64_t> code = getCode();
  for (size_t i = 0; i < code.size(); i += 2) {
    printer << (i ? ", " : "");
    if (code[i] == Const)
      printer << code[i + 1];
    else if (code[i] == Coord)
      printer << "coord " << code[i + 1];
    else if (code[i] == Repetition)
      printer << "repetition " << code[i + 1];
    else
      printer << kOperators[code[i] - Add];
  }
  printer << ">";
}

/// A number, not an operator on numbers.
static bool isLeaf(int64_t opcode) {
  return opcode == ExprAttr::Const || opcode == ExprAttr::Coord || opcode == ExprAttr::Repetition;
}

LogicalResult ExprAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> code) {
  if (code.size() % 2)
    return emitError() << "code is made of pairs";
  int64_t depth = 0;
  for (size_t i = 0; i < code.size(); i += 2) {
    if (code[i] < Const || code[i] > Repetition)
      return emitError() << "no operator has number " << code[i];
    if (code[i] == Coord && code[i + 1] < 0)
      return emitError() << "the number of an axis list is negative";
    if (code[i] == Repetition && code[i + 1] < 1)
      return emitError() << "expected at least one repetition, found " << code[i + 1];
    depth += isLeaf(code[i]) ? 1 : -1;
    if (depth < 1)
      return emitError() << "an operator lacks operands";
  }
  if (depth != 1)
    return emitError() << "expected one value to be left, found " << depth;
  return success();
}

ExprAttr ExprAttr::getConstant(MLIRContext *context, int64_t value) {
  return get(context, {Const, value});
}

std::optional<int64_t> ExprAttr::getConstant() {
  ArrayRef<int64_t> code = getCode();
  if (code.size() == 2 && code[0] == Const)
    return code[1];
  return std::nullopt;
}

static std::optional<int64_t> apply(int64_t opcode, int64_t a, int64_t b) {
  int64_t result;
  switch (opcode) {
  case ExprAttr::Add:
    return llvm::AddOverflow(a, b, result) ? std::nullopt : std::optional(result);
  case ExprAttr::Sub:
    return llvm::SubOverflow(a, b, result) ? std::nullopt : std::optional(result);
  case ExprAttr::Mul:
    return llvm::MulOverflow(a, b, result) ? std::nullopt : std::optional(result);
  case ExprAttr::Min:
    return std::min(a, b);
  case ExprAttr::Max:
    return std::max(a, b);
  case ExprAttr::FloorDiv:
  case ExprAttr::Rem: {
    if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1))
      return std::nullopt;
    int64_t quotient = llvm::divideFloorSigned(a, b);
    return opcode == ExprAttr::FloorDiv ? quotient : a - b * quotient;
  }
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> ExprAttr::evaluate(ArrayRef<int64_t> coordinates) {
  SmallVector<int64_t> stack;
  ArrayRef<int64_t> code = getCode();
  for (size_t i = 0; i < code.size(); i += 2) {
    if (code[i] == Const) {
      stack.push_back(code[i + 1]);
    } else if (code[i] == Coord) {
      if (code[i + 1] >= static_cast<int64_t>(coordinates.size()))
        return std::nullopt;
      stack.push_back(coordinates[code[i + 1]]);
    } else if (code[i] == Repetition) {
      return std::nullopt;
    } else {
      int64_t b = stack.pop_back_val(), a = stack.pop_back_val();
      std::optional<int64_t> value = apply(code[i], a, b);
      if (!value)
        return std::nullopt;
      stack.push_back(*value);
    }
  }
  return stack.back();
}

std::optional<std::pair<int64_t, int64_t>> ExprAttr::bounds(ArrayRef<int64_t> sizes) {
  using Interval = std::pair<int64_t, int64_t>;
  SmallVector<Interval> stack;
  ArrayRef<int64_t> code = getCode();
  for (size_t i = 0; i < code.size(); i += 2) {
    if (code[i] == Const) {
      stack.push_back({code[i + 1], code[i + 1]});
      continue;
    }
    if (code[i] == Coord) {
      if (code[i + 1] >= static_cast<int64_t>(sizes.size()))
        return std::nullopt;
      stack.push_back({0, sizes[code[i + 1]] - 1});
      continue;
    }
    if (code[i] == Repetition) {
      stack.push_back({0, code[i + 1] - 1});
      continue;
    }
    Interval b = stack.pop_back_val(), a = stack.pop_back_val();
    if ((code[i] == FloorDiv || code[i] == Rem) && b.first <= 0)
      return std::nullopt;
    if (code[i] == Rem) {
      stack.push_back({0, b.second - 1});
      continue;
    }
    // The other operators are monotone in each operand, so the corners bound them.
    Interval result{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (int64_t x : {a.first, a.second}) {
      for (int64_t y : {b.first, b.second}) {
        std::optional<int64_t> value = apply(code[i], x, y);
        if (!value)
          return std::nullopt;
        result = {std::min(result.first, *value), std::max(result.second, *value)};
      }
    }
    stack.push_back(result);
  }
  return stack.back();
}

//===-- #exec.dropout ------------------------------------------------------------------------===//

LogicalResult DropoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t threshold,
                                  int64_t site, FloatAttr scale, ExprAttr,
                                  ArrayRef<int64_t> strides) {
  if (!llvm::isUInt<32>(threshold) || !llvm::isUInt<32>(site))
    return emitError() << "threshold and site of dropout have 32 bits, found " << threshold
                       << " and " << site;
  if (!scale || !scale.getType().isF64())
    return emitError() << "the scale of dropout is a number of f64";
  if (strides.size() != 4 || llvm::any_of(strides, [](int64_t stride) { return stride < 0; }))
    return emitError() << "dropout has four strides of at least 0";
  return success();
}
