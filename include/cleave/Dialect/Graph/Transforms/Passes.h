// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Passes over the graph dialect.

#ifndef CLEAVE_DIALECT_GRAPH_TRANSFORMS_PASSES_H
#define CLEAVE_DIALECT_GRAPH_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace cleave::graph {

#define GEN_PASS_DECL
#include "cleave/Dialect/Graph/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "cleave/Dialect/Graph/Transforms/Passes.h.inc"

} // namespace cleave::graph

#endif // CLEAVE_DIALECT_GRAPH_TRANSFORMS_PASSES_H
