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

LogicalResult graph::verifySeedAndStep(Operation *op, Value seed, Value step) {
  if (bool(seed) != bool(step))
    return op->emitOpError() << "has a " << (seed ? "seed" : "step") << " and no "
                             << (seed ? "step" : "seed") << "; give both or neither";
  return success();
}
