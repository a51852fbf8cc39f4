// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Constants and ops that only move elements.

#include "Assembly.h"
#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphShapeOps.cpp.inc"

void GraphDialect::registerShapeOps() {
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Graph/IR/GraphShapeOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

void ConstantOp::build(OpBuilder &builder, OperationState &state, RankedTensorType type,
                       double splat) {
  Attribute number;
  Type elementType = type.getElementType();
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    APFloat value(splat);
    bool losesInfo;
    value.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    number = FloatAttr::get(floatType, value);
  } else {
    number = builder.getIntegerAttr(elementType, int64_t(splat));
  }
  build(builder, state, DenseElementsAttr::get(type, number));
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  TypedAttr value;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseAttribute(value) || parser.parseOptionalAttrDict(result.attributes))
    return failure();
  auto elements = dyn_cast<DenseIntOrFPElementsAttr>(value);
  if (!elements)
    return parser.emitError(loc, "expected dense integer or float elements");
  result.getOrAddProperties<Properties>().value = elements;
  result.addTypes(elements.getType());
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer << " " << getValueAttr();
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
}

LogicalResult ConstantOp::verify() {
  if (getValue().getType() == getResult().getType())
    return success();
  return emitOpError() << "expected a value of the result's type, " << getResult().getType()
                       << ", found " << getValue().getType();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

FactorRule ConstantOp::getShardingRule() {
  RuleBuilder builder(*this);
  FactorKind kind = getValue().isSplat() ? FactorKind::PassThrough : FactorKind::NeedReplication;
  for (unsigned d = 0; d < builder.rule.results[0].size(); ++d)
    builder.resultDim(0, d, builder.factor(builder.resultSize(0, d), kind));
  return builder.rule;
}

FailureOr<SmallVector<Value>> ConstantOp::partition(OpBuilder &builder, ValueRange localOperands,
                                                    const PartitionInfo &info) {
  RankedTensorType type = info.localResultTypes[0];
  DenseElementsAttr value = getValue();
  if (value.isSplat())
    value = value.resizeSplat(type);
  else if (type.getShape() == getResult().getType().getShape())
    value = value.reshape(type);
  else
    return emitOpError()
           << "expected the whole constant on every device, found a sharding that makes "
           << typeText(getResult().getType()) << " into " << typeText(type);
  FailureOr<SmallVector<Value>> results = cloneWithLocalTypes(*this, builder, localOperands, info);
  if (succeeded(results))
    results->front().getDefiningOp<ConstantOp>().setValueAttr(value);
  return results;
}

//===----------------------------------------------------------------------===//
// IotaOp
//===----------------------------------------------------------------------===//

ParseResult IotaOp::parse(OpAsmParser &parser, OperationState &result) {
  IntegerAttr dim;
  OpAsmParser::UnresolvedOperand offset;
  Type type;
  if (parser.parseKeyword("dim") || parser.parseAttribute(dim, parser.getBuilder().getI64Type()))
    return failure();
  result.getOrAddProperties<Properties>().dim = dim;
  bool hasOffset = succeeded(parser.parseOptionalKeyword("offset"));
  if ((hasOffset && parser.parseOperand(offset)) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type) ||
      (hasOffset &&
       parser.resolveOperand(offset, parser.getBuilder().getIndexType(), result.operands)))
    return failure();
  result.addTypes(type);
  return success();
}

void IotaOp::print(OpAsmPrinter &printer) {
  printer << " dim " << getDim();
  if (getOffset())
    printer << " offset " << getOffset();
  printer.printOptionalAttrDict((*this)->getAttrs(), {"dim"});
  printer << " : " << getResult().getType();
}

LogicalResult IotaOp::verify() {
  return verifyDims(*this, "dim", {static_cast<int64_t>(getDim())},
                    getResult().getType().getRank());
}

FactorRule IotaOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (unsigned d = 0; d < builder.rule.results[0].size(); ++d)
    builder.resultDim(0, d, builder.factor(builder.resultSize(0, d)));
  return builder.rule;
}

