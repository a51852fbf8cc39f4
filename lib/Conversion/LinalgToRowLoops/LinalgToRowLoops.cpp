// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Conversion/LinalgToRowLoops.h"

#include "RowEmitter.h"
#include "cleave/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace cleave {

#define GEN_PASS_DEF_LINALGTOROWLOOPS
#include "cleave/Conversion/Passes.h.inc"

LogicalResult lowerKernelToRowLoops(func::FuncOp kernel) {
  FailureOr<func::FuncOp> loops = RowEmitter(kernel).emit();
  if (failed(loops))
    return failure();
  kernel.erase();
  return success();
}

namespace {

struct LinalgToRowLoops : impl::LinalgToRowLoopsBase<LinalgToRowLoops> {
  void runOnOperation() override {
    for (func::FuncOp kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!kernel.isExternal() && failed(lowerKernelToRowLoops(kernel)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace cleave
