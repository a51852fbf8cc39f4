// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Replacing an op by its decomposition.

#ifndef CLEAVE_DIALECT_GRAPH_TRANSFORMS_DECOMPOSE_H
#define CLEAVE_DIALECT_GRAPH_TRANSFORMS_DECOMPOSE_H

#include "cleave/Dialect/Cleave/IR/CleaveInterfaces.h"

namespace cleave::graph {

/// Builds the decomposition in the op's place and erases the op. New ops get its location, block
/// and instance; its results' shardings and logical axes pass to the values that replace them. On
/// failure an error has been emitted and the op is still there.
llvm::LogicalResult replaceByDecomposition(DecomposableOpInterface op);

} // namespace cleave::graph

#endif // CLEAVE_DIALECT_GRAPH_TRANSFORMS_DECOMPOSE_H
