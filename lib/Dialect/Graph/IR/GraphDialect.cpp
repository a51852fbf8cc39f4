// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Registration of the graph dialect, and its attributes.

#include "cleave/Dialect/Graph/IR/GraphDialect.h"

#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "cleave/Dialect/Graph/IR/GraphDialect.cpp.inc"
#include "cleave/Dialect/Graph/IR/GraphEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "cleave/Dialect/Graph/IR/GraphAttributes.cpp.inc"

using namespace mlir;
using namespace cleave::graph;

void GraphDialect::initialize() {
  registerAttributes();
  registerElementwiseOps();
  registerShapeOps();
  registerContractionOps();
  registerIndexingOps();
  registerNamedOps();
  registerControlFlowOps();
  registerGradientOps();
  registerOptimizerOps();
}

void GraphDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "cleave/Dialect/Graph/IR/GraphAttributes.cpp.inc"
      >();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                             Location loc) {
  auto elements = dyn_cast<DenseIntOrFPElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

//===----------------------------------------------------------------------===//
// RopeScalingAttr
//===----------------------------------------------------------------------===//

LogicalResult RopeScalingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                      RopeScalingKind kind, APFloat factor, APFloat lowFreqFactor,
                                      APFloat highFreqFactor, int64_t originalMaxPosition) {
  auto isPositive = [](const APFloat &x) { return x.isFinite() && !x.isNegative() && !x.isZero(); };
  if (!isPositive(factor))
    return emitError() << "expected a rope scaling factor above 0, found "
                       << factor.convertToDouble();
  if (kind == RopeScalingKind::Linear)
    return success();
  if (!isPositive(lowFreqFactor) || !isPositive(highFreqFactor) ||
      highFreqFactor.compare(lowFreqFactor) != APFloat::cmpGreaterThan)
    return emitError()
           << "expected 0 < low_freq_factor < high_freq_factor for llama3 rope scaling, "
              "found "
           << lowFreqFactor.convertToDouble() << " and " << highFreqFactor.convertToDouble();
  if (originalMaxPosition <= 0)
    return emitError() << "expected original_max_position above 0 for llama3 rope scaling, found "
                       << originalMaxPosition;
  return success();
}

namespace {
ParseResult parseNumber(AsmParser &parser, StringRef keyword, APFloat &result) {
  double number;
  if (parser.parseComma() || parser.parseKeyword(keyword) || parser.parseEqual() ||
      parser.parseFloat(number))
    return failure();
  result = APFloat(number);
  return success();
}

void printNumber(AsmPrinter &printer, StringRef keyword, const APFloat &number) {
  printer << ", " << keyword << " = ";
  printer.printFloat(number);
}
} // namespace

Attribute RopeScalingAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  APFloat factor(0.0), low(0.0), high(0.0);
  int64_t originalMaxPosition = 0;
  if (parser.parseLess() || parser.parseKeyword(&keyword))
    return {};
  std::optional<RopeScalingKind> kind = symbolizeRopeScalingKind(keyword);
  if (!kind) {
    parser.emitError(loc) << "expected the kind of rope scaling, linear or llama3, found '"
                          << keyword << "'";
    return {};
  }
  if (parseNumber(parser, "factor", factor))
    return {};
  if (*kind == RopeScalingKind::Llama3 &&
      (parseNumber(parser, "low_freq_factor", low) ||
       parseNumber(parser, "high_freq_factor", high) || parser.parseComma() ||
       parser.parseKeyword("original_max_position") || parser.parseEqual() ||
       parser.parseInteger(originalMaxPosition)))
    return {};
  if (parser.parseGreater())
    return {};
  return RopeScalingAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                                     *kind, factor, low, high, originalMaxPosition);
}

void RopeScalingAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyRopeScalingKind(getKind());
  printNumber(printer, "factor", getFactor());
  if (getKind() == RopeScalingKind::Llama3) {
    printNumber(printer, "low_freq_factor", getLowFreqFactor());
    printNumber(printer, "high_freq_factor", getHighFreqFactor());
    printer << ", original_max_position = " << getOriginalMaxPosition();
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// DropoutAttr
//===----------------------------------------------------------------------===//

LogicalResult DropoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, APFloat rate,
                                  int64_t site, int64_t start, ArrayRef<int64_t> strides) {
  double chance = rate.convertToDouble();
  if (!(chance >= 0.0 && chance < 1.0))
    return emitError() << "expected a dropout rate of at least 0 and below 1, found " << chance;
  if (site < 0 || site > 0xffffffff)
    return emitError() << "expected a dropout site of 32 bits, found " << site;
  if (start < 0)
    return emitError() << "expected a start of dropout positions of at least 0, found " << start;
  for (int64_t stride : strides)
    if (stride < 0)
      return emitError() << "expected strides of dropout positions of at least 0, found " << stride;
  return success();
}

Attribute DropoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  double rate;
  int64_t site, start = 0;
  SmallVector<int64_t> strides;
  if (parser.parseLess() || parser.parseKeyword("rate") || parser.parseEqual() ||
      parser.parseFloat(rate) || parser.parseComma() || parser.parseKeyword("site") ||
      parser.parseEqual() || parser.parseInteger(site))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    auto stride = [&] { return parser.parseInteger(strides.emplace_back()); };
    if (parser.parseKeyword("start") || parser.parseEqual() || parser.parseInteger(start) ||
        parser.parseComma() || parser.parseKeyword("strides") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, stride))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return DropoutAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                                 APFloat(rate), site, start, strides);
}

void DropoutAttr::print(AsmPrinter &printer) const {
  printer << "<rate = ";
  printer.printFloat(getRate());
  printer << ", site = " << getSite();
  if (getStart() != 0 || !getStrides().empty()) {
    printer << ", start = " << getStart() << ", strides = [";
    llvm::interleaveComma(getStrides(), printer);
    printer << "]";
  }
  printer << ">";
}

uint32_t DropoutAttr::getThreshold() const {
  return static_cast<uint32_t>(
      std::min(std::round(getRate().convertToDouble() * 0x1p32), double(0xffffffff)));
}

double DropoutAttr::getScale() const { return 1.0 / (1.0 - getRate().convertToDouble()); }

DropoutAttr DropoutAttr::withPositions(int64_t start, ArrayRef<int64_t> strides) const {
  return DropoutAttr::get(getContext(), getRate(), getSite(), start, strides);
}
