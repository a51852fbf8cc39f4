// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A dot_general as a batched matrix product with strides.
#ifndef CLEAVE_CONVERSION_PRODUCTS_H
#define CLEAVE_CONVERSION_PRODUCTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstdint>
#include <optional>

namespace cleave {

/// Row-major strides, in elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Several dimensions walked as one.
struct Group {
  int64_t size = 1, stride = 0;
};

/// Dimensions of the given sizes and strides, major to minor, as one; none if no stride does it.
std::optional<Group> collapse(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape,
                              llvm::ArrayRef<int64_t> strides);

/// C[b, m, n] = sum over k of A[b, m, k] B[b, k, n].
struct Product {
  int64_t batch, m, n, k;
  /// Strides of (b, m, k), (b, k, n), (b, m, n).
  std::array<int64_t, 3> a, b, c;
  /// Position of the left operand's contracting dimension that is outermost in k, in the op's list
  /// of contracting dimensions, and the elements of k that one step of it makes; -1 without any.
  int64_t outermost = -1, outermostStep = 1;
};

/// The dimensions of a dot_general by role, as the op lists them.
struct ProductDims {
  llvm::SmallVector<int64_t> lhsBatch, rhsBatch, lhsFree, rhsFree, lhsContract, rhsContract;
};

/// The product, if both operands can be walked with single strides as they lie; otherwise none.
std::optional<Product> makeProduct(const ProductDims &dims, llvm::ArrayRef<int64_t> lhsShape,
                                   llvm::ArrayRef<int64_t> lhsStrides,
                                   llvm::ArrayRef<int64_t> rhsShape,
                                   llvm::ArrayRef<int64_t> rhsStrides);

} // namespace cleave

#endif // CLEAVE_CONVERSION_PRODUCTS_H
