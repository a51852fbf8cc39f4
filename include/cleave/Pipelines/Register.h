// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Registration of everything the compiler knows, for the tools.

#ifndef CLEAVE_PIPELINES_REGISTER_H
#define CLEAVE_PIPELINES_REGISTER_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace cleave {

/// Adds the dialects of Cleave, the upstream dialects they lower to, and the external models and
/// extensions that those need.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers the passes and pipelines of Cleave and the upstream passes that its tests use. Call it
/// once per process.
void registerAllPasses();

} // namespace cleave

#endif // CLEAVE_PIPELINES_REGISTER_H
