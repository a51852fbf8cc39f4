// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// rope_table and rope.

#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GradientAccumulation.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include "cleave/Dialect/Graph/IR/RotaryFrequencies.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

SmallVector<double> graph::rotaryFrequencies(int64_t rotaryDim, double base,
                                             RopeScalingAttr scaling) {
  SmallVector<double> frequencies;
  for (int64_t j = 0; j < rotaryDim / 2; ++j)
    frequencies.push_back(std::pow(base, -2.0 * static_cast<double>(j) / rotaryDim));
  if (!scaling)
    return frequencies;
  double factor = scaling.getFactor().convertToDouble();
  double low = scaling.getLowFreqFactor().convertToDouble();
  double high = scaling.getHighFreqFactor().convertToDouble();
  double context = static_cast<double>(scaling.getOriginalMaxPosition());
  for (double &frequency : frequencies) {
    if (scaling.getKind() == RopeScalingKind::Linear) {
      frequency /= factor;
      continue;
    }
    double turns = context * frequency / (2.0 * std::numbers::pi); // context / wavelength
    if (turns > high)
      continue;
    double kept = turns < low ? 0.0 : (turns - low) / (high - low);
    frequency = (1.0 - kept) * frequency / factor + kept * frequency;
  }
  return frequencies;
}

//===----------------------------------------------------------------------===//
// RopeTableOp
//===----------------------------------------------------------------------===//

namespace {
SmallVector<int64_t> tableShape(RankedTensorType positions, int64_t rotaryDim) {
  SmallVector<int64_t> shape(positions.getShape());
  shape.push_back(rotaryDim / 2);
  return shape;
}
} // namespace

void RopeTableOp::build(OpBuilder &builder, OperationState &state, Value positions,
                        int64_t rotaryDim, double base, RopeScalingAttr scaling, Type elementType) {
  if (!elementType)
    elementType = builder.getF32Type();
  Type type = RankedTensorType::get(
      tableShape(tensorType(positions), std::max<int64_t>(rotaryDim, 0)), elementType);
  build(builder, state, type, type, positions, builder.getI64IntegerAttr(rotaryDim),
        builder.getF64FloatAttr(base), scaling);
}

LogicalResult RopeTableOp::verify() {
  int64_t rotaryDim = getRotaryDim();
  if (rotaryDim < 2 || rotaryDim % 2 != 0)
    return emitOpError() << "expected an even rotary_dim of at least 2, found " << rotaryDim;
  if (!getBase().isFinite() || getBase().convertToDouble() <= 1.0)
    return emitOpError() << "expected a finite base above 1, found " << getBase().convertToDouble();
  SmallVector<int64_t> shape = tableShape(getPositions().getType(), rotaryDim);
  Type elementType = getCos().getType().getElementType();
  if (failed(verifyResult(*this, 0, shape, elementType)))
    return failure();
  return verifyResult(*this, 1, shape, elementType);
}

FactorRule RopeTableOp::getShardingRule() {
  RuleBuilder builder(*this);
  unsigned rank = builder.rule.operands[0].size();
  for (unsigned d = 0; d < rank; ++d)
    builder.resultDim(1, d, builder.pass(0, d, 0, d));
  uint16_t frequencies = builder.replicated(builder.resultSize(0, rank));
  builder.resultDim(0, rank, frequencies);
  builder.resultDim(1, rank, frequencies);
  return builder.rule;
}

FailureOr<SmallVector<Value>> RopeTableOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  Type f64 = builder.getF64Type(), elementType = getCos().getType().getElementType();
  SmallVector<int64_t> shape(getCos().getType().getShape());
  int64_t last = shape.size() - 1;
  SmallVector<double> numbers =
      rotaryFrequencies(getRotaryDim(), getBase().convertToDouble(), getScalingAttr());
  Value frequencies = b.make<ConstantOp>(
      DenseElementsAttr::get(RankedTensorType::get({shape[last]}, f64), ArrayRef<double>(numbers)));
  Value positions = b.broadcastBack(b.convert(getPositions(), f64), shape, {last});
  Value angles = b.multiply(positions, b.broadcast(frequencies, shape, {last}));
  return SmallVector<Value>{b.convert(b.make<CosOp>(angles), elementType),
                            b.convert(b.make<SinOp>(angles), elementType)};
}

