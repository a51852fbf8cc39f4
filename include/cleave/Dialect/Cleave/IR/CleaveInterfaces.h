// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The op interfaces through which passes ask an op what they must know of it.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVEINTERFACES_H
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVEINTERFACES_H

#include "cleave/Dialect/Cleave/IR/CleaveAttributes.h"
#include "cleave/Layout/Collective.h"
#include "cleave/Layout/FactorRule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace cleave {

class CollectiveOpInterface;
struct PartitionInfo;

/// The one verifier of all collectives.
llvm::LogicalResult verifyCollective(mlir::Operation *op);

/// PartitionOpInterface's default: the op with local operands and local result types.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> cloneWithLocalTypes(mlir::Operation *op,
                                                                    mlir::OpBuilder &builder,
                                                                    mlir::ValueRange localOperands,
                                                                    const PartitionInfo &info);

/// The op's sharding rule: its `cleave.sharding_rule` attribute if it has one, else what its
/// ShardingRuleOpInterface gives. Empty for an op with neither.
std::optional<FactorRule> shardingRuleOf(mlir::Operation *op);

} // namespace cleave

#include "cleave/Dialect/Cleave/IR/CleaveInterfaces.h.inc"

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVEINTERFACES_H
