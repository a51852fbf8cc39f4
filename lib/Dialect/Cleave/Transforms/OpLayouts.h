// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The layouts of an op in resharded IR. Private to lib/Dialect/Cleave/Transforms.

#ifndef CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_OPLAYOUTS_H
#define CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_OPLAYOUTS_H

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"

namespace cleave {

/// The layout that a sharding means for a value of this type; replicated if the sharding is null,
/// without dimensions for anything but a tensor. Of a verified sharding.
Layout layoutOfSharding(ShardingAttr sharding, mlir::Type type, const Mesh &mesh);

/// How an op of resharded IR is laid out.
struct OpLayouts {
  FactorRule rule;
  FactorAxes axes;
  llvm::SmallVector<Layout> operands, results;
};

/// Reads the layouts of an op and checks that they are those of one split: dimensions follow from
/// the axes of the factors, partial axes from sharded reductions and from partial operands in which
/// the op is linear. If not, `why` says what does not fit. An op without a rule must be whole.
std::optional<OpLayouts> inferOpLayouts(mlir::Operation *op, const Mesh &mesh, std::string &why);

} // namespace cleave

#endif // CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_OPLAYOUTS_H