FailureOr<SmallVector<Value>> IotaOp::partition(OpBuilder &builder, ValueRange localOperands,
                                                const PartitionInfo &info) {
  const AxisList &axes = info.resultLayouts[0].dims[getDim()];
  Value offset = localOperands.empty() ? Value() : localOperands[0];
  if (!axes.empty()) {
    int64_t size = info.localResultTypes[0].getDimSize(getDim());
    Value shard = info.shardOffset(builder, getLoc(), axes, size);
    offset = offset ? arith::AddIOp::create(builder, getLoc(), offset, shard).getResult() : shard;
  }
  FailureOr<SmallVector<Value>> results = cloneWithLocalTypes(*this, builder, localOperands, info);
  if (succeeded(results) && offset)
    results->front().getDefiningOp<IotaOp>().getOffsetMutable().assign(offset);
  return results;
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getResult().getType();
  ArrayRef<int64_t> dims = getDims();
  if (int64_t(dims.size()) != from.getRank())
    return emitOpError() << "expected one entry of dims for each of the operand's "
                         << from.getRank() << " dimensions, found " << listText(dims);
  if (failed(verifyDims(*this, "dims", dims, to.getRank(), /*increasing=*/true)))
    return failure();
  for (auto [d, dim] : llvm::enumerate(dims))
    if (from.getDimSize(d) != to.getDimSize(dim) && from.getDimSize(d) != 1)
      return emitOpError() << "expected dimension " << d << " of the operand to have size 1 or "
                           << to.getDimSize(dim) << ", the size of the result's dimension " << dim
                           << ", found " << from.getDimSize(d);
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "expected the operand's element type, " << from.getElementType()
                         << ", in the result, found " << to.getElementType()
                         << "; use graph.convert to change it";
  return success();
}

FactorRule BroadcastOp::getShardingRule() {
  RuleBuilder builder(*this);
  builder.rule.jointlyLinear = 1;
  SmallVector<int64_t> source(builder.rule.results[0].size(), -1);
  for (auto [d, dim] : llvm::enumerate(getDims()))
    source[dim] = d;
  for (auto [d, from] : llvm::enumerate(source)) {
    uint16_t factor = builder.factor(builder.resultSize(0, d));
    builder.resultDim(0, d, factor);
    if (from >= 0 && builder.operandSize(0, from) == builder.resultSize(0, d))
      builder.operandDim(0, from, factor);
  }
  return builder.rule;
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getResult().getType())
    return getOperand();
  auto value = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand());
  if (value && value.isSplat())
    return value.resizeSplat(getResult().getType());
  return {};
}

//===----------------------------------------------------------------------===//
// ReshapeOp
//===----------------------------------------------------------------------===//

void ReshapeOp::build(OpBuilder &builder, OperationState &state, Value operand,
                      ArrayRef<int64_t> shape) {
  build(builder, state, RankedTensorType::get(shape, tensorType(operand).getElementType()),
        operand);
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getResult().getType();
  if (from.getNumElements() != to.getNumElements())
    return emitOpError() << "expected as many elements in the result as in the operand, "
                         << from.getNumElements() << " in " << typeText(from) << ", found "
                         << to.getNumElements() << " in " << typeText(to);
  if (from.getElementType() != to.getElementType())
    return emitOpError() << "expected the operand's element type, " << from.getElementType()
                         << ", in the result, found " << to.getElementType()
                         << "; use graph.convert to change it";
  return success();
}

FactorRule ReshapeOp::getShardingRule() { return reshapeRule(*this); }

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getResult().getType())
    return getOperand();
  auto value = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand());
  if (value && value.isSplat())
    return value.resizeSplat(getResult().getType());
  return {};
}

//===----------------------------------------------------------------------===//
// TransposeOp
//===----------------------------------------------------------------------===//

void TransposeOp::build(OpBuilder &builder, OperationState &state, Value operand,
                        ArrayRef<int64_t> perm) {
  RankedTensorType type = tensorType(operand);
  SmallVector<int64_t> shape;
  for (int64_t d : perm)
    shape.push_back(d >= 0 && d < type.getRank() ? type.getDimSize(d) : 1);
  build(builder, state, RankedTensorType::get(shape, type.getElementType()), operand, perm);
}

LogicalResult TransposeOp::verify() {
  RankedTensorType from = getOperand().getType();
  ArrayRef<int64_t> perm = getPerm();
  if (int64_t(perm.size()) != from.getRank())
    return emitOpError() << "expected perm to order the operand's " << from.getRank()
                         << " dimensions, found " << listText(perm);
  if (failed(verifyDims(*this, "perm", perm, from.getRank())))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t d : perm)
    shape.push_back(from.getDimSize(d));
  return verifyResult(*this, 0, shape, from.getElementType());
}

FactorRule TransposeOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (auto [d, from] : llvm::enumerate(getPerm()))
    builder.pass(0, from, 0, d);
  builder.rule.jointlyLinear = 1;
  builder.rule.opPriority = 1;
  return builder.rule;
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getResult().getType() && llvm::is_sorted(getPerm()))
    return getOperand();
  auto value = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand());
  if (value && value.isSplat())
    return value.resizeSplat(getResult().getType());
  return {};
}

//===----------------------------------------------------------------------===//
// SliceOp
//===----------------------------------------------------------------------===//

