// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One element of a tensor, computed where its indices are known.

#include "RowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace cleave {

//===-- placement ----------------------------------------------------------------------------===//

template <typename Fn> auto RowEmitter::atDepth(unsigned depth, Fn &&fn) {
  std::vector<Scope> deeper;
  if (depth + 1 < scopes_.size()) {
    deeper.assign(std::make_move_iterator(scopes_.begin() + depth + 1),
                  std::make_move_iterator(scopes_.end()));
    scopes_.erase(scopes_.begin() + depth + 1, scopes_.end());
  }
  setInsertionPoint();
  auto result = fn();
  std::move(deeper.begin(), deeper.end(), std::back_inserter(scopes_));
  setInsertionPoint();
  return result;
}

static std::pair<const void *, std::vector<const void *>> keyOf(const void *what,
                                                                ArrayRef<Value> indices) {
  std::vector<const void *> operands;
  operands.reserve(indices.size());
  for (Value value : indices)
    operands.push_back(value.getAsOpaquePointer());
  return {what, std::move(operands)};
}

void RowEmitter::remember(Value tensor, ArrayRef<Value> indices, Value element) {
  scopes_[depthOf(ValueRange(indices))].elements[keyOf(tensor.getAsOpaquePointer(), indices)] =
      element;
}

Value RowEmitter::index(int64_t constant) {
  auto &known = scopes_.front().constants;
  if (auto found = known.find(constant); found != known.end())
    return found->second;
  Value value = atDepth(
      0, [&]() -> Value { return arith::ConstantIndexOp::create(builder_, loc_, constant); });
  scopes_.front().constants[constant] = value;
  return value;
}

Value RowEmitter::binary(IndexOp op, Value a, Value b) {
  std::optional<int64_t> x = getConstantIntValue(a), y = getConstantIntValue(b);
  switch (op) {
  case IndexOp::Add:
    if (x && y)
      return index(*x + *y);
    if (x == 0)
      return b;
    if (y == 0)
      return a;
    break;
  case IndexOp::Mul:
    if (x && y)
      return index(*x * *y);
    if (x == 1)
      return b;
    if (y == 1)
      return a;
    break;
  case IndexOp::FloorDiv:
    if (y == 1)
      return a;
    break;
  case IndexOp::Rem:
    if (y == 1)
      return index(0);
    break;
  }
  static const char tags[4] = {};
  unsigned depth = std::max(depthOf(a), depthOf(b));
  auto key = keyOf(&tags[static_cast<int>(op)], {a, b});
  auto &known = scopes_[depth].elements;
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Value value = atDepth(depth, [&]() -> Value {
    switch (op) {
    case IndexOp::Add:
      return arith::AddIOp::create(builder_, loc_, a, b, arith::IntegerOverflowFlags::nsw);
    case IndexOp::Mul:
      return arith::MulIOp::create(builder_, loc_, a, b, arith::IntegerOverflowFlags::nsw);
    case IndexOp::FloorDiv: // indices are never negative
      return arith::DivUIOp::create(builder_, loc_, a, b);
    case IndexOp::Rem:
      return arith::RemUIOp::create(builder_, loc_, a, b);
    }
    return nullptr;
  });
  scopes_[depth].elements[key] = value;
  return value;
}

Value RowEmitter::index(AffineExpr expr, ArrayRef<Value> dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return index(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto operation = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!operation)
    return nullptr;
  Value a = index(operation.getLHS(), dims), b = index(operation.getRHS(), dims);
  if (!a || !b)
    return nullptr;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return binary(IndexOp::Add, a, b);
  case AffineExprKind::Mul:
    return binary(IndexOp::Mul, a, b);
  case AffineExprKind::FloorDiv:
    return binary(IndexOp::FloorDiv, a, b);
  case AffineExprKind::Mod:
    return binary(IndexOp::Rem, a, b);
  default:
    return nullptr;
  }
}

//===-- scalars of the function --------------------------------------------------------------===//

Value RowEmitter::scalar(Value value) {
  if (auto found = scalars_.find(value); found != scalars_.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Indices indices;
    for (Value position : extract.getIndices())
      if (!indices.emplace_back(scalar(position)))
        return nullptr;
    Value result = element(extract.getTensor(), indices);
    return scalars_[value] = result;
  }
  if (op->getNumRegions() ||
      !isa_and_present<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return fail(op, "'" + op->getName().getStringRef() + "' cannot make a scalar of a kernel");
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value mapped = scalar(operand);
    if (!mapped)
      return nullptr;
    mapping.map(operand, mapped);
  }
  atDepth(0, [&] {
    Operation *clone = builder_.clone(*op, mapping);
    for (auto [from, to] : llvm::zip_equal(op->getResults(), clone->getResults()))
      scalars_[from] = to;
    return 0;
  });
  return scalars_[value];
}

