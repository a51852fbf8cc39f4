// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products that are added to what is in memory already.
#ifndef CLEAVE_CONVERSION_ADDEDPRODUCTS_H
#define CLEAVE_CONVERSION_ADDEDPRODUCTS_H

#include "cleave/Dialect/Graph/IR/Repetitions.h"

namespace cleave {

/// The product that the op adds to a running sum, if nothing else needs the product; otherwise
/// null. Such a product is added up where the sum lies. Forming kernels and lowering to
/// instructions must agree on this.
inline graph::DotGeneralOp addedProduct(mlir::Operation *op) {
  auto add = llvm::dyn_cast<graph::AddOp>(op);
  if (!add || !graph::isRunningSum(add.getLhs()))
    return {};
  auto product = add.getRhs().getDefiningOp<graph::DotGeneralOp>();
  if (!product || !product->hasOneUse() || product.getType() != add.getLhs().getType())
    return {};
  mlir::Operation *sum = add.getLhs().getDefiningOp();
  return !sum || sum->isBeforeInBlock(product) ? product : graph::DotGeneralOp();
}

} // namespace cleave

#endif // CLEAVE_CONVERSION_ADDEDPRODUCTS_H
