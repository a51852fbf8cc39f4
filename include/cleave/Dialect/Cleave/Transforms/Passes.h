// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Passes of the sharding language.

#ifndef CLEAVE_DIALECT_CLEAVE_TRANSFORMS_PASSES_H
#define CLEAVE_DIALECT_CLEAVE_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace cleave {

#define GEN_PASS_DECL
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"

} // namespace cleave

#endif // CLEAVE_DIALECT_CLEAVE_TRANSFORMS_PASSES_H
