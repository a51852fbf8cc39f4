// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random functions of the graph dialect.
#ifndef CLEAVE_TEST_UNIT_HOSTKERNELS_RANDOMGRAPH_H
#define CLEAVE_TEST_UNIT_HOSTKERNELS_RANDOMGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <random>

namespace cleave::test {

/// Adds a function of about `size` ops to the module. Its arguments are f32 tensors and i64 tensors
/// of small non-negative numbers; its results are f32. Values stay small, and nothing depends on
/// comparisons of rounded numbers, so that results in f32 are close to those in f64.
mlir::func::FuncOp makeRandomGraph(mlir::ModuleOp module, llvm::StringRef name, int size,
                                   std::mt19937_64 &random);

} // namespace cleave::test

#endif // CLEAVE_TEST_UNIT_HOSTKERNELS_RANDOMGRAPH_H
