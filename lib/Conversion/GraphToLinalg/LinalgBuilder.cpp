// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ops that move or combine elements.

#include "LinalgBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;

namespace cleave {

using utils::IteratorType;

Value LinalgBuilder::empty(RankedTensorType type) {
  return tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
}

Value LinalgBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }

Value LinalgBuilder::parallel(RankedTensorType type, ValueRange inputs,
                              ArrayRef<AffineMap> inputMaps, ElementBody body) {
  unsigned rank = type.getRank();
  SmallVector<AffineMap> maps(inputMaps);
  maps.push_back(identity(rank));
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  bool hasBody = true;
  auto op = linalg::GenericOp::create(b, type, inputs, empty(type), maps, iterators,
                                      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
                                        ImplicitLocOpBuilder element(loc, inner);
                                        Value result = body(element, arguments.drop_back());
                                        hasBody = result != nullptr;
                                        linalg::YieldOp::create(
                                            element, hasBody ? result : arguments.back());
                                      });
  if (hasBody)
    return op.getResult(0);
  op.erase();
  return nullptr;
}

Value LinalgBuilder::pointwise(RankedTensorType type, ValueRange inputs, ElementBody body) {
  SmallVector<AffineMap> maps(inputs.size(), identity(type.getRank()));
  return parallel(type, inputs, maps, body);
}

Value LinalgBuilder::constant(graph::ConstantOp op) {
  RankedTensorType type = op.getResult().getType();
  auto plain = RankedTensorType::get(type.getShape(), type.getElementType());
  DenseElementsAttr value = op.getValue();
  if (value.getType() != plain)
    value = value.isSplat() ? value.resizeSplat(plain) : value.reshape(plain);
  return arith::ConstantOp::create(b, plain, value);
}

Value LinalgBuilder::iota(graph::IotaOp op, Value offset) {
  RankedTensorType type = op.getResult().getType();
  type = RankedTensorType::get(type.getShape(), type.getElementType());
  Type element = type.getElementType();
  return parallel(type, {}, {}, [&](ImplicitLocOpBuilder &e, ValueRange) -> Value {
    Value position = linalg::IndexOp::create(e, op.getDim());
    if (offset)
      position = arith::AddIOp::create(e, position, offset);
    Value number = arith::IndexCastOp::create(e, e.getI64Type(), position);
    if (auto integer = dyn_cast<IntegerType>(element))
      return integer.getWidth() == 64 ? number
                                      : arith::TruncIOp::create(e, integer, number).getResult();
    return fromCompute(e, arith::SIToFPOp::create(e, accumulatorType(element), number), element);
  });
}

Value LinalgBuilder::broadcast(graph::BroadcastOp op, Value x) {
  RankedTensorType type = op.getResult().getType(), from = typeOf(x);
  type = RankedTensorType::get(type.getShape(), type.getElementType());
  SmallVector<AffineExpr> sources;
  for (auto [d, dim] : llvm::enumerate(op.getDims()))
    sources.push_back(from.getDimSize(d) == 1 ? b.getAffineConstantExpr(0)
                                              : b.getAffineDimExpr(dim));
  AffineMap map = AffineMap::get(type.getRank(), 0, sources, b.getContext());
  return parallel(type, x, map, [](ImplicitLocOpBuilder &, ValueRange v) { return v[0]; });
}

Value LinalgBuilder::reshape(Value x, RankedTensorType type) {
  type = RankedTensorType::get(type.getShape(), type.getElementType());
  RankedTensorType from = typeOf(x);
  if (from == type)
    return x;
  if (auto groups = getReassociationIndicesForReshape(from, type)) {
    if (from.getRank() > type.getRank())
      return tensor::CollapseShapeOp::create(b, type, x, *groups);
    return tensor::ExpandShapeOp::create(b, type, x, *groups);
  }
  // By way of one dimension.
  auto flat = RankedTensorType::get({from.getNumElements()}, from.getElementType());
  auto all = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank > 0)
      groups.emplace_back(llvm::to_vector<2>(llvm::seq<int64_t>(0, rank)));
    return groups;
  };
  if (from.getRank() != 1)
    x = from.getRank() == 0
            ? tensor::ExpandShapeOp::create(b, flat, x, all(0)).getResult()
            : tensor::CollapseShapeOp::create(b, flat, x, all(from.getRank())).getResult();
  if (type.getRank() == 1)
    return x;
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(b, type, x, all(0));
  return tensor::ExpandShapeOp::create(b, type, x, all(type.getRank()));
}

Value LinalgBuilder::transpose(graph::TransposeOp op, Value x) {
  RankedTensorType type = op.getResult().getType();
  type = RankedTensorType::get(type.getShape(), type.getElementType());
  SmallVector<AffineExpr> sources(type.getRank());
  for (auto [d, source] : llvm::enumerate(op.getPerm()))
    sources[source] = b.getAffineDimExpr(d);
  AffineMap map = AffineMap::get(type.getRank(), 0, sources, b.getContext());
  return parallel(type, x, map, [](ImplicitLocOpBuilder &, ValueRange v) { return v[0]; });
}

