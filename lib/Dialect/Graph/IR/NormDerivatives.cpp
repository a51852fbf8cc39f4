// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Derivatives of rms_norm and layer_norm. With x^ the normed operand (before the weight), r the
// factor of a row and h = gradient * weight:
//   rms_norm:   dx = r h - r^3 x mean(h x),                   dw = sum over rows of gradient * x^
//   layer_norm: dx = r (h - mean(h)) - r^3 c mean(h c), where c = x - mean(x); dw alike, and
//               db = sum over rows of the gradient.

#include "GradientType.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
class NormGradient {
public:
  NormGradient(OpBuilder &builder, Operation *op, Value gradient, Value weight, double eps)
      : b(builder, op->getLoc()), elementType(b.typeOf(gradient).getElementType()),
        compute(computeType(elementType)), gradient(b.convert(gradient, compute)), weight(weight),
        x(b.convert(op->getOperand(0), compute)), shape(b.shapeOf(x)),
        last(static_cast<int64_t>(shape.size()) - 1), eps(eps) {}

  /// What is normed: x, or for layer_norm x - mean(x).
  void center() { x = b.subtract(x, alongRow(mean(x))); }
  Value byOperand(bool isCentered);
  Value byWeight();
  Value byBias(Value bias) { return sumOverRows(gradient, bias); }

private:
  /// One number a row.
  Value mean(Value value) {
    return b.multiply(b.reduce(ReduceKind::Sum, value, {last}),
                      1.0 / static_cast<double>(shape[last]));
  }
  Value alongRow(Value row) { return b.broadcastBack(row, shape, {last}); }
  Value rowFactor() { return b.rsqrt(b.add(mean(b.multiply(x, x)), eps)); }
  /// The gradient by a parameter.
  Value sumOverRows(Value value, Value parameter) {
    auto rows = llvm::to_vector(llvm::seq<int64_t>(0, last));
    return b.convert(rows.empty() ? value : b.reduce(ReduceKind::Sum, value, rows),
                     gradientElementType(parameter));
  }

  PrimitiveBuilder b;
  Type elementType, compute;
  Value gradient, weight, x;
  SmallVector<int64_t> shape;
  int64_t last;
  double eps;
};

Value NormGradient::byOperand(bool isCentered) {
  Value factor = rowFactor();
  Value h = gradient;
  if (weight)
    h = b.multiply(h, b.broadcast(b.convert(weight, compute), shape, {last}));
  Value cube = b.multiply(b.multiply(factor, factor), factor);
  Value along = b.multiply(cube, mean(b.multiply(h, x)));
  if (isCentered)
    h = b.subtract(h, alongRow(mean(h)));
  Value result = b.subtract(b.multiply(h, alongRow(factor)), b.multiply(x, alongRow(along)));
  return b.convert(result, elementType);
}

Value NormGradient::byWeight() {
  return sumOverRows(b.multiply(gradient, b.multiply(x, alongRow(rowFactor()))), weight);
}
} // namespace

FailureOr<Value> RmsNormOp::operandGradient(OpBuilder &builder, unsigned operand,
                                            ArrayRef<Value> gradients) {
  NormGradient norm(builder, *this, gradients[0], getWeight(), getEps().convertToDouble());
  return operand == 0 ? norm.byOperand(/*isCentered=*/false) : norm.byWeight();
}

FailureOr<Value> LayerNormOp::operandGradient(OpBuilder &builder, unsigned operand,
                                              ArrayRef<Value> gradients) {
  NormGradient norm(builder, *this, gradients[0], getWeight(), getEps().convertToDouble());
  bool isWeight = operand == 1 && getWeight();
  if (operand > 0 && !isWeight)
    return norm.byBias((*this)->getOperand(operand));
  norm.center();
  return isWeight ? norm.byWeight() : norm.byOperand(/*isCentered=*/true);
}
