// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reverse accumulation: gradients of straight-line code, op by op from the last to the first.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRADIENTACCUMULATION_H
#define CLEAVE_DIALECT_GRAPH_IR_GRADIENTACCUMULATION_H

#include "cleave/Dialect/Cleave/IR/CleaveInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace cleave::graph {

/// Builds gradients by some values, the sources. Ops without a derivative of their own are
/// differentiated through their decomposition. A gradient has its value's shape; its element type
/// may be wider.
class GradientAccumulation {
public:
  /// `ops` are those between the sources and what the loss is seeded at, in order.
  GradientAccumulation(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> ops,
                       llvm::ArrayRef<mlir::Value> sources);

  /// True if the value depends on a source.
  bool dependsOnSource(mlir::Value value) const { return dependent.contains(value); }
  /// Ops that the loss may depend on by way of a source are brought to the form that their
  /// gradients want. Replaced ops are replaced in the list, too, and `loss` if it is a result of
  /// one.
  void saveForGradient(mlir::Value &loss);

  /// Adds to the gradient by a value.
  void add(mlir::Value value, mlir::Value gradient);
  /// The gradient by a value as far as it is known; null if the loss does not depend on it.
  mlir::Value gradientOf(mlir::Value value) const { return gradients.lookup(value); }

  struct Hooks {
    /// Called before the gradients of an op are built.
    llvm::function_ref<void(mlir::Operation *)> enter = nullptr;
    /// Called when the gradient by a value that depends on a source is complete: for a result of
    /// an op before the op's gradients are built, for a source after those of its first user.
    llvm::function_ref<void(mlir::Value value, mlir::Value gradient)> complete = nullptr;
  };
  /// Goes through all ops, from the gradients added before. On failure an error has been emitted.
  llvm::LogicalResult run(const Hooks &hooks);
  llvm::LogicalResult run() { return run(Hooks()); }

private:
  llvm::LogicalResult runOp(mlir::Operation *op, llvm::ArrayRef<mlir::Value> resultGradients);

  mlir::OpBuilder &builder;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Value> sources;
  llvm::DenseSet<mlir::Value> dependent;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
};

/// What DifferentiableOpInterface::operandGradient gives, by way of the op's decomposition.
mlir::FailureOr<mlir::Value>
gradientThroughDecomposition(DecomposableOpInterface op, mlir::OpBuilder &builder, unsigned operand,
                             llvm::ArrayRef<mlir::Value> resultGradients);

} // namespace cleave::graph

#endif // CLEAVE_DIALECT_GRAPH_IR_GRADIENTACCUMULATION_H
