// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Defaults of the op interfaces.

#include "cleave/Dialect/Cleave/IR/CleaveInterfaces.h"

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"

using namespace mlir;
using namespace cleave;

#include "cleave/Dialect/Cleave/IR/CleaveInterfaces.cpp.inc"

std::optional<FactorRule> cleave::shardingRuleOf(Operation *op) {
  if (auto custom = op->getAttrOfType<ShardingRuleAttr>(CleaveDialect::kShardingRuleAttr))
    return custom.getRule();
  if (auto rule = dyn_cast<ShardingRuleOpInterface>(op))
    return rule.getShardingRule();
  return std::nullopt;
}

FailureOr<SmallVector<Value>> cleave::cloneWithLocalTypes(Operation *op, OpBuilder &builder,
                                                          ValueRange localOperands,
                                                          const PartitionInfo &info) {
  Operation *local = builder.clone(*op);
  // Not by a mapping of values: one operand given twice may have two local forms.
  local->setOperands(localOperands);
  for (auto [result, type] : llvm::zip_equal(local->getResults(), info.localResultTypes))
    result.setType(type);
  // The types now say what the attribute said.
  local->removeDiscardableAttr(CleaveDialect::kShardingsAttr);
  return SmallVector<Value>(local->getResults());
}

Value PartitionInfo::shardOffset(OpBuilder &builder, Location loc, ArrayRef<AxisRef> axes,
                                 int64_t localSize) const {
  if (axes.empty())
    return arith::ConstantIndexOp::create(builder, loc, 0);
  Value coordinate = DeviceCoordOp::create(builder, loc, builder.getIndexType(), meshSym,
                                           axisListOf(builder.getContext(), mesh, axes));
  Value size = arith::ConstantIndexOp::create(builder, loc, localSize);
  return arith::MulIOp::create(builder, loc, coordinate, size);
}
