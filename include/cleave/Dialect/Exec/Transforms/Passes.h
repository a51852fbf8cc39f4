// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Passes of the exec dialect.

#ifndef CLEAVE_DIALECT_EXEC_TRANSFORMS_PASSES_H
#define CLEAVE_DIALECT_EXEC_TRANSFORMS_PASSES_H

#include "cleave/Dialect/Exec/IR/ExecOps.h"
#include "mlir/Pass/Pass.h"

namespace cleave {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "cleave/Dialect/Exec/Transforms/Passes.h.inc"

} // namespace cleave

#endif // CLEAVE_DIALECT_EXEC_TRANSFORMS_PASSES_H
