// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "RemoveShardings.h"

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

void cleave::tool::removeShardings(ModuleOp module) {
  SmallVector<Operation *> hints;
  module.walk([&](Operation *op) {
    if (isa<ShardingConstraintOp, ShardingGroupOp, PropagationBarrierOp, ReshardOp>(op))
      hints.push_back(op);
    op->removeDiscardableAttr(CleaveDialect::kShardingsAttr);
    if (auto state = dyn_cast<StateOp>(op))
      state.removeShardingAttr();
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        function.removeArgAttr(i, StringAttr::get(op->getContext(), CleaveDialect::kShardingAttr));
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        function.removeResultAttr(i,
                                  StringAttr::get(op->getContext(), CleaveDialect::kShardingAttr));
    }
  });
  for (Operation *op : hints) {
    if (op->getNumResults() == 1)
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  }
  for (MeshOp mesh : llvm::make_early_inc_range(module.getOps<MeshOp>()))
    mesh.erase();
}
