// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The reshard problem of a function. Private to lib/Dialect/Cleave/Transforms.

#ifndef CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_RESHARDPROBLEMBUILDER_H
#define CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_RESHARDPROBLEMBUILDER_H

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Layout/ReshardProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave {

/// A ReshardProblem and where its parts stand in the IR.
class ReshardProblemBuilder {
public:
  ReshardProblemBuilder(mlir::func::FuncOp function, mlir::FlatSymbolRefAttr meshSym,
                        const Mesh &mesh)
      : function(function), meshSym(meshSym), mesh(mesh) {}

  /// On failure an error has been emitted.
  mlir::LogicalResult build();

  /// What a demand comes from: an operand of the return, of a constraint or of a collective.
  struct DemandSite {
    mlir::OpOperand *use;
  };

  ReshardProblem problem;
  std::vector<mlir::Value> values;    ///< by value number
  std::vector<mlir::Operation *> ops; ///< by op number
  std::vector<DemandSite> demandSites;
  llvm::DenseMap<mlir::Value, uint32_t> numbers;
  /// Values whose reshards are not made one with equal ones before.
  llvm::DenseSet<uint32_t> again;
  std::vector<mlir::Operation *> classSamples; ///< by class, its first op

private:
  struct ClassKey;
  mlir::LogicalResult addOp(mlir::Operation *op);
  mlir::LogicalResult addFixed(mlir::Operation *op);
  mlir::LogicalResult addReturn(mlir::func::ReturnOp op);
  int64_t runsOf(mlir::Operation *op);
  mlir::FailureOr<uint32_t> addValue(mlir::Value value, ShardingAttr sharding);
  ShardingAttr plannedSharding(mlir::Value value) const;
  void redirect();
  mlir::FailureOr<Layout> layoutOfSharding(ShardingAttr sharding, unsigned rank);
  mlir::FailureOr<uint32_t> classOf(mlir::Operation *op);
  bool isFree(mlir::Operation *op, const FactorRule &rule) const;

  mlir::func::FuncOp function;
  mlir::FlatSymbolRefAttr meshSym;
  const Mesh &mesh;
  std::vector<ShardingAttr> shardings; ///< planned, by value number
  /// Values that are planned otherwise than propagation has it.
  llvm::DenseMap<mlir::Value, ShardingAttr> redirected;
  llvm::DenseMap<ShardingAttr, Layout> layouts;
  llvm::DenseMap<mlir::Value, int64_t> indexRuns; ///< of numbers that repetitions change
  llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 1>> classBuckets;
};

} // namespace cleave

#endif // CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_RESHARDPROBLEMBUILDER_H
