// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "KernelOutliner.h"
#include "PrepareKernels.h"
#include "cleave/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace cleave {

#define GEN_PASS_DEF_FORMKERNELS
#include "cleave/Conversion/Passes.h.inc"

namespace {

struct FormKernels : impl::FormKernelsBase<FormKernels> {
  void runOnOperation() override {
    KernelTable table(getOperation());
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (function.isExternal())
        continue;
      if (!llvm::hasSingleElement(function.getBody())) {
        function.emitError("kernels can be formed in a function of one block only");
        return signalPassFailure();
      }
      for (Operation &op : function.front())
        if (op.getNumRegions() != 0) {
          op.emitOpError("has regions, which the host can not run yet");
          return signalPassFailure();
        }
      if (failed(prepareKernels(function)))
        return signalPassFailure();
      KernelGrouping grouping(function);
      outlineKernels(function, grouping, table);
    }
    numKernels += table.size();
  }
};

} // namespace
} // namespace cleave
