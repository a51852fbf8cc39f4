// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The backward half of a function.

#include "Backward.h"

#include "OriginMarker.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/SourceName.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Graph/IR/GradientAccumulation.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
/// Marks ops as those of the backward half of the op that is being differentiated.
struct BackwardMarker : OriginMarker {
  void enter(Operation *op) {
    origin = op;
    StringRef name = sourceName(op);
    location.reset();
    if (!name.empty())
      location = NameLoc::get(StringAttr::get(op->getContext(), "grad." + name));
  }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    mark(op);
    op->setDiscardableAttr(kBackwardAttr, UnitAttr::get(op->getContext()));
    if (location)
      op->setLoc(*location);
    made.insert(op);
  }
  std::optional<Location> location;
  llvm::DenseSet<Operation *> made;
};

/// Gives the op that makes `gradient` the logical axes of the value that it is the gradient by.
void carryLogicalAxes(Value value, Value gradient) {
  LogicalAxesAttr logical = getLogicalAxes(value);
  auto result = dyn_cast<OpResult>(gradient);
  if (!logical || !result)
    return;
  Operation *op = result.getOwner();
  Builder builder(op->getContext());
  SmallVector<Attribute> entries(op->getNumResults(), builder.getUnitAttr());
  if (auto known = op->getAttrOfType<ArrayAttr>(CleaveDialect::kLogicalAttr))
    entries.assign(known.begin(), known.end());
  // A value may be the gradient by several others, whose sum it came through.
  if (!isa<UnitAttr>(entries[result.getResultNumber()]))
    return;
  entries[result.getResultNumber()] = logical;
  op->setDiscardableAttr(CleaveDialect::kLogicalAttr, builder.getArrayAttr(entries));
}
} // namespace

LogicalResult graph::appendBackward(func::FuncOp function, Value &loss,
                                    ArrayRef<unsigned> arguments, ArgumentGradient report,
                                    Value seed) {
  Block &block = function.front();
  BackwardMarker marker;
  OpBuilder builder(function.getContext(), &marker);
  builder.setInsertionPoint(block.getTerminator());

  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  SmallVector<Value> sources;
  for (unsigned argument : arguments)
    sources.push_back(function.getArgument(argument));
  GradientAccumulation gradients(builder, ops, sources);
  if (!gradients.dependsOnSource(loss))
    return function.emitError() << "the loss of @" << function.getName()
                                << " depends on no parameter, so there is nothing to train";
  gradients.saveForGradient(loss);

  marker.origin = loss.getDefiningOp();
  gradients.add(loss, seed ? seed : PrimitiveBuilder(builder, loss.getLoc()).splatLike(loss, 1.0));
  GradientAccumulation::Hooks hooks;
  auto enter = [&](Operation *op) { marker.enter(op); };
  auto complete = [&](Value value, Value gradient) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      report(builder, argument.getArgNumber(), gradient);
    else if (marker.made.contains(gradient.getDefiningOp()))
      carryLogicalAxes(value, gradient);
  };
  hooks.enter = enter;
  hooks.complete = complete;
  return gradients.run(hooks);
}
