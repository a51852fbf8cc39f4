// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What ops that drop elements share.

#include "Dropout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

Value graph::localOperand(OperandRange optional, ValueRange localOperands) {
  return optional.empty() ? Value() : localOperands[optional.getBeginOperandIndex()];
}

Value graph::localPositionOffset(OpBuilder &builder, Location loc, Value offset,
                                 ArrayRef<int64_t> strides, const Layout &layout,
                                 ArrayRef<int64_t> localShape, const PartitionInfo &info) {
  for (auto [d, stride] : llvm::enumerate(strides)) {
    if (layout.dims[d].empty())
      continue;
    Value shard = info.shardOffset(builder, loc, layout.dims[d], localShape[d]);
    Value step = arith::ConstantIndexOp::create(builder, loc, stride);
    Value place = arith::MulIOp::create(builder, loc, shard, step);
    offset = offset ? arith::AddIOp::create(builder, loc, offset, place).getResult() : place;
  }
  return offset;
}

DropoutAttr graph::dropoutOfMicrobatch(OpBuilder &builder, Location loc, DropoutAttr dropout,
                                       ArrayRef<int64_t> strides, OpFoldResult index, int64_t count,
                                       MutableOperandRange offset) {
  if (strides.empty())
    return dropout;
  SmallVector<int64_t> dealt(strides);
  dealt[0] *= count;
  if (auto number = dyn_cast<Attribute>(index))
    return dropout.withPositions(
        dropout.getStart() + cast<IntegerAttr>(number).getInt() * strides[0], dealt);
  Value stride = arith::ConstantIndexOp::create(builder, loc, strides[0]);
  Value first = arith::MulIOp::create(builder, loc, cast<Value>(index), stride);
  if (!offset.empty())
    first = arith::AddIOp::create(builder, loc, offset[0].get(), first);
  offset.assign(first);
  return dropout.withPositions(dropout.getStart(), dealt);
}

LogicalResult graph::verifySeedAndStep(Operation *op, Value seed, Value step) {
  if (bool(seed) != bool(step))
    return op->emitOpError() << "has a " << (seed ? "seed" : "step") << " and no "
                             << (seed ? "step" : "seed") << "; give both or neither";
  return success();
}
