// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The language server: completion, hover and diagnostics for .mlir files in editors.

#include "cleave/Pipelines/Register.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  cleave::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry)) ? 1 : 0;
}
