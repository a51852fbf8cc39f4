// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations of the cleave dialect, other than collectives and manual computation.

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"

#include "AttributeFormat.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/ShardingVerifier.h"

using namespace mlir;
using namespace cleave;

static ParseResult parseDirection(OpAsmParser &parser, PropagationDirectionAttr &direction) {
  FailureOr<PropagationDirection> value = FieldParser<PropagationDirection>::parse(parser);
  if (failed(value))
    return failure();
  direction = PropagationDirectionAttr::get(parser.getContext(), *value);
  return success();
}

static void printDirection(OpAsmPrinter &printer, Operation *, PropagationDirectionAttr direction) {
  printer << stringifyEnum(direction.getValue());
}

#define GET_OP_CLASSES
#include "cleave/Dialect/Cleave/IR/CleaveOps.cpp.inc"

void CleaveDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Cleave/IR/CleaveOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Cleave/IR/CleaveCollectiveOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// StateOp
//===----------------------------------------------------------------------===//

/// The number of elements; none if it does not fit.
static std::optional<int64_t> elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

LogicalResult StateOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  auto emitter = [this] { return emitOpError(); };
  if (!type.hasStaticShape() || type.getEncoding())
    return emitOpError() << "needs a static global type without encoding, found " << type;
  std::optional<int64_t> count = elementCount(type.getShape());
  if (!count)
    return emitOpError() << "has more elements than fit 64 bits: " << type;
  if (std::optional<ArrayRef<int64_t>> shape = getCheckpointShape();
      shape && elementCount(*shape) != count) {
    InFlightDiagnostic diagnostic = emitOpError();
    diagnostic << "views the checkpoint's shape [";
    llvm::interleaveComma(*shape, diagnostic);
    return diagnostic << "] as " << type << ", which must have as many elements";
  }
  if (LogicalAxesAttr names = getLogicalAttr();
      names && failed(verifyLogicalAxes(names, type, emitter)))
    return failure();
  if (ShardingAttr sharding = getShardingAttr()) {
    if (failed(verifySharding(sharding, type, *this, emitter)))
      return failure();
    if (!sharding.getUnreducedAxes().empty())
      return emitOpError() << "holds whole values; remove 'unreduced' from its sharding";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Constraint, group, barrier, reshard
//===----------------------------------------------------------------------===//

/// One pass-through factor a dimension.
static FactorRule identityRule(RankedTensorType type) {
  FactorRule rule;
  TensorFactors tensor;
  for (int64_t size : type.getShape())
    tensor.push_back({rule.addFactor(size)});
  rule.operands.push_back(tensor);
  rule.results.push_back(tensor);
  rule.jointlyLinear = 1;
  rule.opPriority = 1;
  return rule;
}

FactorRule ShardingConstraintOp::getShardingRule() {
  return identityRule(cast<RankedTensorType>(getType()));
}

FactorRule PropagationBarrierOp::getShardingRule() {
  return identityRule(cast<RankedTensorType>(getType()));
}

LogicalResult ShardingConstraintOp::verify() {
  auto emitter = [this] { return emitOpError(); };
  if (!getSharding().getUnreducedAxes().empty())
    return emitOpError()
           << "may not ask for an unreduced value: where values stay partial is decided "
              "by reshard placement";
  return verifySharding(getSharding(), getType(), *this, emitter);
}

LogicalResult ReshardOp::verify() {
  return verifySharding(getSharding(), getType(), *this, [this] { return emitOpError(); });
}

LogicalResult ShardingGroupOp::verify() {
  if (static_cast<int64_t>(getGroupId()) < 0)
    return emitOpError() << "needs a group_id of at least 0, found "
                         << static_cast<int64_t>(getGroupId());
  return success();
}

//===----------------------------------------------------------------------===//
// DeviceCoordOp
//===----------------------------------------------------------------------===//

void DeviceCoordOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  std::string name = "coord";
  for (AxisRefAttr axis : getAxes().getAxes())
    name += "_" + axis.getName().str();
  setName(getResult(), name);
}

LogicalResult DeviceCoordOp::verify() {
  auto emitter = [this] { return emitOpError(); };
  const Mesh *mesh = verifyMesh(getMeshAttr(), *this, emitter);
  if (!mesh)
    return failure();
  if (getAxes().empty())
    return emitOpError() << "needs at least one axis";
  return verifyAxes(getAxes().getAxes(), *mesh, emitter);
}

//===----------------------------------------------------------------------===//
// MaskPaddingOp
//===----------------------------------------------------------------------===//