namespace {
int64_t sliceSize(int64_t start, int64_t limit, int64_t stride) {
  return stride > 0 && limit > start ? (limit - start - 1) / stride + 1 : 0;
}
/// True if the slice takes all of this dimension.
bool takesWholeDim(SliceOp op, unsigned dim) {
  return op.getStarts()[dim] == 0 && op.getStrides()[dim] == 1 &&
         op.getLimits()[dim] == op.getOperand().getType().getDimSize(dim);
}
} // namespace

void SliceOp::build(OpBuilder &builder, OperationState &state, Value operand,
                    ArrayRef<int64_t> starts, ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> ones(starts.size(), 1), shape;
  if (strides.empty())
    strides = ones;
  for (auto [start, limit, stride] : llvm::zip(starts, limits, strides))
    shape.push_back(sliceSize(start, limit, stride));
  build(builder, state, RankedTensorType::get(shape, tensorType(operand).getElementType()), operand,
        starts, limits, strides);
}

void SliceOp::build(OpBuilder &builder, OperationState &state, Value operand, int64_t dim,
                    int64_t start, int64_t limit) {
  SmallVector<int64_t> limits(tensorType(operand).getShape());
  SmallVector<int64_t> starts(limits.size(), 0);
  if (dim >= 0 && dim < int64_t(limits.size())) {
    starts[dim] = start;
    limits[dim] = limit;
  }
  build(builder, state, operand, starts, limits, ArrayRef<int64_t>{});
}

LogicalResult SliceOp::verify() {
  RankedTensorType from = getOperand().getType();
  size_t rank = from.getRank();
  if (getStarts().size() != rank || getLimits().size() != rank || getStrides().size() != rank)
    return emitOpError() << "expected one range for each of the operand's " << rank
                         << " dimensions, found " << getStarts().size() << " starts, "
                         << getLimits().size() << " limits and " << getStrides().size()
                         << " strides";
  SmallVector<int64_t> shape;
  for (auto [d, start, limit, stride] : llvm::enumerate(getStarts(), getLimits(), getStrides())) {
    if (start < 0 || limit < start || limit > from.getDimSize(d))
      return emitOpError() << "expected 0 <= start <= limit <= " << from.getDimSize(d)
                           << ", the operand's size, in dimension " << d << ", found " << start
                           << ":" << limit;
    if (stride < 1)
      return emitOpError() << "expected a stride of at least 1 in dimension " << d << ", found "
                           << stride;
    shape.push_back(sliceSize(start, limit, stride));
  }
  return verifyResult(*this, 0, shape, from.getElementType());
}

FactorRule SliceOp::getShardingRule() {
  RuleBuilder builder(*this);
  builder.rule.jointlyLinear = 1;
  for (unsigned d = 0; d < builder.rule.results[0].size(); ++d) {
    if (takesWholeDim(*this, d)) {
      builder.pass(0, d, 0, d);
    } else {
      builder.operandDim(0, d, builder.replicated(builder.operandSize(0, d)));
      builder.resultDim(0, d, builder.replicated(builder.resultSize(0, d)));
    }
  }
  return builder.rule;
}

FailureOr<SmallVector<Value>> SliceOp::partition(OpBuilder &builder, ValueRange localOperands,
                                                 const PartitionInfo &info) {
  SmallVector<int64_t> limits(getLimits());
  for (unsigned d = 0; d < limits.size(); ++d)
    if (takesWholeDim(*this, d))
      limits[d] = tensorType(localOperands[0]).getDimSize(d);
  FailureOr<SmallVector<Value>> results = cloneWithLocalTypes(*this, builder, localOperands, info);
  if (succeeded(results))
    results->front().getDefiningOp<SliceOp>().setLimits(limits);
  return results;
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getResult().getType())
    return getOperand();
  auto value = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand());
  if (value && value.isSplat())
    return value.resizeSplat(getResult().getType());
  return {};
}

//===----------------------------------------------------------------------===//
// PadOp
//===----------------------------------------------------------------------===//

namespace {
int64_t paddedSize(int64_t size, int64_t low, int64_t high, int64_t interior) {
  return size + low + high + (size > 1 ? (size - 1) * interior : 0);
}
bool keepsDim(PadOp op, unsigned dim) {
  return op.getLow()[dim] == 0 && op.getHigh()[dim] == 0 && op.getInterior()[dim] == 0;
}
} // namespace

