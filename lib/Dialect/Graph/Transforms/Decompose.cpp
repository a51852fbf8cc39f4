// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-decompose: replaces named ops by their definitions.

#include "cleave/Dialect/Graph/Transforms/Decompose.h"

#include "OriginMarker.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace cleave::graph {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "cleave/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace cleave::graph

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
/// The entry for one result, of an attribute with one entry a result.
Attribute entryOf(Operation *op, StringRef name, unsigned result) {
  auto array = dyn_cast_or_null<ArrayAttr>(op->getDiscardableAttr(name));
  return array && result < array.size() ? array[result] : Attribute();
}
} // namespace

LogicalResult graph::replaceByDecomposition(DecomposableOpInterface op) {
  OriginMarker marker(op);
  OpBuilder builder(op->getContext(), &marker);
  builder.setInsertionPoint(op);
  FailureOr<SmallVector<Value>> values = op.decompose(builder);
  if (failed(values))
    return failure();
  for (auto [i, value] : llvm::enumerate(*values)) {
    OpResult old = op->getResult(i);
    auto created = dyn_cast<OpResult>(value);
    // A value that was there before, such as an operand, keeps what it has.
    if (created && created.getOwner()->getNumResults() == 1 &&
        !llvm::is_contained(op->getOperands(), value))
      for (StringRef name :
           {StringRef(CleaveDialect::kShardingsAttr), StringRef(CleaveDialect::kLogicalAttr)})
        if (Attribute entry = entryOf(op, name, i))
          created.getOwner()->setDiscardableAttr(name, builder.getArrayAttr(entry));
    old.replaceAllUsesWith(value);
  }
  op->erase();
  return success();
}

namespace {
struct Decompose : graph::impl::DecomposePassBase<Decompose> {
  using DecomposePassBase::DecomposePassBase;

  void runOnOperation() override {
    llvm::StringSet<> names;
    for (const std::string &name : ops) {
      std::string full = StringRef(name).contains('.') ? name : "graph." + name;
      auto info = RegisteredOperationName::lookup(full, &getContext());
      if (!info || !info->hasInterface<DecomposableOpInterface>()) {
        getOperation()->emitError()
            << "expected ops that have a decomposition in the option ops of "
               "cleave-decompose, found '"
            << name << "'";
        return signalPassFailure();
      }
      names.insert(full);
    }
    SmallVector<DecomposableOpInterface> found;
    getOperation()->walk([&](DecomposableOpInterface op) {
      if (names.empty() || names.contains(op->getName().getStringRef()))
        found.push_back(op);
    });
    for (DecomposableOpInterface op : found)
      if (failed(replaceByDecomposition(op)))
        return signalPassFailure();
  }
};
} // namespace