namespace {
/// A number as written, before the element type is known.
struct FillLiteral {
  bool isNegative = false;
  bool isInfinity = false, isNan = false;
  std::optional<APInt> integer;
  std::optional<double> number;

  ParseResult parse(OpAsmParser &parser) {
    isNegative = succeeded(parser.parseOptionalMinus());
    isInfinity = succeeded(parser.parseOptionalKeyword("inf"));
    isNan = !isInfinity && succeeded(parser.parseOptionalKeyword("nan"));
    if (isInfinity || isNan)
      return success();
    APInt value;
    OptionalParseResult parsed = parser.parseOptionalInteger(value);
    if (parsed.has_value()) {
      integer = value;
      return *parsed;
    }
    return parser.parseFloat(number.emplace());
  }

  /// Null if the element type has no such number.
  TypedAttr toAttribute(Type elementType) const {
    if (auto type = dyn_cast<FloatType>(elementType)) {
      const llvm::fltSemantics &semantics = type.getFloatSemantics();
      if (isInfinity)
        return FloatAttr::get(type, APFloat::getInf(semantics, isNegative));
      if (isNan)
        return FloatAttr::get(type, APFloat::getNaN(semantics, isNegative));
      APFloat value(number ? *number : integer->signedRoundToDouble());
      if (isNegative)
        value.changeSign();
      bool losesInfo;
      value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
      return FloatAttr::get(type, value);
    }
    auto type = dyn_cast<IntegerType>(elementType);
    if (!type || !integer)
      return {};
    APInt value = isNegative ? -*integer : *integer;
    unsigned needed = type.getWidth() == 1 ? value.getActiveBits() : value.getSignificantBits();
    if (needed > type.getWidth())
      return {};
    return IntegerAttr::get(type, value.sextOrTrunc(type.getWidth()));
  }
};
} // namespace

ParseResult MaskPaddingOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand input;
  SmallVector<int64_t> dims;
  FillLiteral fill;
  SMLoc fillLoc;
  Type type;
  if (parser.parseOperand(input) || parser.parseKeyword("dims") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(dims.emplace_back()); }) ||
      parser.parseKeyword("fill") || parser.getCurrentLocation(&fillLoc) || fill.parse(parser) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type) ||
      parser.resolveOperand(input, type, result.operands))
    return failure();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return parser.emitError(fillLoc) << "mask_padding needs a ranked tensor, found " << type;
  TypedAttr value = fill.toAttribute(tensor.getElementType());
  if (!value)
    return parser.emitError(fillLoc)
           << "the fill is not a number of the element type " << tensor.getElementType();
  Properties &properties = result.getOrAddProperties<Properties>();
  properties.dims = parser.getBuilder().getDenseI64ArrayAttr(dims);
  properties.fill = value;
  result.addTypes(type);
  return success();
}

void MaskPaddingOp::print(OpAsmPrinter &printer) {
  printer << " " << getInput() << " dims [";
  llvm::interleaveComma(getDims(), printer);
  printer << "] fill ";
  if (auto number = dyn_cast<FloatAttr>(getFill())) {
    APFloat value = number.getValue();
    if (value.isInfinity() || value.isNaN()) {
      printer << (value.isNegative() ? "-" : "") << (value.isNaN() ? "nan" : "inf");
    } else {
      bool losesInfo;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      printer.printFloat(value);
    }
  } else if (auto number = dyn_cast<IntegerAttr>(getFill())) {
    SmallString<24> text;
    number.getValue().toString(text, 10, /*Signed=*/number.getValue().getBitWidth() > 1);
    printer << text;
  } else {
    printer << getFill();
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {getDimsAttrName(), getFillAttrName()});
  printer << " : " << getType();
}

LogicalResult MaskPaddingOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!getShard(type))
    return emitOpError() << "needs a local type with a #cleave.shard encoding, which says what is "
                            "padding; found "
                         << type;
  if (failed(verifyEncoding(type, *this, [this] { return emitOpError(); })))
    return failure();
  int64_t previous = -1;
  for (int64_t dim : getDims()) {
    if (dim < 0 || dim >= type.getRank())
      return emitOpError() << "lists dimension " << dim << ", but the tensor has rank "
                           << type.getRank();
    if (dim <= previous)
      return emitOpError() << "lists its dimensions in ascending order, each once; found " << dim
                           << " after " << previous;
    previous = dim;
  }
  Type fillType = getFill().getType();
  if (fillType != type.getElementType() || !isa<FloatAttr, IntegerAttr>(getFill()))
    return emitOpError() << "needs a fill of the element type " << type.getElementType()
                         << ", found " << getFill();
  return success();
}