Value LinalgBuilder::slice(graph::SliceOp op, Value x) {
  RankedTensorType type = op.getResult().getType();
  auto attributes = [&](ArrayRef<int64_t> values) {
    return llvm::map_to_vector(
        values, [&](int64_t value) -> OpFoldResult { return b.getIndexAttr(value); });
  };
  return tensor::ExtractSliceOp::create(b, x, attributes(op.getStarts()),
                                        attributes(type.getShape()), attributes(op.getStrides()));
}

Value LinalgBuilder::pad(graph::PadOp op, Value x, Value filler) {
  RankedTensorType type = op.getResult().getType(), from = typeOf(x);
  type = RankedTensorType::get(type.getShape(), type.getElementType());
  unsigned rank = type.getRank();
  AffineMap scalarMap = AffineMap::get(rank, 0, {}, b.getContext());
  if (from.getNumElements() == 0)
    return parallel(type, filler, scalarMap,
                    [](ImplicitLocOpBuilder &, ValueRange v) { return v[0]; });
  return parallel(type, filler, scalarMap, [&](ImplicitLocOpBuilder &e, ValueRange v) -> Value {
    // Reads a clamped position of the operand, and takes the filler outside and in the gaps.
    SmallVector<Value> indices;
    Value inside;
    auto require = [&](Value condition) {
      inside = inside ? arith::AndIOp::create(e, inside, condition).getResult() : condition;
    };
    for (unsigned d = 0; d < rank; ++d) {
      auto number = [&](int64_t n) -> Value { return arith::ConstantIndexOp::create(e, n); };
      int64_t low = op.getLow()[d], step = op.getInterior()[d] + 1, size = from.getDimSize(d);
      Value position = linalg::IndexOp::create(e, d);
      if (low == 0 && step == 1 && type.getDimSize(d) <= size) {
        indices.push_back(position);
        continue;
      }
      position = arith::SubIOp::create(e, position, number(low));
      Value last = number((size - 1) * step);
      require(arith::CmpIOp::create(e, arith::CmpIPredicate::ule, position, last));
      position = arith::MaxSIOp::create(e, position, number(0));
      position = arith::MinSIOp::create(e, position, last);
      if (step > 1) {
        Value rest = arith::RemUIOp::create(e, position, number(step));
        require(arith::CmpIOp::create(e, arith::CmpIPredicate::eq, rest, number(0)));
        position = arith::DivUIOp::create(e, position, number(step));
      }
      indices.push_back(position);
    }
    Value element = tensor::ExtractOp::create(e, x, indices);
    return inside ? arith::SelectOp::create(e, inside, element, v[0]).getResult() : element;
  });
}

//===-- reductions ---------------------------------------------------------------------------===//

static Value combine(ImplicitLocOpBuilder &e, graph::ReduceKind kind, Value sum, Value x) {
  constexpr auto reassociate = arith::FastMathFlags::reassoc | arith::FastMathFlags::contract;
  constexpr auto noSignedZeros = arith::FastMathFlags::nsz;
  bool isFloat = isa<FloatType>(x.getType());
  switch (kind) {
  case graph::ReduceKind::Sum:
    return isFloat ? arith::AddFOp::create(e, sum, x, reassociate).getResult()
                   : arith::AddIOp::create(e, sum, x).getResult();
  case graph::ReduceKind::Prod:
    return isFloat ? arith::MulFOp::create(e, sum, x, reassociate).getResult()
                   : arith::MulIOp::create(e, sum, x).getResult();
  case graph::ReduceKind::Max:
    return isFloat ? arith::MaximumFOp::create(e, sum, x, noSignedZeros).getResult()
                   : arith::MaxSIOp::create(e, sum, x).getResult();
  case graph::ReduceKind::Min:
    return isFloat ? arith::MinimumFOp::create(e, sum, x, noSignedZeros).getResult()
                   : arith::MinSIOp::create(e, sum, x).getResult();
  }
  llvm_unreachable("all kinds are handled");
}

static TypedAttr neutral(Builder &b, graph::ReduceKind kind, Type type) {
  if (auto real = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = real.getFloatSemantics();
    switch (kind) {
    case graph::ReduceKind::Sum:
      return b.getFloatAttr(real, APFloat::getZero(semantics));
    case graph::ReduceKind::Prod:
      return b.getFloatAttr(real, APFloat(semantics, 1));
    case graph::ReduceKind::Max:
    case graph::ReduceKind::Min:
      return b.getFloatAttr(real, APFloat::getInf(semantics, kind == graph::ReduceKind::Max));
    }
  }
  unsigned width = type.getIntOrFloatBitWidth();
  switch (kind) {
  case graph::ReduceKind::Sum:
    return b.getIntegerAttr(type, APInt(width, 0));
  case graph::ReduceKind::Prod:
    return b.getIntegerAttr(type, APInt(width, 1));
  case graph::ReduceKind::Max:
    return b.getIntegerAttr(type, APInt::getSignedMinValue(width));
  case graph::ReduceKind::Min:
    return b.getIntegerAttr(type, APInt::getSignedMaxValue(width));
  }
  llvm_unreachable("all kinds are handled");
}

