// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// From a model to the bytes of an executable.
#ifndef CLEAVE_PIPELINES_COMPILE_H
#define CLEAVE_PIPELINES_COMPILE_H

#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "cleave/Pipelines/Phases.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace cleave {

struct CompileOptions {
  std::string model;    ///< Hugging Face folder, config.json, or a .mlir file
  std::string mesh;     ///< `dp=2,tp=4`; may be empty for a .mlir file that has a mesh
  int64_t batch = 1;    ///< global rows
  int64_t sequence = 1; ///< tokens a row
  /// Of weights and activations. A training step computes in it and stores weights in f32.
  ModelElementType elementType = ModelElementType::F32;
  bool nativeCpu = false; ///< kernels for this machine's CPU only
  bool timing = false;    ///< print the time of every pass to stderr
  std::string command;    ///< recorded in the executable
  /// In a training step of a Hugging Face model. Nothing given is off, with a warning where
  /// config.json asks for some.
  std::optional<DropoutOption> dropout;
  /// What follows `cleave compile` in the command: recorded with the text of the model's
  /// config.json and of the strategy file, so that `verify` can compile a smaller model in the same
  /// way.
  std::vector<std::string> arguments;
  std::string config; ///< the text of a config.json, to be taken instead of the model's
  /// For tests of what finds wrong programs: the first sum over devices becomes a maximum.
  bool wrongReduction = false;
  PhaseOptions phases;
};

struct CompileResult {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< as it is after the last phase
  std::string executable; ///< bytes of the .cleave file, when the last phase is Write
  std::vector<std::string> warnings;
};

/// Runs the phases up to options.phases.last. Errors are diagnostics of `context`, one line each.
mlir::LogicalResult compile(mlir::MLIRContext *context, const CompileOptions &options,
                            CompileResult &result);

/// The same from a module that has been imported already (its text, as an executable carries it in
/// `source`).
mlir::LogicalResult compileModule(mlir::OwningOpRef<mlir::ModuleOp> module,
                                  const CompileOptions &options, CompileResult &result);

} // namespace cleave

#endif // CLEAVE_PIPELINES_COMPILE_H
