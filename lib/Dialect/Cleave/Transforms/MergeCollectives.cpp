// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "CollectiveBuckets.h"

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Cleave/Transforms/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace cleave;

namespace cleave {
#define GEN_PASS_DEF_MERGECOLLECTIVESPASS
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

/// Notes on an op that those of `from` have been merged into it.
static void joinReasons(Operation *into, ArrayRef<Operation *> from) {
  auto get = [](Operation *op) {
    auto reason = op->getAttrOfType<StringAttr>(CleaveDialect::kReasonAttr);
    return reason ? reason.getValue() : StringRef();
  };
  std::string text = get(into).str();
  llvm::StringSet<> seen;
  SmallVector<StringRef> known;
  get(into).split(known, "; ");
  for (StringRef reason : known)
    seen.insert(reason);
  for (Operation *op : from)
    if (StringRef reason = get(op); !reason.empty() && seen.insert(reason).second)
      text += (text.empty() ? "" : "; ") + reason.str();
  if (!text.empty())
    into->setDiscardableAttr(CleaveDialect::kReasonAttr, StringAttr::get(into->getContext(), text));
}

namespace {

struct MergeCollectivesPass : cleave::impl::MergeCollectivesPassBase<MergeCollectivesPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto meshSym = function->getAttrOfType<FlatSymbolRefAttr>(CleaveDialect::kMeshAttr);
    const Mesh *mesh = meshSym ? findMesh(function, meshSym) : nullptr;
    if (!mesh || function.isExternal())
      return; // Not in local form.
    for (Block &block : function.getBody()) {
      mergeEqual(block);
      scatter(block, meshSym, *mesh);
      removeDead(block);
      numCombined += formBuckets(block, smallBytes, bucketBytes);
    }
  }

  void mergeEqual(Block &block);
  void scatter(Block &block, FlatSymbolRefAttr meshSym, const Mesh &mesh);
  void removeDead(Block &block);
};

} // namespace

void MergeCollectivesPass::mergeEqual(Block &block) {
  llvm::DenseMap<Value, SmallVector<Operation *, 1>> seen;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto collective = dyn_cast<CollectiveOpInterface>(&op);
    if (!collective || collective.isStart() || op.hasAttr(kAgainAttr))
      continue;
    auto &others = seen[collective.getTensorOperand()];
    Operation *equal = nullptr;
    for (Operation *other : others)
      if (other->getName() == op.getName() && other->getResultTypes() == op.getResultTypes() &&
          op.getName().compareOpProperties(other->getPropertiesStorage(),
                                           op.getPropertiesStorage()))
        equal = other;
    if (!equal) {
      others.push_back(&op);
      continue;
    }
    joinReasons(equal, {&op});
    op.replaceAllUsesWith(equal);
    op.erase();
    ++numEqual;
  }
}

/// An all-reduce that is only sliced afterwards, over the same axes, sends twice what it must.
void MergeCollectivesPass::scatter(Block &block, FlatSymbolRefAttr meshSym, const Mesh &mesh) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto reduce = dyn_cast<AllReduceOp>(&op);
    if (!reduce || reduce.getResult().use_empty())
      continue;
    auto first = dyn_cast<AllSliceOp>(*reduce.getResult().user_begin());
    if (!first)
      continue;
    bool alike = llvm::all_of(reduce.getResult().getUsers(), [&](Operation *user) {
      auto slice = dyn_cast<AllSliceOp>(user);
      return slice && slice.getAxes() == first.getAxes() && slice.getDim() == first.getDim();
    });
    ReshardStep reduceStep = stepOf(reduce, mesh), step = stepOf(first, mesh);
    if (!alike || sortedAxes(step.axes) != sortedAxes(reduceStep.axes))
      continue;
    step.kind = CollectiveKind::ReduceScatter;
    step.reduction = reduceStep.reduction;
    ShardAttr shard = getShard(reduce.getTensor());
    std::string error;
    if (failed(applyStep(step, shard.getGlobalShape(), layoutOf(shard, mesh), mesh, error)))
      continue;
    OpBuilder b(reduce);
    Value result = createCollective(b, reduce.getLoc(), reduce.getTensor(), step, meshSym, mesh);
    result.getDefiningOp()->setDiscardableAttrs(reduce->getDiscardableAttrDictionary());
    for (Operation *user : llvm::make_early_inc_range(reduce.getResult().getUsers())) {
      joinReasons(result.getDefiningOp(), {user});
      user->getResult(0).replaceAllUsesWith(result);
    }
    ++numScattered;
    // The slices and the all-reduce are dead now.
  }
}

void MergeCollectivesPass::removeDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}
