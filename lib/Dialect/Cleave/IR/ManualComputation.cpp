// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Syntax and checks of manual computation.

#include "AttributeFormat.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/ShardingVerifier.h"

using namespace mlir;
using namespace cleave;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

static ParseResult parseShardings(OpAsmParser &parser, ArrayAttr &shardings) {
  SmallVector<Attribute> entries;
  auto parseOne = [&]() -> ParseResult {
    Attribute sharding = ShardingAttr::parse(parser, Type());
    entries.push_back(sharding);
    return success(bool(sharding));
  };
  if (parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseOne))
    return failure();
  shardings = parser.getBuilder().getArrayAttr(entries);
  return success();
}

ParseResult ManualComputationOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  SmallVector<OpAsmParser::Argument> arguments;
  Properties &properties = result.getOrAddProperties<Properties>();
  SMLoc loc = parser.getCurrentLocation();
  FunctionType type;
  if (parser.parseOperandList(inputs, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in_shardings") || parseShardings(parser, properties.in_shardings) ||
      parser.parseKeyword("out_shardings") || parseShardings(parser, properties.out_shardings) ||
      parser.parseKeyword("manual_axes") || parser.parseEqual() ||
      parseAxisList(parser, properties.manual_axes) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseRegion(*result.addRegion(), arguments) || parser.parseColonType(type) ||
      parser.resolveOperands(inputs, type.getInputs(), loc, result.operands))
    return failure();
  result.addTypes(type.getResults());
  return success();
}

static void printShardings(OpAsmPrinter &printer, StringRef key, ArrayAttr shardings) {
  printer << " " << key << "=[";
  llvm::interleaveComma(shardings, printer,
                        [&](Attribute sharding) { cast<ShardingAttr>(sharding).print(printer); });
  printer << "]";
}

void ManualComputationOp::print(OpAsmPrinter &printer) {
  printer << "(" << getInputs() << ")";
  printShardings(printer, "in_shardings", getInShardings());
  printShardings(printer, "out_shardings", getOutShardings());
  printer << " manual_axes=";
  printAxisList(printer, *this, getManualAxes());
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getInShardingsAttrName(), getOutShardingsAttrName(), getManualAxesAttrName()});
  printer << " (";
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer << " : ";
  printer.printFunctionalType(*this);
}

void ManualComputationOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, "local");
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

ShardingAttr ManualComputationOp::getInSharding(unsigned index) {
  return cast<ShardingAttr>(getInShardings()[index]);
}

ShardingAttr ManualComputationOp::getOutSharding(unsigned index) {
  return cast<ShardingAttr>(getOutShardings()[index]);
}

FlatSymbolRefAttr ManualComputationOp::getMeshSymbol() {
  for (ArrayAttr shardings : {getInShardings(), getOutShardings()})
    for (ShardingAttr sharding : shardings.getAsRange<ShardingAttr>())
      return sharding.getMesh();
  return {};
}

/// The manual axes of one computation; empty if malformed, which its own verifier reports.
static AxisList manualAxesOf(ManualComputationOp op, const Mesh &mesh) {
  FailureOr<AxisList> axes = axesOf(op.getManualAxes().getAxes(), mesh);
  return succeeded(axes) ? *axes : AxisList();
}

AxisList ManualComputationOp::getEnclosingManualAxes(Operation *op, const Mesh &mesh) {
  AxisList axes;
  while ((op = op->getParentOp()))
    if (auto manual = dyn_cast<ManualComputationOp>(op))
      llvm::append_range(axes, manualAxesOf(manual, mesh));
  return sortedAxes(axes);
}