//===-- elements -----------------------------------------------------------------------------===//

Value RowEmitter::element(Value tensor, ArrayRef<Value> indices) {
  unsigned depth = depthOf(ValueRange(indices));
  auto key = keyOf(tensor.getAsOpaquePointer(), indices);
  auto &known = scopes_[depth].elements;
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Value value = atDepth(depth, [&] { return computeElement(tensor, indices); });
  if (value)
    scopes_[depth].elements[key] = value;
  return value;
}

Value RowEmitter::computeElement(Value tensor, ArrayRef<Value> indices) {
  if (auto buffer = buffers_.find(tensor); buffer != buffers_.end())
    return memref::LoadOp::create(builder_, loc_, buffer->second, indices);
  // An output holds this row's part only: other rows are not, or no longer, being computed.
  if (auto buffer = stored_.find(tensor);
      buffer != stored_.end() && indices.take_front(rowIndices_.size()) == ArrayRef(rowIndices_))
    return memref::LoadOp::create(builder_, loc_, buffer->second, indices);
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return fail(kernel_, "a value is not an argument");
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return genericElement(generic, cast<OpResult>(tensor).getResultNumber(), indices);
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return scalar(fill.getInputs().front());
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return sliceElement(slice, indices);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return concatElement(concat, indices);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return padElement(pad, indices);
  if (auto reshape = dyn_cast<tensor::CollapseShapeOp>(op))
    return reshapedElement(reshape.getSrc(), reshape.getResultType(), indices);
  if (auto reshape = dyn_cast<tensor::ExpandShapeOp>(op))
    return reshapedElement(reshape.getSrc(), reshape.getResultType(), indices);
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return scalar(splat.getInput());
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return element(cast.getSource(), indices);
  if (auto empty = dyn_cast<tensor::EmptyOp>(op)) // undefined contents: any value will do
    return arith::ConstantOp::create(builder_, loc_,
                                     builder_.getZeroAttr(empty.getType().getElementType()));
  DenseElementsAttr dense;
  if (matchPattern(tensor, m_Constant(&dense)))
    return denseElement(tensor, dense, indices);
  return fail(op, "'" + op->getName().getStringRef() + "' has no place in a kernel");
}

Value RowEmitter::denseElement(Value tensor, DenseElementsAttr dense, ArrayRef<Value> indices) {
  if (dense.isSplat())
    return atDepth(0, [&]() -> Value {
      return arith::ConstantOp::create(builder_, loc_, dense.getSplatValue<TypedAttr>());
    });
  auto type = cast<RankedTensorType>(tensor.getType());
  auto memref = MemRefType::get(type.getShape(), type.getElementType());
  auto plain = DenseElementsAttr(dense).reshape(
      RankedTensorType::get(type.getShape(), type.getElementType()));
  std::string name = (kernel_.getSymName() + "_constant_" + Twine(constants_++)).str();
  OpBuilder module(result_);
  memref::GlobalOp::create(module, loc_, name, builder_.getStringAttr("private"), memref, plain,
                           /*constant=*/true, builder_.getI64IntegerAttr(64));
  Value buffer = atDepth(
      0, [&]() -> Value { return memref::GetGlobalOp::create(builder_, loc_, memref, name); });
  buffers_[tensor] = buffer;
  return memref::LoadOp::create(builder_, loc_, buffer, indices);
}

Value RowEmitter::sliceElement(tensor::ExtractSliceOp slice, ArrayRef<Value> indices) {
  if (llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic) ||
      llvm::any_of(slice.getStaticStrides(), ShapedType::isDynamic))
    return fail(slice, "a slice must be static");
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  Indices source;
  unsigned next = 0;
  for (auto [dim, offset] : llvm::enumerate(slice.getStaticOffsets())) {
    Value position = dropped.test(dim) ? index(0) : indices[next++];
    position = binary(IndexOp::Mul, position, index(slice.getStaticStrides()[dim]));
    source.push_back(binary(IndexOp::Add, position, index(offset)));
  }
  return element(slice.getSource(), source);
}

Value RowEmitter::concatElement(tensor::ConcatOp op, ArrayRef<Value> indices) {
  // Read every part at a clamped position and select: no branch, and no read out of bounds.
  uint64_t dim = op.getDim();
  int64_t start = 0;
  Value result;
  for (Value input : op.getInputs()) {
    int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(dim);
    if (size == 0)
      continue;
    Indices inside(indices);
    Value first = index(start), zero = index(0), last = index(size - 1);
    Value shifted = arith::SubIOp::create(builder_, loc_, indices[dim], first);
    shifted = arith::MaxSIOp::create(builder_, loc_, shifted, zero);
    inside[dim] = arith::MinSIOp::create(builder_, loc_, shifted, last);
    Value part = element(input, inside);
    if (!part)
      return nullptr;
    if (!result) {
      result = part;
    } else {
      Value here =
          arith::CmpIOp::create(builder_, loc_, arith::CmpIPredicate::sge, indices[dim], first);
      result = arith::SelectOp::create(builder_, loc_, here, part, result);
    }
    start += size;
  }
  return result ? result : fail(op, "the result is empty");
}

