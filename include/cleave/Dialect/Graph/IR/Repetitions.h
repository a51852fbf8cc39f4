// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What stands in line in a block and is computed several times.

#ifndef CLEAVE_DIALECT_GRAPH_IR_REPETITIONS_H
#define CLEAVE_DIALECT_GRAPH_IR_REPETITIONS_H

#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "llvm/ADT/DenseSet.h"

namespace cleave::graph {

/// What depends on one `graph.repetition`.
struct Repetition {
  RepetitionOp number;
  std::vector<mlir::Operation *> ops; ///< in the block's order, without `number` and `sums`
  llvm::SmallVector<SumRepetitionsOp> sums;
};

/// An op of a block, or all ops of a repetition.
struct RepetitionStep {
  mlir::Operation *op = nullptr;    ///< null for a repetition
  Repetition *repetition = nullptr; ///< null for an op
};

/// The repetitions of a block.
class Repetitions {
public:
  /// On failure an error has been emitted: a value depends on two repetitions, is returned without
  /// being summed up, or a repetition depends on its own sum.
  static mlir::FailureOr<Repetitions> find(mlir::Block &block);

  bool empty() const { return list.empty(); }
  /// An order in which everything stands behind what it needs; else that of the block. The
  /// terminator comes last.
  llvm::ArrayRef<RepetitionStep> steps() const { return order; }

private:
  mlir::LogicalResult classify(mlir::Block &block);
  mlir::LogicalResult sort(mlir::Block &block);

  std::vector<std::unique_ptr<Repetition>> list;
  llvm::DenseMap<mlir::Operation *, Repetition *> memberOf;
  std::vector<RepetitionStep> order;
};

/// True for a value in whose memory the only op that reads it may leave its result: what a repeated
/// function returned in the call before, and adds to now, or what all calls have returned.
bool isRunningSum(mlir::Value value);

} // namespace cleave::graph

#endif // CLEAVE_DIALECT_GRAPH_IR_REPETITIONS_H
