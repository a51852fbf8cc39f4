// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ops whose positions are data: every index is made safe before it is used.

#include "LinalgBuilder.h"

#include "cleave/Conversion/LinalgToRowLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace cleave {

static RankedTensorType plain(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

static Value toI64(ImplicitLocOpBuilder &e, Value id) {
  return id.getType().isInteger(64) ? id
                                    : arith::ExtSIOp::create(e, e.getI64Type(), id).getResult();
}

static Value number(ImplicitLocOpBuilder &e, int64_t value) {
  return arith::ConstantIntOp::create(e, value, 64);
}

/// min(max(position, 0), last) as an index.
static Value clamped(ImplicitLocOpBuilder &e, Value position, int64_t last) {
  position = arith::MaxSIOp::create(e, position, number(e, 0));
  position = arith::MinSIOp::create(e, position, number(e, last));
  return arith::IndexCastOp::create(e, e.getIndexType(), position);
}

static Value isBelow(ImplicitLocOpBuilder &e, Value position, int64_t size) {
  return arith::CmpIOp::create(e, arith::CmpIPredicate::ult, position, number(e, size));
}

Value LinalgBuilder::embedding(graph::EmbeddingOp op, Value ids, Value table, Value offset) {
  RankedTensorType type = op.getResult().getType();
  type = RankedTensorType::get(type.getShape(), type.getElementType());
  unsigned rank = type.getRank();
  int64_t rows = typeOf(table).getDimSize(0);
  SmallVector<AffineExpr> leading;
  for (unsigned d = 0; d + 1 < rank; ++d)
    leading.push_back(b.getAffineDimExpr(d));
  AffineMap map = AffineMap::get(rank, 0, leading, b.getContext());
  return parallel(type, ids, map, [&](ImplicitLocOpBuilder &e, ValueRange v) -> Value {
    // An id is data: any value is read safely, and gives zero outside the table.
    Value id = v[0];
    if (!id.getType().isInteger(64))
      id = arith::ExtSIOp::create(e, e.getI64Type(), id);
    auto number = [&](int64_t n) -> Value { return arith::ConstantIntOp::create(e, n, 64); };
    Value zero = scalarConstant(e, type.getElementType(), 0);
    if (rows == 0)
      return zero;
    if (offset)
      id = arith::SubIOp::create(e, id, arith::IndexCastOp::create(e, e.getI64Type(), offset));
    Value inside = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, id, number(rows));
    Value row = arith::MaxSIOp::create(e, id, number(0));
    row = arith::MinSIOp::create(e, row, number(rows - 1));
    row = arith::IndexCastOp::create(e, e.getIndexType(), row);
    Value column = linalg::IndexOp::create(e, rank - 1);
    Value element = tensor::ExtractOp::create(e, table, ValueRange{row, column});
    return arith::SelectOp::create(e, inside, element, zero);
  });
}

Value LinalgBuilder::gather(graph::GatherOp op, Value x, Value indices) {
  RankedTensorType type = plain(op.getResult().getType()), from = typeOf(x);
  unsigned axis = op.getAxis(), rank = type.getRank(), indexRank = typeOf(indices).getRank();
  int64_t size = from.getDimSize(axis);
  SmallVector<AffineExpr> positions;
  for (unsigned d = 0; d < indexRank; ++d)
    positions.push_back(b.getAffineDimExpr(axis + d));
  AffineMap map = AffineMap::get(rank, 0, positions, b.getContext());
  return parallel(type, indices, map, [&](ImplicitLocOpBuilder &e, ValueRange v) -> Value {
    Value zero = scalarConstant(e, type.getElementType(), 0);
    if (from.getNumElements() == 0)
      return zero;
    Value id = toI64(e, v[0]);
    SmallVector<Value> at;
    for (unsigned d = 0; d < axis; ++d)
      at.push_back(linalg::IndexOp::create(e, d));
    at.push_back(clamped(e, id, size - 1));
    for (unsigned d = axis + indexRank; d < rank; ++d)
      at.push_back(linalg::IndexOp::create(e, d));
    Value element = tensor::ExtractOp::create(e, x, at);
    return arith::SelectOp::create(e, isBelow(e, id, size), element, zero);
  });
}

