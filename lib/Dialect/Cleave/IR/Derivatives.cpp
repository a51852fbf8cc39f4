// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Derivatives of the ops that say how values are sharded.

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/SourceName.h"
#include "cleave/Dialect/Cleave/IR/StateOfValue.h"

using namespace mlir;
using namespace cleave;

BlockArgument cleave::stateArgumentOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1 || op->getNumRegions() != 0 || !isPure(op))
      return {};
    value = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!function || !argument.getOwner()->isEntryBlock() ||
      !function.getArgAttr(argument.getArgNumber(), CleaveDialect::kStateAttr))
    return {};
  return argument;
}

FailureOr<Value> ShardingConstraintOp::operandGradient(OpBuilder &builder, unsigned,
                                                       ArrayRef<Value> gradients) {
  // How the gradient of a parameter is stored is up to its own state.
  if (stateArgumentOf(getInput()))
    return gradients[0];
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : getSharding().getDimShardings())
    dims.push_back(
        DimShardingAttr::get(getContext(), dim.getAxes(), /*isClosed=*/false, dim.getPriority()));
  return ShardingConstraintOp::create(builder, getLoc(), gradients[0],
                                      ShardingAttr::get(getSharding().getMesh(), dims))
      .getResult();
}

FailureOr<Value> PropagationBarrierOp::operandGradient(OpBuilder &builder, unsigned,
                                                       ArrayRef<Value> gradients) {
  PropagationDirection direction = getDirection();
  if (direction == PropagationDirection::Forward)
    direction = PropagationDirection::Backward;
  else if (direction == PropagationDirection::Backward)
    direction = PropagationDirection::Forward;
  return PropagationBarrierOp::create(builder, getLoc(), gradients[0].getType(), gradients[0],
                                      direction)
      .getResult();
}

FailureOr<Value> ManualComputationOp::operandGradient(OpBuilder &, unsigned, ArrayRef<Value>) {
  return emitError() << describeOp(*this)
                     << " cannot be differentiated: its body is local to a device; write it with "
                        "global shapes and shardings, or keep it out of what the loss depends on";
}
