// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Builds primitives in few words.

#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

#include <numeric>

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

Type graph::computeType(Type elementType) {
  return elementType.isF64() ? elementType : Float32Type::get(elementType.getContext());
}

Value PrimitiveBuilder::splat(ArrayRef<int64_t> shape, Type elementType, double number) {
  return make<ConstantOp>(RankedTensorType::get(shape, elementType), number);
}

Value PrimitiveBuilder::convert(Value x, Type elementType) {
  return typeOf(x).getElementType() == elementType ? x : make<ConvertOp>(x, elementType);
}

Value PrimitiveBuilder::iota(ArrayRef<int64_t> shape, Type elementType, int64_t dim, Value offset) {
  return make<IotaOp>(RankedTensorType::get(shape, elementType), dim, offset);
}

Value PrimitiveBuilder::broadcast(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  return make<BroadcastOp>(RankedTensorType::get(shape, typeOf(x).getElementType()), x, dims);
}

Value PrimitiveBuilder::broadcastBack(Value x, ArrayRef<int64_t> shape, ArrayRef<int64_t> missing) {
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (!llvm::is_contained(missing, d))
      dims.push_back(d);
  return broadcast(x, shape, dims);
}

Value PrimitiveBuilder::sliceLast(Value x, int64_t start, int64_t limit) {
  return make<SliceOp>(x, int64_t(shapeOf(x).size()) - 1, start, limit);
}
