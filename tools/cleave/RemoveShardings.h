// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The program that a sharded one stands for.
#ifndef CLEAVE_TOOLS_CLEAVE_REMOVESHARDINGS_H
#define CLEAVE_TOOLS_CLEAVE_REMOVESHARDINGS_H

#include "mlir/IR/BuiltinOps.h"

namespace cleave::tool {

/// Removes meshes, shardings and hints for propagation from a module in global form, so that it can
/// be compiled for another mesh.
void removeShardings(mlir::ModuleOp module);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_CLEAVE_REMOVESHARDINGS_H
