// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Conversion/Products.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace cleave;

llvm::SmallVector<int64_t> cleave::rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * std::max<int64_t>(1, shape[i + 1]);
  return strides;
}

std::optional<Group> cleave::collapse(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape,
                                      llvm::ArrayRef<int64_t> strides) {
  Group group;
  bool first = true;
  for (int64_t dim : dims) {
    group.size *= shape[dim];
    if (shape[dim] == 1)
      continue;
    if (!first && group.stride != shape[dim] * strides[dim])
      return std::nullopt;
    group.stride = strides[dim];
    first = false;
  }
  return group;
}

/// One of the last two strides must be 1: a dimension of size 1 may have any stride.
static bool hasUnitStride(Group &rows, Group &columns) {
  if (columns.stride == 1 || rows.stride == 1)
    return true;
  if (columns.size == 1) {
    columns.stride = 1;
    return true;
  }
  if (rows.size == 1) {
    rows.stride = 1;
    return true;
  }
  return false;
}

std::optional<Product> cleave::makeProduct(const ProductDims &dims,
                                           llvm::ArrayRef<int64_t> lhsShape,
                                           llvm::ArrayRef<int64_t> lhsStrides,
                                           llvm::ArrayRef<int64_t> rhsShape,
                                           llvm::ArrayRef<int64_t> rhsStrides) {
  // The sum may run over the contracting dimensions in any order: that of the left operand's
  // memory.
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, dims.lhsContract.size()));
  llvm::sort(order, [&](int64_t x, int64_t y) {
    return std::make_pair(-lhsStrides[dims.lhsContract[x]], x) <
           std::make_pair(-lhsStrides[dims.lhsContract[y]], y);
  });
  llvm::SmallVector<int64_t> lhsContract, rhsContract;
  for (int64_t i : order) {
    lhsContract.push_back(dims.lhsContract[i]);
    rhsContract.push_back(dims.rhsContract[i]);
  }
  auto lb = collapse(dims.lhsBatch, lhsShape, lhsStrides);
  auto rb = collapse(dims.rhsBatch, rhsShape, rhsStrides);
  auto m = collapse(dims.lhsFree, lhsShape, lhsStrides);
  auto n = collapse(dims.rhsFree, rhsShape, rhsStrides);
  auto lk = collapse(lhsContract, lhsShape, lhsStrides);
  auto rk = collapse(rhsContract, rhsShape, rhsStrides);
  if (!lb || !rb || !m || !n || !lk || !rk)
    return std::nullopt;
  if (!hasUnitStride(*m, *lk) || !hasUnitStride(*rk, *n))
    return std::nullopt;
  Product product;
  product.batch = lb->size;
  product.m = m->size;
  product.n = n->size;
  product.k = lk->size;
  product.a = {lb->stride, m->stride, lk->stride};
  product.b = {rb->stride, rk->stride, n->stride};
  product.c = {m->size * n->size, n->size, 1};
  for (auto [position, dim] : llvm::enumerate(lhsContract)) {
    if (lhsShape[dim] == 1 && position + 1 < lhsContract.size())
      continue; // of one step, so that the next one is as far out
    product.outermost = order[position];
    for (int64_t inner : llvm::ArrayRef(lhsContract).drop_front(position + 1))
      product.outermostStep *= lhsShape[inner];
    break;
  }
  return product;
}
