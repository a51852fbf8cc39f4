// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Syntax of the attributes, other than the sharding rule.

#include "AttributeFormat.h"

using namespace mlir;
using namespace cleave;

using Delimiter = AsmParser::Delimiter;

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

ParseResult cleave::parseAxisRef(AsmParser &parser, AxisRefAttr &axis) {
  std::string name;
  if (parser.parseString(&name))
    return failure();
  int64_t preSize = 0, size = 0;
  if (succeeded(parser.parseOptionalColon())) {
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseInteger(preSize) || parser.parseRParen() ||
        parser.parseInteger(size))
      return failure();
    if (preSize < 1 || size < 1)
      return parser.emitError(loc)
             << "sub-axis of \"" << name << "\" needs a pre-size and a size of at least 1, found ("
             << preSize << ")" << size;
  }
  axis = AxisRefAttr::get(parser.getContext(), name, preSize, size);
  return success();
}

void cleave::printAxisRef(AsmPrinter &printer, AxisRefAttr axis) {
  printer.printString(axis.getName());
  if (axis.isSubAxis())
    printer << ":(" << axis.getPreSize() << ")" << axis.getSize();
}

ParseResult cleave::parseAxisRefs(AsmParser &parser, Delimiter delimiter,
                                  SmallVectorImpl<AxisRefAttr> &axes) {
  return parser.parseCommaSeparatedList(delimiter,
                                        [&] { return parseAxisRef(parser, axes.emplace_back()); });
}

void cleave::printAxisRefs(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes) {
  llvm::interleaveComma(axes, printer, [&](AxisRefAttr axis) { printAxisRef(printer, axis); });
}

std::string AxisRefAttr::toString() const {
  std::string text = "\"" + getName().str() + "\"";
  if (isSubAxis())
    text += ":(" + std::to_string(getPreSize()) + ")" + std::to_string(getSize());
  return text;
}

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  AxisRefAttr axis;
  if (parser.parseLess() || parseAxisRef(parser, axis) || parser.parseGreater())
    return {};
  return axis;
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxisRef(printer, *this);
  printer << ">";
}

Attribute AxisListAttr::parse(AsmParser &parser, Type) {
  AxisListAttr axes;
  if (parser.parseLess() || parseAxisList(parser, axes) || parser.parseGreater())
    return {};
  return axes;
}

void AxisListAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxisList(printer, nullptr, *this);
  printer << ">";
}

ParseResult cleave::parseAxisList(AsmParser &parser, AxisListAttr &axes) {
  SmallVector<AxisRefAttr> refs;
  if (parseAxisRefs(parser, Delimiter::Square, refs))
    return failure();
  axes = AxisListAttr::get(parser.getContext(), refs);
  return success();
}

void cleave::printAxisList(AsmPrinter &printer, Operation *, AxisListAttr axes) {
  printer << "[";
  printAxisRefs(printer, axes.getAxes());
  printer << "]";
}

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

StringRef cleave::stringifyReduction(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return "sum";
  case Reduction::Max:
    return "max";
  case Reduction::Min:
    return "min";
  }
  llvm_unreachable("unknown reduction");
}

std::optional<Reduction> cleave::symbolizeReduction(StringRef text) {
  return llvm::StringSwitch<std::optional<Reduction>>(text)
      .Case("sum", Reduction::Sum)
      .Case("max", Reduction::Max)
      .Case("min", Reduction::Min)
      .Default(std::nullopt);
}

ParseResult cleave::parseReductionKeyword(AsmParser &parser, bool optional, Reduction &reduction) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (optional) {
    reduction = Reduction::Sum;
    if (failed(parser.parseOptionalKeyword(&keyword)))
      return success();
  } else if (parser.parseKeyword(&keyword)) {
    return failure();
  }
  std::optional<Reduction> parsed = symbolizeReduction(keyword);
  if (!parsed)
    return parser.emitError(loc) << "expected a reduction (sum, max or min), found '" << keyword
                                 << "'";
  reduction = *parsed;
  return success();
}

Attribute ReductionAttr::parse(AsmParser &parser, Type) {
  ReductionAttr reduction;
  if (parser.parseLess() || parseReduction(parser, reduction) || parser.parseGreater())
    return {};
  return reduction;
}

void ReductionAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyReduction(getValue()) << ">";
}

ParseResult cleave::parseReduction(AsmParser &parser, ReductionAttr &reduction) {
  Reduction value;
  if (parseReductionKeyword(parser, /*optional=*/false, value))
    return failure();
  reduction = ReductionAttr::get(parser.getContext(), value);
  return success();
}

void cleave::printReduction(AsmPrinter &printer, Operation *, ReductionAttr reduction) {
  printer << stringifyReduction(reduction.getValue());
}

/// Prints `, unreduced=max{"tp"}`, or nothing if there are no axes.
static void printUnreduced(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes, Reduction reduction) {
  if (axes.empty())
    return;
  printer << ", unreduced=";
  if (reduction != Reduction::Sum)
    printer << stringifyReduction(reduction);
  printer << "{";
  printAxisRefs(printer, axes);
  printer << "}";
}

/// Parses what follows `unreduced`.
static ParseResult parseUnreduced(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &axes,
                                  Reduction &reduction) {
  return failure(parser.parseEqual() || parseReductionKeyword(parser, true, reduction) ||
                 parseAxisRefs(parser, Delimiter::Braces, axes));
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Mesh::Axis> axes;
  auto parseAxis = [&]() -> ParseResult {
    Mesh::Axis &axis = axes.emplace_back();
    SMLoc sizeLoc;
    int64_t size;
    if (parser.parseString(&axis.name) || parser.parseEqual() ||
        parser.getCurrentLocation(&sizeLoc) || parser.parseInteger(size))
      return failure();
    if (size < 1 || size > std::numeric_limits<int32_t>::max())
      return parser.emitError(sizeLoc) << "size of mesh axis \"" << axis.name
                                       << "\" must be from 1 to 2147483647, found " << size;
    axis.size = size;
    return success();
  };
  SmallVector<int64_t> deviceIds;
  if (parser.parseLess() || parser.parseCommaSeparatedList(Delimiter::Square, parseAxis))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    auto parseId = [&] { return parser.parseInteger(deviceIds.emplace_back()); };
    if (parser.parseKeyword("device_ids") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(Delimiter::Square, parseId))
      return {};
  }
  if (parser.parseGreater())
    return {};
  auto emitError = [&] { return parser.emitError(loc); };
  if (failed(verify(emitError, axes, deviceIds)))
    return {};
  // The identity has one spelling.
  if (llvm::equal(deviceIds, llvm::seq<int64_t>(0, deviceIds.size())))
    deviceIds.clear();
  return get(parser.getContext(), Mesh(axes, deviceIds));
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getMesh().axes(), printer, [&](const Mesh::Axis &axis) {
    printer.printString(axis.name);
    printer << "=" << axis.size;
  });
  printer << "]";
  if (!getMesh().deviceIds().empty()) {
    printer << ", device_ids=[";
    llvm::interleaveComma(getMesh().deviceIds(), printer);
    printer << "]";
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

static ParseResult parseDimSharding(AsmParser &parser, DimShardingAttr &dim) {
  SmallVector<AxisRefAttr> axes;
  bool isClosed = true;
  auto parseItem = [&]() -> ParseResult {
    if (!isClosed)
      return parser.emitError(parser.getCurrentLocation(),
                              "'?' must be the last entry of a dimension's axes");
    if (succeeded(parser.parseOptionalQuestion())) {
      isClosed = false;
      return success();
    }
    return parseAxisRef(parser, axes.emplace_back());
  };
  if (parser.parseCommaSeparatedList(Delimiter::Braces, parseItem))
    return failure();
  std::optional<int64_t> priority;
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&keyword))) {
    int64_t value;
    StringRef digits = keyword;
    if (!digits.consume_front("p") || digits.getAsInteger(10, value) || value < 0)
      return parser.emitError(loc) << "expected a priority such as p1, found '" << keyword << "'";
    priority = value;
  }
  dim = DimShardingAttr::get(parser.getContext(), axes, isClosed, priority);
  return success();
}

