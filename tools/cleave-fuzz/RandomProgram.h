// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random programs of graph ops with random shardings on some values.

#ifndef CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMPROGRAM_H
#define CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMPROGRAM_H

#include "RandomSource.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace cleave::fuzz {

/// The type of a program's floats. Decompositions round their constants to it, so programs agree
/// with their parts to its precision only.
enum class FloatKind { F64, F32, BF16 };

struct ProgramOptions {
  uint64_t seed = 0;
  /// Ops (or small groups of ops) to generate; -1 draws the number. A smaller number gives a prefix
  /// of the same program with the same shardings.
  int64_t numOps = -1;
  FloatKind floats = FloatKind::F64;
  /// An entry that can be compiled: nothing is partial at its borders, some arguments are states,
  /// and some results are those states' new values.
  bool isEntry = false;
  /// A loss, and arguments that are weights or inputs with names; see makeTrainingStep.
  bool isTraining = false;
};

/// A module with one mesh and one function @main: at most 8 devices, tensors of at most a few
/// thousand elements, arguments and some values with shardings (sub-axes, open and closed, sizes
/// that do not divide), a few constraints, groups and barriers.
mlir::OwningOpRef<mlir::ModuleOp> randomProgram(mlir::MLIRContext *context,
                                                const ProgramOptions &options);

/// The number of ops that `numOps = -1` draws for a seed.
int64_t numOpsOf(uint64_t seed);

} // namespace cleave::fuzz

#endif // CLEAVE_TOOLS_CLEAVE_FUZZ_RANDOMPROGRAM_H
