// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Building blocks of sharding rules.

#include "ShardingRules.h"

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
TensorFactors dimensionsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return TensorFactors(tensor ? tensor.getRank() : 0);
}
} // namespace

RuleBuilder::RuleBuilder(Operation *op) : op(op) {
  for (Type type : op->getOperandTypes())
    rule.operands.push_back(dimensionsOf(type));
  for (Type type : op->getResultTypes())
    rule.results.push_back(dimensionsOf(type));
}

int64_t RuleBuilder::operandSize(unsigned operand, unsigned dim) const {
  return cast<RankedTensorType>(op->getOperand(operand).getType()).getDimSize(dim);
}

int64_t RuleBuilder::resultSize(unsigned result, unsigned dim) const {
  return cast<RankedTensorType>(op->getResult(result).getType()).getDimSize(dim);
}

uint16_t RuleBuilder::pass(unsigned operand, unsigned operandDimension, unsigned result,
                           unsigned resultDimension) {
  uint16_t index = factor(resultSize(result, resultDimension));
  operandDim(operand, operandDimension, index);
  resultDim(result, resultDimension, index);
  return index;
}

FactorRule graph::elementwiseRule(Operation *op, uint32_t jointlyLinear,
                                  uint32_t separatelyLinear) {
  RuleBuilder builder(op);
  unsigned rank = builder.rule.results[0].size();
  for (unsigned d = 0; d < rank; ++d) {
    uint16_t factor = builder.factor(builder.resultSize(0, d));
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      builder.operandDim(i, d, factor);
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      builder.resultDim(i, d, factor);
  }
  builder.rule.jointlyLinear = jointlyLinear;
  builder.rule.separatelyLinear = separatelyLinear;
  builder.rule.opPriority = 1;
  return builder.rule;
}

FactorRule graph::reshapeRule(Operation *op) {
  RuleBuilder builder(op);
  builder.rule.jointlyLinear = 1;
  builder.rule.opPriority = 1;
  unsigned inRank = builder.rule.operands[0].size(), outRank = builder.rule.results[0].size();

  // Walks both shapes from the major end. `inLeft` and `outLeft` are what is not yet covered of the
  // current dimensions. Dimensions of size 1 get no factor. In a tensor without elements every
  // dimension stands alone.
  unsigned i = 0, o = 0;
  int64_t inLeft = 1, outLeft = 1;
  bool isEmpty = false;
  for (unsigned d = 0; d < inRank; ++d)
    isEmpty |= builder.operandSize(0, d) == 0;
  if (isEmpty) {
    for (unsigned d = 0; d < inRank; ++d)
      builder.operandDim(0, d, builder.replicated(builder.operandSize(0, d)));
    for (unsigned d = 0; d < outRank; ++d)
      builder.resultDim(0, d, builder.replicated(builder.resultSize(0, d)));
    return builder.rule;
  }
  unsigned inDim = 0, outDim = 0;
  auto nextIn = [&] {
    while (inLeft == 1 && i < inRank) {
      inDim = i++;
      inLeft = builder.operandSize(0, inDim);
    }
  };
  auto nextOut = [&] {
    while (outLeft == 1 && o < outRank) {
      outDim = o++;
      outLeft = builder.resultSize(0, outDim);
    }
  };
  while (true) {
    nextIn();
    nextOut();
    if (inLeft == 1 || outLeft == 1)
      return builder.rule;
    int64_t common = std::gcd(inLeft, outLeft);
    if (common > 1) {
      uint16_t factor = builder.factor(common);
      builder.operandDim(0, inDim, factor);
      builder.resultDim(0, outDim, factor);
      inLeft /= common;
      outLeft /= common;
      if (inLeft == 1 || outLeft == 1)
        continue;
    }
    // Two coprime rests: nothing that follows lines up before the products are equal again.
    int64_t inProduct = inLeft, outProduct = outLeft;
    builder.operandDim(0, inDim, builder.replicated(inLeft));
    builder.resultDim(0, outDim, builder.replicated(outLeft));
    inLeft = outLeft = 1;
    while (inProduct != outProduct) {
      if (inProduct < outProduct) {
        nextIn();
        inProduct *= inLeft;
        builder.operandDim(0, inDim, builder.replicated(inLeft));
        inLeft = 1;
      } else {
        nextOut();
        outProduct *= outLeft;
        builder.resultDim(0, outDim, builder.replicated(outLeft));
        outLeft = 1;
      }
    }
  }
}

bool graph::isZeroConstant(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshardOp, ShardingConstraintOp, PropagationBarrierOp, DoneOp, CollectiveOpInterface>(
            op))
      return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
    value = op->getOperand(0);
  }
  return false;
}
