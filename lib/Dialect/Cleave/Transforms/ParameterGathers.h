// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where parameters that are stored sharded are gathered.

#ifndef CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_PARAMETERGATHERS_H
#define CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_PARAMETERGATHERS_H

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"

namespace cleave {

/// A parameter, or what is computed with in its place, and its shardings.
struct ParameterGather {
  mlir::Value value;
  ShardingAttr stored, gathered;
  /// Let go after the forward half of a microbatch and gathered again for the backward half.
  bool again = false;
};

/// Makes a constraint that belongs to the block, the instance and the half that `like` belongs to.
ShardingConstraintOp createConstraint(mlir::OpBuilder &builder, mlir::Location loc,
                                      mlir::Value value, ShardingAttr sharding,
                                      mlir::Operation *like);

/// Numbers the runs of ops of one block and instance.
class BlockRuns {
public:
  explicit BlockRuns(mlir::Block &block);
  /// True if ops of other blocks stand between the two; false for ops that were not there.
  bool areApart(mlir::Operation *first, mlir::Operation *second) const;

private:
  llvm::DenseMap<mlir::Operation *, unsigned> runs;
};

/// Inserts constraints before the uses. In a step, what follows the last backward half (the update)
/// goes on using what is stored. Returns the number of constraints.
int64_t gatherParameters(mlir::Block &block, llvm::ArrayRef<ParameterGather> gathers,
                         const BlockRuns &runs);

} // namespace cleave

#endif // CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_PARAMETERGATHERS_H
