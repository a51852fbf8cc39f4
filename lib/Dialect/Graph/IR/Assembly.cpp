// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Custom directives of the assembly formats.

#include "Assembly.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

ParseResult graph::parseTypes(OpAsmParser &parser, ArrayRef<Type *> types) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  auto function = dyn_cast<FunctionType>(type);
  if (!function) {
    for (Type *each : types)
      *each = type;
    return success();
  }
  if (function.getNumInputs() != types.size() - 1 || function.getNumResults() != 1)
    return parser.emitError(loc) << "expected one type, or a function type of " << types.size() - 1
                                 << " operands and one result, found " << type;
  for (auto [each, input] : llvm::zip(types, function.getInputs()))
    *each = input;
  *types.back() = function.getResult(0);
  return success();
}

void graph::printTypes(OpAsmPrinter &printer, ArrayRef<Type> types) {
  if (llvm::all_equal(types))
    printer << types.front();
  else
    printer.printFunctionalType(TypeRange(types.drop_back()), TypeRange(types.take_back()));
}

ParseResult graph::parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts,
                                    DenseI64ArrayAttr &limits, DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  auto parseRange = [&]() -> ParseResult {
    if (parser.parseInteger(start.emplace_back()) || parser.parseColon() ||
        parser.parseInteger(limit.emplace_back()))
      return failure();
    stride.push_back(1);
    if (succeeded(parser.parseOptionalColon()))
      return parser.parseInteger(stride.back());
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRange))
    return failure();
  Builder &builder = parser.getBuilder();
  starts = builder.getDenseI64ArrayAttr(start);
  limits = builder.getDenseI64ArrayAttr(limit);
  strides = builder.getDenseI64ArrayAttr(stride);
  return success();
}

void graph::printSliceRanges(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr starts,
                             DenseI64ArrayAttr limits, DenseI64ArrayAttr strides) {
  printer << "[";
  llvm::interleaveComma(llvm::zip(starts.asArrayRef(), limits.asArrayRef(), strides.asArrayRef()),
                        printer, [&](auto range) {
                          auto [start, limit, stride] = range;
                          printer << start << ":" << limit;
                          if (stride != 1)
                            printer << ":" << stride;
                        });
  printer << "]";
}

ParseResult graph::parseBatchDims(OpAsmParser &parser, DenseI64ArrayAttr &lhs,
                                  DenseI64ArrayAttr &rhs) {
  SmallVector<int64_t> left, right;
  auto parseList = [&](SmallVector<int64_t> &list) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                          [&] { return parser.parseInteger(list.emplace_back()); });
  };
  if (succeeded(parser.parseOptionalKeyword("batch")) &&
      (parseList(left) || parser.parseKeyword("x") || parseList(right)))
    return failure();
  lhs = parser.getBuilder().getDenseI64ArrayAttr(left);
  rhs = parser.getBuilder().getDenseI64ArrayAttr(right);
  return success();
}

void graph::printBatchDims(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr lhs,
                           DenseI64ArrayAttr rhs) {
  if (lhs.empty() && rhs.empty())
    return;
  printer << "batch ";
  lhs.print(printer);
  printer << " x ";
  rhs.print(printer);
}

ParseResult graph::parseScalarPredicate(OpAsmParser &parser, Type &type) {
  type = RankedTensorType::get({}, parser.getBuilder().getI1Type());
  return success();
}