static void printDimSharding(AsmPrinter &printer, DimShardingAttr dim) {
  printer << "{";
  printAxisRefs(printer, dim.getAxes());
  if (!dim.getIsClosed())
    printer << (dim.empty() ? "?" : ", ?");
  printer << "}";
  if (std::optional<int64_t> priority = dim.getPriority())
    printer << "p" << *priority;
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  DimShardingAttr dim;
  if (parser.parseLess() || parseDimSharding(parser, dim) || parser.parseGreater())
    return {};
  return dim;
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printDimSharding(printer, *this);
  printer << ">";
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(Delimiter::Square,
                                     [&] { return parseDimSharding(parser, dims.emplace_back()); }))
    return {};
  SmallVector<AxisRefAttr> replicated, unreduced;
  Reduction reduction = Reduction::Sum;
  bool hasReplicated = false, hasUnreduced = false;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    if (!hasReplicated && !hasUnreduced && succeeded(parser.parseOptionalKeyword("replicated"))) {
      hasReplicated = true;
      if (parser.parseEqual() || parseAxisRefs(parser, Delimiter::Braces, replicated))
        return {};
    } else if (!hasUnreduced && succeeded(parser.parseOptionalKeyword("unreduced"))) {
      hasUnreduced = true;
      if (parseUnreduced(parser, unreduced, reduction))
        return {};
    } else {
      parser.emitError(loc, "expected 'replicated={...}' or 'unreduced={...}', each at most once "
                            "and in this order");
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  if (unreduced.empty())
    reduction = Reduction::Sum;
  return get(mesh, dims, replicated, unreduced, reduction);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getDimShardings(), printer,
                        [&](DimShardingAttr dim) { printDimSharding(printer, dim); });
  printer << "]";
  if (!getReplicatedAxes().empty()) {
    printer << ", replicated={";
    printAxisRefs(printer, getReplicatedAxes());
    printer << "}";
  }
  printUnreduced(printer, getUnreducedAxes(), getReduction());
  printer << ">";
}

Attribute ShardAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<AxisListAttr> dims;
  SmallVector<int64_t> global;
  auto parseDim = [&]() -> ParseResult {
    SmallVector<AxisRefAttr> axes;
    if (parseAxisRefs(parser, Delimiter::Braces, axes))
      return failure();
    dims.push_back(AxisListAttr::get(parser.getContext(), axes));
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(Delimiter::Square, parseDim) || parser.parseComma() ||
      parser.parseKeyword("global") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(Delimiter::Square,
                                     [&] { return parser.parseInteger(global.emplace_back()); }))
    return {};
  SmallVector<AxisRefAttr> unreduced;
  Reduction reduction = Reduction::Sum;
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("unreduced") || parseUnreduced(parser, unreduced, reduction)))
    return {};
  if (parser.parseGreater())
    return {};
  if (unreduced.empty())
    reduction = Reduction::Sum;
  auto emitError = [&] { return parser.emitError(loc); };
  if (failed(verify(emitError, mesh, dims, global, unreduced, reduction)))
    return {};
  return get(mesh, dims, global, unreduced, reduction);
}

void ShardAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getDimAxes(), printer, [&](AxisListAttr axes) {
    printer << "{";
    printAxisRefs(printer, axes.getAxes());
    printer << "}";
  });
  printer << "], global=[";
  llvm::interleaveComma(getGlobalShape(), printer);
  printer << "]";
  printUnreduced(printer, getUnreducedAxes(), getReduction());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Logical axes
//===----------------------------------------------------------------------===//

Attribute LogicalAxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  auto parseName = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(Delimiter::Square, parseName) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), names);
}

void LogicalAxesAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getNames(), printer,
                        [&](StringAttr name) { printer.printString(name.getValue()); });
  printer << "]>";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

ParseResult cleave::parseOperandAndResultType(AsmParser &parser, Type &operand, Type &result) {
  if (parser.parseType(operand))
    return failure();
  result = operand;
  return succeeded(parser.parseOptionalArrow()) ? parser.parseType(result) : success();
}

void cleave::printOperandAndResultType(AsmPrinter &printer, Operation *, Type operand,
                                       Type result) {
  printer << operand;
  if (operand != result)
    printer << " -> " << result;
}