ShardingAttr ManualComputationOp::getFreeSharding(unsigned argument) {
  ShardingAttr sharding = getInSharding(argument);
  const Mesh *mesh = findMesh(*this, sharding.getMesh());
  if (!mesh)
    return {};
  AxisList manual = manualAxesOf(*this, *mesh);
  auto withoutManual = [&](ArrayRef<AxisRefAttr> attrs) {
    FailureOr<AxisList> axes = axesOf(attrs, *mesh);
    AxisList free = succeeded(axes) ? subtractAxes(*axes, manual) : AxisList();
    return axisAttrsOf(getContext(), *mesh, free);
  };
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDimShardings()) {
    SmallVector<AxisRefAttr> free = withoutManual(dim.getAxes());
    // A priority on a closed dimension without axes has no meaning.
    bool keepPriority = !free.empty() || !dim.getIsClosed();
    dims.push_back(DimShardingAttr::get(getContext(), free, dim.getIsClosed(),
                                        keepPriority ? dim.getPriority() : std::nullopt));
  }
  return ShardingAttr::get(sharding.getMesh(), dims, withoutManual(sharding.getReplicatedAxes()),
                           withoutManual(sharding.getUnreducedAxes()), sharding.getReduction());
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {
/// Checks one operand or result, and gives its type in the body.
class ManualTypes {
public:
  ManualTypes(ManualComputationOp op, const Mesh &mesh) : op(op), mesh(mesh) {
    manual = manualAxesOf(op, mesh);
  }

  FailureOr<RankedTensorType> bodyType(Type outer, ShardingAttr sharding, const Twine &what) {
    auto type = cast<RankedTensorType>(outer);
    std::string prefix = what.str();
    auto emitter = [&] { return op.emitOpError() << prefix << ": "; };
    if (sharding.getMesh() != op.getMeshSymbol())
      return emitter() << "is on mesh " << sharding.getMesh() << ", but the computation is on mesh "
                       << op.getMeshSymbol();
    if (failed(verifySharding(sharding, type, op, emitter)))
      return failure();
    Layout added = *layoutOf(sharding, mesh);
    Layout layout = Layout::replicated(type.getRank());
    ShardAttr shard = getShard(type);
    if (shard) {
      if (shard.getMesh() != sharding.getMesh())
        return emitter() << "is on mesh " << sharding.getMesh() << ", but its type is on "
                         << shard.getMesh();
      if (failed(verifyEncoding(type, op, emitter)))
        return failure();
      layout = layoutOf(shard, mesh);
    }
    if (axesOverlap(layout.usedAxes(), added.usedAxes()))
      return emitter() << "names axes over which its type " << type << " is local already";
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      FailureOr<AxisList> prefixAxes = manualPrefix(added.dims[dim], dim, emitter);
      if (failed(prefixAxes))
        return failure();
      if (type.getDimSize(dim) % shardCount(*prefixAxes) != 0)
        return emitter() << "dimension " << dim << " of size " << type.getDimSize(dim)
                         << " does not divide over its " << shardCount(*prefixAxes)
                         << " manual shards; pad it or leave the axes free";
      for (const AxisRef &axis : *prefixAxes)
        appendAxis(layout.dims[dim], axis);
    }
    AxisList partial = subtractAxes(added.partial, subtractAxes(added.partial, manual));
    if (!partial.empty()) {
      if (!layout.partial.empty() && layout.partialKind != added.partialKind)
        return emitter() << "is partial in two ways at once";
      llvm::append_range(layout.partial, partial);
      layout.partial = sortedAxes(layout.partial);
      layout.partialKind = added.partialKind;
    }
    return localType(globalType(type), sharding.getMesh(), mesh, layout);
  }

private:
  /// The manual axes of a dimension, which must be its major ones.
  FailureOr<AxisList> manualPrefix(const AxisList &axes, int64_t dim, EmitError emitError) {
    AxisList free = subtractAxes(axes, manual);
    AxisList prefix = subtractAxes(axes, free);
    if (removePrefix(axes, prefix) != std::optional<AxisList>(free))
      return emitError() << "dimension " << dim << " has the free axes " << toString(mesh, free)
                         << " before manual ones; put the manual axes first";
    return prefix;
  }

  ManualComputationOp op;
  const Mesh &mesh;
  AxisList manual;
};
} // namespace

static LogicalResult verifyCount(ManualComputationOp op, StringRef what, size_t found,
                                 size_t expected) {
  if (found == expected)
    return success();
  return op.emitOpError() << "needs one entry of " << what << " for each of its " << expected << " "
                          << (what == "in_shardings" ? "operands" : "results") << ", found "
                          << found;
}

