// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Pipelines/Register.h"

#include "cleave/Conversion/Passes.h"
#include "cleave/Dialect/Cleave/Transforms/Passes.h"
#include "cleave/Dialect/Exec/Transforms/Passes.h"
#include "cleave/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Transforms/Passes.h"

void cleave::registerAllPasses() {
  // Canonicalize, CSE, inline, symbol-dce and the like.
  mlir::registerTransformsPasses();
  registerCleaveConversionPasses();
  graph::registerCleaveGraphPasses();
  registerCleavePasses();
  registerCleaveExecPasses();
}
