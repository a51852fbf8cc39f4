// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Building blocks of sharding rules.

#ifndef CLEAVE_LIB_DIALECT_GRAPH_IR_SHARDINGRULES_H
#define CLEAVE_LIB_DIALECT_GRAPH_IR_SHARDINGRULES_H

#include "cleave/Layout/FactorRule.h"
#include "mlir/IR/Operation.h"

namespace cleave::graph {

/// A rule under construction, for the shapes of an op's operands and results.
class RuleBuilder {
public:
  explicit RuleBuilder(mlir::Operation *op);

  uint16_t factor(int64_t size, FactorKind kind = FactorKind::PassThrough) {
    return rule.addFactor(size, kind);
  }
  uint16_t replicated(int64_t size) { return factor(size, FactorKind::NeedReplication); }
  /// Appends a factor to a dimension.
  void operandDim(unsigned operand, unsigned dim, uint16_t factor) {
    rule.operands[operand][dim].push_back(factor);
  }
  void resultDim(unsigned result, unsigned dim, uint16_t factor) {
    rule.results[result][dim].push_back(factor);
  }
  int64_t operandSize(unsigned operand, unsigned dim) const;
  int64_t resultSize(unsigned result, unsigned dim) const;
  /// A pass-through factor of one dimension of an operand and one of a result.
  uint16_t pass(unsigned operand, unsigned operandDimension, unsigned result,
                unsigned resultDimension);

  FactorRule rule;

private:
  mlir::Operation *op;
};

/// All operands and results have one shape, and every dimension passes through.
FactorRule elementwiseRule(mlir::Operation *op, uint32_t jointlyLinear, uint32_t separatelyLinear);

/// Row-major regrouping of the dimensions of operand 0 into those of result 0: common divisors
/// become factors, major to minor; what two groups do not share needs replication.
FactorRule reshapeRule(mlir::Operation *op);

/// True if the value is a constant zero, whatever reshards and collectives lie between: a rule that
/// depends on it must not change while they are put in.
bool isZeroConstant(mlir::Value value);

} // namespace cleave::graph

#endif // CLEAVE_LIB_DIALECT_GRAPH_IR_SHARDINGRULES_H