Value LinalgBuilder::scatterAdd(graph::ScatterAddOp op, Value x, Value indices, Value updates) {
  // Each element adds the updates that are meant for it, in their order.
  RankedTensorType type = plain(op.getResult().getType());
  unsigned axis = op.getAxis(), rank = type.getRank();
  Type element = type.getElementType(), wide = accumulatorType(element);
  if (typeOf(indices).getRank() == 0) { // one update: seen as a list of one
    SmallVector<int64_t> shape(typeOf(updates).getShape());
    shape.insert(shape.begin() + axis, 1);
    updates = reshape(updates, RankedTensorType::get(shape, element));
    indices = reshape(indices, RankedTensorType::get({1}, typeOf(indices).getElementType()));
  }
  unsigned indexRank = typeOf(indices).getRank();
  auto sums = RankedTensorType::get(type.getShape(), wide);
  if (wide != element)
    x = pointwise(sums, x,
                  [](ImplicitLocOpBuilder &e, ValueRange v) { return toCompute(e, v[0]); });

  SmallVector<AffineExpr> out, index, update;
  for (unsigned d = 0; d < rank; ++d)
    out.push_back(b.getAffineDimExpr(d));
  for (unsigned d = 0; d < indexRank; ++d)
    index.push_back(b.getAffineDimExpr(rank + d));
  llvm::append_range(update, ArrayRef(out).take_front(axis));
  llvm::append_range(update, index);
  llvm::append_range(update, ArrayRef(out).drop_front(axis + 1));
  SmallVector<AffineMap> maps;
  for (ArrayRef<AffineExpr> exprs : {ArrayRef(index), ArrayRef(update), ArrayRef(out)})
    maps.push_back(AffineMap::get(rank + indexRank, 0, exprs, b.getContext()));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators.append(indexRank, utils::IteratorType::reduction);
  auto body = [&](OpBuilder &inner, Location loc, ValueRange v) {
    ImplicitLocOpBuilder e(loc, inner);
    Value position = linalg::IndexOp::create(e, axis);
    position = arith::IndexCastOp::create(e, e.getI64Type(), position);
    Value here = arith::CmpIOp::create(e, arith::CmpIPredicate::eq, toI64(e, v[0]), position);
    Value term = toCompute(e, v[1]);
    Value sum = isa<FloatType>(wide) ? arith::AddFOp::create(e, v[2], term).getResult()
                                     : arith::AddIOp::create(e, v[2], term).getResult();
    linalg::YieldOp::create(e, arith::SelectOp::create(e, here, sum, v[2]).getResult());
  };
  auto scatter =
      linalg::GenericOp::create(b, sums, ValueRange{indices, updates}, x, maps, iterators, body);
  scatter->setAttr(kScatterAxisAttr, b.getI64IntegerAttr(axis));
  Value result = scatter.getResult(0);
  if (wide == element)
    return result;
  return pointwise(type, result, [&](ImplicitLocOpBuilder &e, ValueRange v) {
    return fromCompute(e, v[0], element);
  });
}

/// Where a part of `sizes` starts in `from`: as asked for, but inside. One i64 a dimension.
static SmallVector<Value> startsInside(ImplicitLocOpBuilder &e, RankedTensorType from,
                                       ArrayRef<int64_t> sizes, ValueRange starts) {
  SmallVector<Value> result;
  for (auto [d, start] : llvm::enumerate(starts))
    result.push_back(clamped(e, toI64(e, start), from.getDimSize(d) - sizes[d]));
  return result;
}

Value LinalgBuilder::dynamicSlice(graph::DynamicSliceOp op, Value x, ValueRange starts) {
  RankedTensorType type = plain(op.getResult().getType());
  AffineMap scalar = AffineMap::get(type.getRank(), 0, {}, b.getContext());
  SmallVector<AffineMap> maps(starts.size(), scalar);
  return parallel(type, starts, maps, [&](ImplicitLocOpBuilder &e, ValueRange v) -> Value {
    SmallVector<Value> at = startsInside(e, typeOf(x), type.getShape(), v);
    for (auto [d, start] : llvm::enumerate(at))
      start = arith::AddIOp::create(e, start, linalg::IndexOp::create(e, d));
    return tensor::ExtractOp::create(e, x, at);
  });
}

Value LinalgBuilder::dynamicUpdateSlice(graph::DynamicUpdateSliceOp op, Value x, Value update,
                                        ValueRange starts) {
  RankedTensorType type = plain(op.getResult().getType()), part = typeOf(update);
  if (part.getNumElements() == 0)
    return x;
  SmallVector<Value> inputs{x};
  llvm::append_range(inputs, starts);
  SmallVector<AffineMap> maps(inputs.size(), AffineMap::get(type.getRank(), 0, {}, b.getContext()));
  maps.front() = identity(type.getRank());
  return parallel(type, inputs, maps, [&](ImplicitLocOpBuilder &e, ValueRange v) -> Value {
    SmallVector<Value> at = startsInside(e, type, part.getShape(), v.drop_front());
    Value inside;
    for (auto [d, position] : llvm::enumerate(at)) {
      Value here = arith::SubIOp::create(e, linalg::IndexOp::create(e, d), position);
      here = arith::IndexCastOp::create(e, e.getI64Type(), here);
      Value fits = isBelow(e, here, part.getDimSize(d));
      inside = inside ? arith::AndIOp::create(e, inside, fits).getResult() : fits;
      position = clamped(e, here, part.getDimSize(d) - 1);
    }
    Value element = tensor::ExtractOp::create(e, update, at);
    return inside ? arith::SelectOp::create(e, inside, element, v[0]).getResult() : element;
  });
}

} // namespace cleave