Value RowEmitter::padElement(tensor::PadOp op, ArrayRef<Value> indices) {
  Value filler = op.getConstantPaddingValue();
  if (!filler || llvm::any_of(op.getStaticLow(), ShapedType::isDynamic))
    return fail(op, "padding must be static and filled with one scalar");
  if (!(filler = scalar(filler)))
    return nullptr;
  RankedTensorType from = op.getSourceType();
  if (from.getNumElements() == 0)
    return filler;
  Indices source;
  Value inside;
  for (auto [dim, low] : llvm::enumerate(op.getStaticLow())) {
    int64_t size = from.getDimSize(dim);
    if (low == 0 && size == op.getResultType().getDimSize(dim)) {
      source.push_back(indices[dim]);
      continue;
    }
    Value shifted = arith::SubIOp::create(builder_, loc_, indices[dim], index(low));
    // One unsigned comparison tests both ends.
    Value here =
        arith::CmpIOp::create(builder_, loc_, arith::CmpIPredicate::ult, shifted, index(size));
    inside = inside ? arith::AndIOp::create(builder_, loc_, inside, here).getResult() : here;
    Value clamped = arith::MaxSIOp::create(builder_, loc_, shifted, index(0));
    source.push_back(arith::MinSIOp::create(builder_, loc_, clamped, index(size - 1)));
  }
  Value value = element(op.getSource(), source);
  if (!value || !inside)
    return value;
  return arith::SelectOp::create(builder_, loc_, inside, value, filler);
}

Value RowEmitter::reshapedElement(Value source, RankedTensorType to, ArrayRef<Value> indices) {
  auto from = cast<RankedTensorType>(source.getType());
  Indices result(from.getRank());
  // Dimensions pair up where both shapes have gone through the same number of elements.
  int64_t i = from.getRank(), j = to.getRank();
  while (i > 0 || j > 0) {
    int64_t sizeFrom = 1, sizeTo = 1, beginFrom = i, beginTo = j;
    do {
      if (beginFrom > 0 && (sizeFrom <= sizeTo || beginTo == 0))
        sizeFrom *= from.getDimSize(--beginFrom);
      else
        sizeTo *= to.getDimSize(--beginTo);
    } while (sizeFrom != sizeTo);
    Value linear = index(0);
    for (int64_t dim = beginTo; dim < j; ++dim)
      if (to.getDimSize(dim) != 1)
        linear = binary(IndexOp::Add, binary(IndexOp::Mul, linear, index(to.getDimSize(dim))),
                        indices[dim]);
    int64_t below = sizeFrom;
    for (int64_t dim = beginFrom; dim < i; ++dim) {
      int64_t size = from.getDimSize(dim);
      int64_t above = below;
      below /= size;
      Value position = binary(IndexOp::FloorDiv, linear, index(below));
      // The first dimension of a group needs no remainder; one of size 1 is always 0.
      if (size == 1)
        position = index(0);
      else if (above != sizeFrom)
        position = binary(IndexOp::Rem, position, index(size));
      result[dim] = position;
    }
    i = beginFrom;
    j = beginTo;
  }
  return element(source, result);
}

//===-- linalg.generic -----------------------------------------------------------------------===//

Indices RowEmitter::iterationPoint(linalg::GenericOp op, ArrayRef<Value> parallel,
                                   ArrayRef<Value> reduced) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  Indices loops(op.getNumLoops());
  for (auto [result, position] : llvm::zip_equal(map.getResults(), parallel))
    if (auto dim = dyn_cast<AffineDimExpr>(result))
      loops[dim.getPosition()] = position;
  for (auto [loop, position] : llvm::zip_equal(reductionLoops(op), reduced))
    loops[loop] = position;
  return loops;
}

Value RowEmitter::genericElement(linalg::GenericOp op, unsigned result, ArrayRef<Value> indices) {
  AffineMap first = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.getMatchingIndexingMap(&init) != first || !first.isProjectedPermutation())
      return fail(op, "all results must be laid out by one projected permutation of the loops");
  if (llvm::any_of(op.getStaticLoopRanges(), ShapedType::isDynamic) || !op.hasPureTensorSemantics())
    return fail(op, "it must be static and on tensors");

  SmallVector<Value> results;
  if (isReduction(op)) {
    if (failed(reduce(op, indices, results)))
      return nullptr;
  } else {
    Indices loops = iterationPoint(op, indices, {});
    SmallVector<Value> carried;
    if (llvm::is_contained(loops, Value()))
      return fail(op, "a parallel loop is missing from the result");
    if (failed(initialValues(op, indices, carried)) ||
        failed(inlineBody(op, loops, carried, results)))
      return nullptr;
  }
  for (auto [value, computed] : llvm::zip_equal(op.getResults(), results))
    remember(value, indices, computed);
  return results[result];
}

