// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model of bench/models with any number of layers, taken through the compiler's phases in
// process.
#ifndef CLEAVE_BENCH_COMPILER_BENCHMODEL_H
#define CLEAVE_BENCH_COMPILER_BENCHMODEL_H

#include "cleave/Pipelines/Phases.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>

namespace cleave::bench {

struct ModelCase {
  std::string model; ///< folder of bench/models
  int64_t layers = 1;
  std::string mesh; ///< as on the command line
  int64_t batch = 1, sequence = 1;
  bool training = false; ///< a training step (AdamW) instead of the forward
};

/// A context of its own and the module in it: attributes that an earlier run made would make a
/// later one faster than the first compilation that a user sees.
class BenchModel {
public:
  explicit BenchModel(const ModelCase &modelCase);

  /// Reads the configuration and declares the mesh.
  mlir::LogicalResult import();
  /// Runs a textual pass pipeline, verifiers between passes off.
  mlir::LogicalResult run(llvm::StringRef pipeline);
  mlir::LogicalResult runPhase(Phase phase);
  /// Runs the phases after import up to and including `last`.
  mlir::LogicalResult runPhases(Phase last);
  /// Takes what the strategy says about activations away; arguments keep theirs.
  void dropConstraints();

  mlir::ModuleOp module() { return *module_; }
  /// Ops in the bodies of functions.
  int64_t opCount();

private:
  ModelCase case_;
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

} // namespace cleave::bench

#endif // CLEAVE_BENCH_COMPILER_BENCHMODEL_H
