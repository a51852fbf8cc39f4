// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sums of tensors that are zero but for parts which lie beside each other.

#ifndef CLEAVE_LIB_DIALECT_GRAPH_IR_PADDEDPARTS_H
#define CLEAVE_LIB_DIALECT_GRAPH_IR_PADDEDPARTS_H

#include "mlir/IR/Builders.h"

namespace cleave::graph {

/// Replaces a sum of zero-padded parts that together fill one dimension by their concatenation: so
/// the gradients by all slices of a value add up. Returns `sum` itself where it is no such sum.
mlir::Value concatenatePaddedParts(mlir::OpBuilder &builder, mlir::Value sum);

} // namespace cleave::graph

#endif // CLEAVE_LIB_DIALECT_GRAPH_IR_PADDEDPARTS_H