//===----------------------------------------------------------------------===//
// RopeOp
//===----------------------------------------------------------------------===//

int64_t RopeOp::getRotaryDim() { return 2 * getCos().getType().getShape().back(); }

LogicalResult RopeOp::verify() {
  RankedTensorType type = getOperand().getType(), cos = getCos().getType();
  if (type.getRank() < 3)
    return emitOpError()
           << "expected an operand of rank 3 or more, [batch, sequence, ..., head_dim], "
              "found "
           << typeText(type);
  if (cos.getRank() != 2 && cos.getRank() != 3)
    return emitOpError()
           << "expected tables of shape [sequence, pairs] or [batch, sequence, pairs], "
              "found "
           << typeText(cos);
  SmallVector<int64_t> shape(type.getShape().slice(3 - cos.getRank(), cos.getRank() - 1));
  shape.push_back(cos.getShape().back());
  if (failed(verifyOperand(*this, "cos", getCos(), shape, cos.getElementType())) ||
      failed(verifyOperand(*this, "sin", getSin(), shape, cos.getElementType())))
    return failure();
  if (getRotaryDim() > type.getShape().back())
    return emitOpError() << "expected tables of at most half the operand's last size, "
                         << type.getShape().back() << ", found " << cos.getShape().back()
                         << " pairs";
  return verifyResult(*this, 0, type.getShape(), type.getElementType());
}

FactorRule RopeOp::getShardingRule() {
  RuleBuilder builder(*this);
  builder.rule.separatelyLinear = 0b1;
  unsigned last = builder.rule.operands[0].size() - 1;
  unsigned tableRank = builder.rule.operands[1].size();
  for (unsigned d = 0; d < last; ++d) {
    uint16_t factor = builder.pass(0, d, 0, d);
    // Dimension 1 is the sequence, the table's last but one.
    int64_t tableDim = int64_t(d) + tableRank - 3;
    if (d > 1 || tableDim < 0)
      continue;
    builder.operandDim(1, tableDim, factor);
    builder.operandDim(2, tableDim, factor);
  }
  uint16_t headDim = builder.replicated(builder.resultSize(0, last));
  builder.operandDim(0, last, headDim);
  builder.resultDim(0, last, headDim);
  uint16_t pairs = builder.replicated(builder.operandSize(1, tableRank - 1));
  builder.operandDim(1, tableRank - 1, pairs);
  builder.operandDim(2, tableRank - 1, pairs);
  return builder.rule;
}

FailureOr<SmallVector<Value>> RopeOp::decompose(OpBuilder &builder) {
  PrimitiveBuilder b(builder, getLoc());
  RankedTensorType type = getOperand().getType();
  Type elementType = type.getElementType(), compute = computeType(elementType);
  int64_t last = type.getRank() - 1, rotaryDim = getRotaryDim(), half = rotaryDim / 2;
  Value first = b.convert(b.sliceLast(getOperand(), 0, half), compute);
  Value second = b.convert(b.sliceLast(getOperand(), half, rotaryDim), compute);
  SmallVector<int64_t> dims{1, last};
  if (getCos().getType().getRank() == 3)
    dims.insert(dims.begin(), 0);
  auto spread = [&](Value table) {
    return b.broadcast(b.convert(table, compute), b.shapeOf(first), dims);
  };
  Value cos = spread(getCos()), sin = spread(getSin());
  SmallVector<Value> parts{
      b.convert(b.subtract(b.multiply(first, cos), b.multiply(second, sin)), elementType),
      b.convert(b.add(b.multiply(second, cos), b.multiply(first, sin)), elementType)};
  if (rotaryDim < type.getDimSize(last))
    parts.push_back(b.sliceLast(getOperand(), rotaryDim, type.getDimSize(last)));
  return SmallVector<Value>{b.make<ConcatenateOp>(ValueRange(parts), last)};
}

FailureOr<Value> RopeOp::operandGradient(OpBuilder &builder, unsigned operand,
                                         ArrayRef<Value> gradients) {
  if (operand != 0)
    return gradientThroughDecomposition(cast<DecomposableOpInterface>(getOperation()), builder,
                                        operand, gradients);
  // A rotation's transpose is the rotation by the negative angle.
  PrimitiveBuilder b(builder, getLoc());
  return b.make<RopeOp>(gradients[0], getCos(), b.negate(getSin()));
}