LogicalResult ManualComputationOp::verify() {
  if (failed(verifyCount(*this, "in_shardings", getInShardings().size(), getInputs().size())) ||
      failed(verifyCount(*this, "out_shardings", getOutShardings().size(), getOutputs().size())))
    return failure();
  FlatSymbolRefAttr symbol = getMeshSymbol();
  if (!symbol)
    return emitOpError() << "needs an operand or a result, whose sharding names the mesh";
  auto emitter = [this] { return emitOpError(); };
  const Mesh *mesh = verifyMesh(symbol, *this, emitter);
  if (!mesh || failed(verifyAxes(getManualAxes().getAxes(), *mesh, emitter)))
    return failure();
  AxisList outer = getEnclosingManualAxes(*this, *mesh);
  AxisList both = manualAxesOf(*this, *mesh);
  both = subtractAxes(both, subtractAxes(both, outer));
  if (!both.empty())
    return emitOpError() << "stands in a manual computation over the same axes "
                         << toString(*mesh, both) << "; name other manual axes";
  return success();
}

/// Compares the body's types with what the shardings give.
static LogicalResult verifyBodyTypes(ManualComputationOp op, ManualTypes &types, TypeRange outer,
                                     ArrayAttr shardings, TypeRange inner, StringRef outerName,
                                     StringRef innerName) {
  if (outer.size() != inner.size())
    return op.emitOpError() << "has " << outer.size() << " " << outerName << "s, but its body has "
                            << inner.size() << " " << innerName << "s";
  for (auto [index, outerType, sharding, innerType] :
       llvm::enumerate(outer, shardings.getAsRange<ShardingAttr>(), inner)) {
    FailureOr<RankedTensorType> expected =
        types.bodyType(outerType, sharding, outerName + " #" + Twine(index));
    if (failed(expected))
      return failure();
    if (*expected != innerType)
      return op.emitOpError() << innerName << " #" << index << " of the body must have type "
                              << *expected << ", which is local over the manual axes; found "
                              << innerType;
  }
  return success();
}

/// Values of the body are local over manual axes only.
static LogicalResult verifyBodyValues(ManualComputationOp op, const Mesh &mesh) {
  AxisList manual =
      ManualComputationOp::getEnclosingManualAxes(&op.getBody().front().front(), mesh);
  WalkResult result = op.getBody().walk<WalkOrder::PreOrder>([&](Operation *inner) {
    for (Type type : inner->getResultTypes()) {
      ShardAttr shard = getShard(type);
      if (!shard)
        continue;
      if (shard.getMesh() != op.getMeshSymbol()) {
        inner->emitOpError() << "has a value of type " << type
                             << " in a manual computation on mesh " << op.getMeshSymbol();
        return WalkResult::interrupt();
      }
      if (failed(verifyEncoding(type, inner, [&] { return inner->emitOpError(); })))
        return WalkResult::interrupt();
      AxisList free = subtractAxes(layoutOf(shard, mesh).usedAxes(), manual);
      if (!free.empty()) {
        inner->emitOpError() << "has a value of type " << type << " in a manual computation over "
                             << toString(mesh, manual) << "; it may not be local over "
                             << toString(mesh, free);
        return WalkResult::interrupt();
      }
    }
    return isa<ManualComputationOp>(inner) ? WalkResult::skip() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult ManualComputationOp::verifyRegions() {
  const Mesh *mesh = findMesh(*this, getMeshSymbol());
  auto terminator = dyn_cast<ReturnOp>(getBody().front().back());
  if (!terminator)
    return emitOpError() << "needs a body that ends with cleave.return";
  ManualTypes types(*this, *mesh);
  return failure(
      failed(verifyBodyTypes(*this, types, getInputs().getTypes(), getInShardings(),
                             getBody().getArgumentTypes(), "operand", "argument")) ||
      failed(verifyBodyTypes(*this, types, getOutputs().getTypes(), getOutShardings(),
                             terminator.getOperandTypes(), "result", "returned value")) ||
      failed(verifyBodyValues(*this, *mesh)));
}
