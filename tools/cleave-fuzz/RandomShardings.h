// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random meshes and shardings.

#ifndef CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMSHARDINGS_H
#define CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMSHARDINGS_H

#include "RandomSource.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"

namespace cleave::fuzz {

/// One to three axes of size 1 to 4, at most 8 devices.
Mesh randomMesh(RandomSource &random);

/// Axes, or parts of them, dealt to dimensions in any order; some stay unused.
Layout randomLayout(RandomSource &random, const Mesh &mesh, unsigned rank);

/// A random layout as a sharding; unless `closed`, each dimension may be open, and there may be
/// priorities and replicated axes.
ShardingAttr randomSharding(RandomSource &random, mlir::FlatSymbolRefAttr meshSym, const Mesh &mesh,
                            unsigned rank, bool closed);

} // namespace cleave::fuzz

#endif // CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMSHARDINGS_H
