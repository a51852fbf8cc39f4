// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "LayerRuns.h"

#include "cleave/Dialect/Cleave/IR/CleaveInterfaces.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"

using namespace mlir;
using namespace cleave;

bool cleave::isWork(Operation *op) {
  return !isa<CollectiveOpInterface, DoneOp, DeviceCoordOp>(op) &&
         !op->hasTrait<OpTrait::ConstantLike>() && !op->hasTrait<OpTrait::IsTerminator>() &&
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

int64_t cleave::localBytes(Value value) {
  auto tensor = cast<RankedTensorType>(value.getType());
  return tensor.getNumElements() * ((tensor.getElementTypeBitWidth() + 7) / 8);
}

LayerRuns::LayerRuns(ArrayRef<Operation *> ops) {
  using Tag = std::pair<Attribute, Attribute>;
  auto tagOf = [](Operation *op) {
    return Tag{op->getDiscardableAttr(CleaveDialect::kBlockAttr),
               op->getDiscardableAttr(CleaveDialect::kInstanceAttr)};
  };
  // The next tagged op decides whether an untagged one stands inside a run.
  constexpr size_t kFew = 8;
  std::vector<Tag> next(ops.size() + 1);
  size_t untagged = 0;
  for (size_t i = ops.size(); i-- > 0;) {
    Tag tag = tagOf(ops[i]);
    next[i] = tag.second ? tag : next[i + 1];
    untagged = tag.second ? 0 : untagged + isWork(ops[i]);
    if (untagged == kFew)
      for (size_t j = i; j < ops.size() && !tagOf(ops[j]).second; ++j)
        next[j] = Tag();
  }
  Tag current;
  bool hasWork = false;
  for (size_t i = 0; i < ops.size(); ++i) {
    Tag tag = tagOf(ops[i]);
    if (!tag.second && (next[i] == current || !isWork(ops[i])))
      tag = current;
    if (firstWork.empty() || tag != current) {
      firstWork.push_back(i);
      hasWork = false;
    }
    if (!hasWork) {
      firstWork.back() = i;
      hasWork = isWork(ops[i]);
    }
    current = tag;
    of.push_back(firstWork.size() - 1);
  }
}
