// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "FunctionMesh.h"
#include "OpLayouts.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Cleave/Transforms/Passes.h"
#include "cleave/Layout/Collective.h"

using namespace mlir;
using namespace cleave;

namespace cleave {
#define GEN_PASS_DEF_RESHARDTOCOLLECTIVESPASS
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

namespace {

struct ReshardToCollectivesPass
    : cleave::impl::ReshardToCollectivesPassBase<ReshardToCollectivesPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    FailureOr<FunctionMesh> on = findFunctionMesh(function);
    if (failed(on))
      return signalPassFailure();
    if (!on->mesh)
      return;
    const Mesh &mesh = *on->mesh;
    ReshardPlanner planner(mesh);
    for (Operation &op : llvm::make_early_inc_range(function.getBody().getOps()))
      if (auto reshard = dyn_cast<ReshardOp>(op))
        if (failed(lower(reshard, on->symbol, mesh, planner)))
          return signalPassFailure();
  }

  LogicalResult lower(ReshardOp op, FlatSymbolRefAttr meshSym, const Mesh &mesh,
                      ReshardPlanner &planner) {
    auto type = op.getInput().getType();
    auto tensor = cast<RankedTensorType>(type);
    Layout from = layoutOfSharding(getSharding(op.getInput()), type, mesh);
    Layout to = layoutOfSharding(op.getSharding(), type, mesh);
    // What becomes partial is kept on coordinate 0, after everything else.
    Layout reached = to;
    reached.partial = subtractAxes(to.partial, subtractAxes(to.partial, from.partial));
    reached.partialKind = reached.partial.empty() ? Reduction::Sum : from.partialKind;
    bool otherKind = !reached.partial.empty() && from.partialKind != to.partialKind;
    bool becomesPartial = reached.partial != to.partial;
    if (otherKind || !ReshardPlanner::reachable(from, reached) ||
        (becomesPartial && to.partialKind != Reduction::Sum))
      return op.emitError() << "cannot reshard from " << toString(mesh, from) << " to "
                            << toString(mesh, to) << ": a value that is partial in one way cannot "
                            << "become partial in another";
    OpBuilder b(op);
    Value value = op.getInput();
    int64_t bytes = (tensor.getElementTypeBitWidth() + 7) / 8;
    for (const ReshardStep &step : planner.path(tensor.getShape(), bytes, from, reached)) {
      value = createCollective(b, op.getLoc(), value, step, meshSym, mesh);
      for (StringRef name :
           {StringRef(CleaveDialect::kReasonAttr), StringRef(CleaveDialect::kBlockAttr),
            StringRef(CleaveDialect::kInstanceAttr), StringRef(kAgainAttr)})
        if (Attribute attribute = op->getDiscardableAttr(name))
          value.getDefiningOp()->setDiscardableAttr(name, attribute);
      ++numCollectives;
    }
    if (becomesPartial) {
      op.getInputMutable().assign(value);
      return success();
    }
    op.getResult().replaceAllUsesWith(value);
    op.erase();
    return success();
  }
};

} // namespace