void PadOp::build(OpBuilder &builder, OperationState &state, Value operand, Value value,
                  ArrayRef<int64_t> low, ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  RankedTensorType type = tensorType(operand);
  SmallVector<int64_t> zeros(low.size(), 0), shape;
  if (interior.empty())
    interior = zeros;
  for (auto [size, lo, hi, in] : llvm::zip(type.getShape(), low, high, interior))
    shape.push_back(std::max<int64_t>(0, paddedSize(size, lo, hi, in)));
  build(builder, state, RankedTensorType::get(shape, type.getElementType()), operand, value, low,
        high, interior);
}

LogicalResult PadOp::verify() {
  RankedTensorType from = getOperand().getType();
  size_t rank = from.getRank();
  if (getLow().size() != rank || getHigh().size() != rank || getInterior().size() != rank)
    return emitOpError() << "expected low, high and interior to have one entry for each of the "
                            "operand's "
                         << rank << " dimensions, found " << getLow().size() << ", "
                         << getHigh().size() << " and " << getInterior().size();
  if (failed(verifyOperand(*this, "a padding value", getValue(), {}, from.getElementType())))
    return failure();
  SmallVector<int64_t> shape;
  for (unsigned d = 0; d < rank; ++d) {
    if (getInterior()[d] < 0)
      return emitOpError() << "expected interior padding of at least 0 in dimension " << d
                           << ", found " << getInterior()[d];
    int64_t size = paddedSize(from.getDimSize(d), getLow()[d], getHigh()[d], getInterior()[d]);
    if (size < 0)
      return emitOpError() << "expected padding that removes no more than dimension " << d
                           << " holds, found low " << getLow()[d] << " and high " << getHigh()[d]
                           << " for size " << from.getDimSize(d);
    shape.push_back(size);
  }
  return verifyResult(*this, 0, shape, from.getElementType());
}

FactorRule PadOp::getShardingRule() {
  RuleBuilder builder(*this);
  // Padding with zeros commutes with sums.
  if (isZeroConstant(getValue()))
    builder.rule.jointlyLinear = 1;
  for (unsigned d = 0; d < builder.rule.results[0].size(); ++d) {
    if (keepsDim(*this, d)) {
      builder.pass(0, d, 0, d);
    } else {
      builder.operandDim(0, d, builder.replicated(builder.operandSize(0, d)));
      builder.resultDim(0, d, builder.replicated(builder.resultSize(0, d)));
    }
  }
  return builder.rule;
}

//===----------------------------------------------------------------------===//
// ConcatenateOp
//===----------------------------------------------------------------------===//

void ConcatenateOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs,
                          int64_t dim) {
  RankedTensorType type = tensorType(inputs.front());
  SmallVector<int64_t> shape(type.getShape());
  if (dim >= 0 && dim < type.getRank()) {
    shape[dim] = 0;
    for (Value input : inputs)
      shape[dim] += dim < tensorType(input).getRank() ? tensorType(input).getDimSize(dim) : 0;
  }
  build(builder, state, RankedTensorType::get(shape, type.getElementType()), inputs, dim);
}

LogicalResult ConcatenateOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "expected at least one operand, found none";
  RankedTensorType first = tensorType(getInputs().front());
  int64_t dim = getDim();
  if (failed(verifyDims(*this, "dim", {dim}, first.getRank())))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[dim] = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    RankedTensorType type = tensorType(input);
    SmallVector<int64_t> expected(first.getShape());
    if (type.getRank() == first.getRank())
      expected[dim] = type.getDimSize(dim);
    if (type.getShape() != ArrayRef<int64_t>(expected) ||
        type.getElementType() != first.getElementType())
      return emitOpError() << "expected operands that differ in the size of dimension " << dim
                           << " only, found " << typeText(first) << " and, as operand " << i << ", "
                           << typeText(type);
    shape[dim] += type.getDimSize(dim);
  }
  return verifyResult(*this, 0, shape, first.getElementType());
}

FactorRule ConcatenateOp::getShardingRule() {
  RuleBuilder builder(*this);
  unsigned numInputs = getInputs().size();
  builder.rule.jointlyLinear = numInputs < 32 ? (1u << numInputs) - 1 : 0;
  for (unsigned d = 0; d < builder.rule.results[0].size(); ++d) {
    if (d == getDim()) {
      for (unsigned i = 0; i < numInputs; ++i)
        builder.operandDim(i, d, builder.replicated(builder.operandSize(i, d)));
      builder.resultDim(0, d, builder.replicated(builder.resultSize(0, d)));
      continue;
    }
    uint16_t factor = builder.factor(builder.resultSize(0, d));
    for (unsigned i = 0; i < numInputs; ++i)
      builder.operandDim(i, d, factor);
    builder.resultDim(0, d, factor);
  }
  return builder.rule;
}

OpFoldResult ConcatenateOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && getInputs().front().getType() == getResult().getType())
    return getInputs().front();
  return {};
}
