// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Derivatives of matrix products and reductions.

#include "GradientType.h"
#include "cleave/Dialect/Cleave/IR/StateOfValue.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

//===----------------------------------------------------------------------===//
// DotGeneralOp
//===----------------------------------------------------------------------===//

namespace {
/// One side of a product, seen from the gradient.
struct Side {
  Value value;
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;
  SmallVector<int64_t> freeInResult; ///< where the result has the free dimensions
};
} // namespace

Type graph::gradientElementType(Value operand) {
  Type elementType = PrimitiveBuilder::typeOf(operand).getElementType();
  BlockArgument state = stateArgumentOf(operand);
  if (!state)
    return elementType;
  auto stored = dyn_cast<FloatType>(PrimitiveBuilder::typeOf(state).getElementType());
  auto narrow = dyn_cast<FloatType>(elementType);
  return stored && narrow && stored.getWidth() > narrow.getWidth() ? stored : elementType;
}

FailureOr<Value> DotGeneralOp::operandGradient(OpBuilder &builder, unsigned operand,
                                               ArrayRef<Value> gradients) {
  int64_t numBatch = getLhsBatch().size(), numLeft = getLhsFree().size();
  auto range = [](int64_t begin, int64_t end) {
    return llvm::to_vector(llvm::seq<int64_t>(begin, end));
  };
  Side lhs{getLhs(), getLhsBatch(), getLhsContract(), getLhsFree(),
           range(numBatch, numBatch + numLeft)};
  Side rhs{getRhs(), getRhsBatch(), getRhsContract(), getRhsFree(),
           range(numBatch + numLeft, getResult().getType().getRank())};
  const Side &self = operand == 0 ? lhs : rhs, &other = operand == 0 ? rhs : lhs;

  PrimitiveBuilder b(builder, getLoc());
  Value gradient = b.convert(gradients[0], b.typeOf(other.value).getElementType());
  SmallVector<int64_t> batchInResult = range(0, numBatch);

  // The product contracts what only the other operand has. Its dimensions are the batch
  // dimensions, then this operand's free dimensions and the contracted ones, in the order that
  // needs no transpose, if there is one. `placed[d]` is where dimension d of this operand is.
  SmallVector<int64_t> contracted(other.contract);
  llvm::sort(contracted);
  auto place = [&](bool gradientFirst) {
    SmallVector<int64_t> placed(b.shapeOf(self.value).size());
    int64_t free = numBatch + (gradientFirst ? 0 : contracted.size());
    int64_t summed = numBatch + (gradientFirst ? self.free.size() : 0);
    for (auto [i, d] : llvm::enumerate(self.batch))
      placed[d] = i;
    for (auto [i, d] : llvm::enumerate(self.free))
      placed[d] = free + i;
    for (auto [mine, theirs] : llvm::zip(self.contract, other.contract))
      placed[mine] = summed + (llvm::find(contracted, theirs) - contracted.begin());
    return placed;
  };
  bool gradientFirst = llvm::is_sorted(place(true)) || !llvm::is_sorted(place(false));
  SmallVector<int64_t> placed = place(gradientFirst);
  Type elementType = gradientElementType(self.value);
  using List = ArrayRef<int64_t>;
  Value product =
      gradientFirst ? b.make<DotGeneralOp>(gradient, other.value, List(batchInResult), other.batch,
                                           List(other.freeInResult), List(other.free), elementType)
                    : b.make<DotGeneralOp>(other.value, gradient, other.batch, List(batchInResult),
                                           List(other.free), List(other.freeInResult), elementType);
  return llvm::is_sorted(placed) ? product : b.make<TransposeOp>(product, List(placed));
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

FailureOr<Value> ReduceOp::operandGradient(OpBuilder &builder, unsigned,
                                           ArrayRef<Value> gradients) {
  PrimitiveBuilder b(builder, getLoc());
  SmallVector<int64_t> shape(getOperand().getType().getShape());
  ArrayRef<int64_t> dims = getDims();
  Value gradient = b.broadcastBack(gradients[0], shape, dims);
  if (getKind() == ReduceKind::Sum)
    return gradient;
  Value x = getOperand(), zero = b.splatLike(x, 0.0), one = b.splatLike(x, 1.0);
  if (getKind() == ReduceKind::Prod) {
    // The product of the others: result / x, unless there are zeros among the factors.
    Value isZero = b.compare(CompareDirection::EQ, x, 0.0);
    Value zeros =
        b.broadcastBack(b.reduce(ReduceKind::Sum, b.select(isZero, one, zero), dims), shape, dims);
    Value nonZero = b.select(isZero, one, x);
    Value product = b.broadcastBack(b.reduce(ReduceKind::Prod, nonZero, dims), shape, dims);
    Value others = b.divide(product, nonZero);
    Value otherZeros = b.subtract(zeros, b.select(isZero, one, zero));
    Value hasNone = b.compare(CompareDirection::EQ, otherZeros, 0.0);
    return b.multiply(gradient, b.select(hasNone, others, zero));
  }
  // The elements that are as large (small) as the result share the gradient.
  Value chosen = b.compare(CompareDirection::EQ, x, b.broadcastBack(getResult(), shape, dims));
  Value count = b.reduce(ReduceKind::Sum, b.select(chosen, one, zero), dims);
  Value share = b.broadcastBack(b.divide(gradients[0], count), shape, dims);
  return b.select(chosen, share, zero);
}