LogicalResult RowEmitter::initialValues(linalg::GenericOp op, ArrayRef<Value> parallel,
                                        SmallVectorImpl<Value> &values) {
  for (auto [number, init] : llvm::enumerate(op.getDpsInits())) {
    BlockArgument inBody = op.getBody()->getArgument(op.getNumDpsInputs() + number);
    if (!isReduction(op) && inBody.use_empty()) {
      values.push_back(nullptr);
      continue;
    }
    if (!values.emplace_back(element(init, parallel)))
      return failure();
  }
  return success();
}

LogicalResult RowEmitter::reduce(linalg::GenericOp op, ArrayRef<Value> parallel,
                                 SmallVectorImpl<Value> &results) {
  SmallVector<Value> carried;
  if (failed(initialValues(op, parallel, carried)))
    return failure();
  SmallVector<scf::ForOp> nest;
  Indices reduced;
  for (unsigned loop : reductionLoops(op)) {
    scf::ForOp opened = openLoop(op.getStaticLoopRanges()[loop], carried);
    carried.assign(opened.getRegionIterArgs().begin(), opened.getRegionIterArgs().end());
    reduced.push_back(opened.getInductionVar());
    nest.push_back(opened);
  }
  SmallVector<Value> totals;
  if (failed(inlineBody(op, iterationPoint(op, parallel, reduced), carried, totals)))
    return failure();
  for (scf::ForOp opened : llvm::reverse(nest)) {
    closeLoop(opened, totals);
    totals.assign(opened.getResults().begin(), opened.getResults().end());
  }
  results.append(totals.begin(), totals.end());
  return success();
}

LogicalResult RowEmitter::inlineBody(linalg::GenericOp op, ArrayRef<Value> loops,
                                     ValueRange carried, SmallVectorImpl<Value> &results) {
  IRMapping mapping;
  Block *body = op.getBody();
  for (auto [number, operand] : llvm::enumerate(op.getDpsInputs())) {
    BlockArgument argument = body->getArgument(number);
    if (argument.use_empty())
      continue;
    if (!isa<RankedTensorType>(operand.getType())) {
      Value value = scalar(operand);
      if (!value)
        return failure();
      mapping.map(argument, value);
      continue;
    }
    Indices indices;
    for (AffineExpr expr : op.getMatchingIndexingMap(op.getDpsInputOperand(number)).getResults())
      if (!indices.emplace_back(index(expr, loops)))
        return op.emitError("an indexing map is not made of loops, constants, sums and products");
    Value value = element(operand, indices);
    if (!value)
      return failure();
    mapping.map(argument, value);
  }
  for (auto [number, value] : llvm::enumerate(carried))
    if (value)
      mapping.map(body->getArgument(op.getNumDpsInputs() + number), value);

  auto mapped = [&](Value value) -> Value {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    return value.getParentBlock() == body ? nullptr : scalar(value);
  };
  for (Operation &inner : body->without_terminator()) {
    if (auto position = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(position.getResult(), loops[position.getDim()]);
      continue;
    }
    SmallVector<Value> operands;
    bool isGather = isa<tensor::ExtractOp>(inner);
    for (Value operand : inner.getOperands().drop_front(isGather)) {
      Value value = mapped(operand);
      if (!value)
        return inner.emitError("an operand is not available in the kernel");
      operands.push_back(value);
      mapping.map(operand, value);
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      Value value = element(extract.getTensor(), operands);
      if (!value)
        return failure();
      mapping.map(extract.getResult(), value);
      continue;
    }
    if (inner.getNumRegions() || inner.getNumResults() == 0)
      return inner.emitError("cannot be inlined into a kernel's loops");
    // What was only rounded for a value that is not stored keeps its precision.
    if (auto extend = dyn_cast<arith::ExtFOp>(inner)) {
      auto truncate = operands.front().getDefiningOp<arith::TruncFOp>();
      if (truncate && truncate.getIn().getType() == extend.getType()) {
        mapping.map(extend.getResult(), truncate.getIn());
        continue;
      }
    }
    atDepth(depthOf(ValueRange(operands)), [&] { return builder_.clone(inner, mapping); });
  }
  for (Value yielded : body->getTerminator()->getOperands()) {
    Value value = mapped(yielded);
    if (!value)
      return op.emitError("the body yields a value that is not available");
    results.push_back(value);
  }
  return success();
}

} // namespace cleave