Value LinalgBuilder::reduce(graph::ReduceOp op, Value x) {
  RankedTensorType type = op.getResult().getType(), from = typeOf(x);
  Type element = type.getElementType(), wide = accumulatorType(element);
  auto sums = RankedTensorType::get(type.getShape(), wide);
  Value start = arith::ConstantOp::create(b, neutral(b, op.getKind(), wide));
  Value initial = linalg::FillOp::create(b, start, empty(sums)).getResult(0);

  unsigned rank = from.getRank();
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  for (int64_t d : op.getDims())
    iterators[d] = IteratorType::reduction;
  SmallVector<AffineExpr> kept;
  for (unsigned d = 0; d < rank; ++d)
    if (iterators[d] == IteratorType::parallel)
      kept.push_back(b.getAffineDimExpr(d));
  SmallVector<AffineMap> maps = {identity(rank), AffineMap::get(rank, 0, kept, b.getContext())};
  Value result = linalg::GenericOp::create(b, sums, x, initial, maps, iterators,
                                           [&](OpBuilder &inner, Location loc, ValueRange v) {
                                             ImplicitLocOpBuilder e(loc, inner);
                                             Value sum =
                                                 combine(e, op.getKind(), v[1], toCompute(e, v[0]));
                                             linalg::YieldOp::create(e, sum);
                                           })
                     .getResult(0);
  if (wide == element)
    return result;
  return pointwise(
      RankedTensorType::get(type.getShape(), element), result,
      [&](ImplicitLocOpBuilder &e, ValueRange v) { return fromCompute(e, v[0], element); });
}

Value LinalgBuilder::dot(graph::DotGeneralOp op, Value lhs, Value rhs) {
  RankedTensorType type = op.getResult().getType();
  Type element = type.getElementType(), wide = accumulatorType(element);
  auto sums = RankedTensorType::get(type.getShape(), wide);
  Value start = arith::ConstantOp::create(b, neutral(b, graph::ReduceKind::Sum, wide));
  Value initial = linalg::FillOp::create(b, start, empty(sums)).getResult(0);

  unsigned rank = type.getRank(), contracted = op.getLhsContract().size();
  SmallVector<AffineExpr> left(typeOf(lhs).getRank()), right(typeOf(rhs).getRank()), out;
  unsigned next = 0;
  for (auto [l, r] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    left[l] = right[r] = b.getAffineDimExpr(next++);
  for (int64_t d : op.getLhsFree())
    left[d] = b.getAffineDimExpr(next++);
  for (int64_t d : op.getRhsFree())
    right[d] = b.getAffineDimExpr(next++);
  for (unsigned d = 0; d < rank; ++d)
    out.push_back(b.getAffineDimExpr(d));
  for (auto [l, r] : llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    left[l] = right[r] = b.getAffineDimExpr(next++);
  SmallVector<AffineMap> maps;
  for (ArrayRef<AffineExpr> exprs : {ArrayRef(left), ArrayRef(right), ArrayRef(out)})
    maps.push_back(AffineMap::get(rank + contracted, 0, exprs, b.getContext()));
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators.append(contracted, IteratorType::reduction);
  bool isFloat = isa<FloatType>(wide);
  auto body = [&](OpBuilder &inner, Location loc, ValueRange v) {
    ImplicitLocOpBuilder e(loc, inner);
    auto widen = [&](Value x) {
      x = toCompute(e, x);
      return x.getType() == wide ? x
             : isFloat           ? arith::ExtFOp::create(e, wide, x).getResult()
                                 : arith::ExtSIOp::create(e, wide, x).getResult();
    };
    Value x = widen(v[0]), y = widen(v[1]);
    Value product = isFloat
                        ? arith::MulFOp::create(e, x, y, arith::FastMathFlags::contract).getResult()
                        : arith::MulIOp::create(e, x, y).getResult();
    linalg::YieldOp::create(e, combine(e, graph::ReduceKind::Sum, v[2], product));
  };
  Value result =
      linalg::GenericOp::create(b, sums, ValueRange{lhs, rhs}, initial, maps, iterators, body)
          .getResult(0);
  if (wide == element)
    return result;
  return pointwise(
      RankedTensorType::get(type.getShape(), element), result,
      [&](ImplicitLocOpBuilder &e, ValueRange v) { return fromCompute(e, v[0], element); });
}

} // namespace cleave
