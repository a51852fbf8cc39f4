// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "FunctionMesh.h"
#include "OpLayouts.h"
#include "cleave/Dialect/Cleave/IR/SourceName.h"
#include "cleave/Dialect/Cleave/Transforms/Passes.h"

using namespace mlir;
using namespace cleave;

namespace cleave {
#define GEN_PASS_DEF_VERIFYRESHARDEDPASS
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

namespace {

struct VerifyReshardedPass : cleave::impl::VerifyReshardedPassBase<VerifyReshardedPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    FailureOr<FunctionMesh> on = findFunctionMesh(function);
    if (failed(on))
      return signalPassFailure();
    if (!on->mesh)
      return;
    const Mesh &mesh = *on->mesh;
    for (Operation &op : function.getBody().getOps())
      if (failed(verify(function, &op, mesh)))
        return signalPassFailure();
  }

  static LogicalResult verify(func::FuncOp function, Operation *op, const Mesh &mesh) {
    if (isa<ShardingConstraintOp, ShardingGroupOp, PropagationBarrierOp, ManualComputationOp>(op))
      return op->emitError() << op->getName() << " is left after cleave-insert-reshards";
    if (isa<ReshardOp, CollectiveOpInterface, DoneOp>(op))
      return success(); // They change layouts, and have verifiers of their own.
    if (auto ret = dyn_cast<func::ReturnOp>(op))
      return verifyReturn(function, ret, mesh);
    std::string why;
    if (!inferOpLayouts(op, mesh, why))
      return op->emitError() << describeOp(op) << ": " << why
                             << "; cleave-insert-reshards must reshard its operands";
    return success();
  }

  static LogicalResult verifyReturn(func::FuncOp function, func::ReturnOp op, const Mesh &mesh) {
    for (OpOperand &use : op->getOpOperands()) {
      unsigned index = use.getOperandNumber();
      ShardingAttr sharding = getResultSharding(function, index);
      Layout want = layoutOfSharding(sharding, use.get().getType(), mesh);
      if (want != layoutOfSharding(getSharding(use.get()), use.get().getType(), mesh))
        return op.emitError() << "result " << index << " of @" << function.getName()
                              << " is returned as " << getSharding(use.get())
                              << ", but the function says " << sharding;
      if (!want.partial.empty() && function->hasAttr(CleaveDialect::kEntryAttr))
        return op.emitError() << "result " << index << " of entry @" << function.getName()
                              << " is unreduced; an entry's results must be whole";
    }
    return success();
  }
};

} // namespace
