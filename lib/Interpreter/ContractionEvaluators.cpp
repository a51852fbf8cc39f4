// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of matrix products and reductions.

#include "Evaluators.h"

#include <cmath>

using namespace mlir;
using namespace cleave::graph;
using namespace cleave::interpreter;

namespace {
using Operands = ArrayRef<Operand>;
using Results = MutableArrayRef<Tensor>;

/// result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], in the order of k.
template <typename T>
void multiplyMatrices(const std::vector<T> &lhs, const std::vector<T> &rhs, std::vector<T> &result,
                      int64_t batch, int64_t rows, int64_t columns, int64_t depth) {
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t m = 0; m < rows; ++m) {
      T *to = result.data() + (b * rows + m) * columns;
      for (int64_t k = 0; k < depth; ++k) {
        T factor = lhs[(b * rows + m) * depth + k];
        const T *from = rhs.data() + (b * depth + k) * columns;
        for (int64_t n = 0; n < columns; ++n)
          to[n] += factor * from[n];
      }
    }
}

void dotGeneral(DotGeneralOp op, Operands in, Results out) {
  SmallVector<int64_t> lhsOrder(op.getLhsBatch()), rhsOrder(op.getRhsBatch());
  llvm::append_range(lhsOrder, op.getLhsFree());
  llvm::append_range(lhsOrder, op.getLhsContract());
  llvm::append_range(rhsOrder, op.getRhsContract());
  llvm::append_range(rhsOrder, op.getRhsFree());
  Tensor lhs = transposed(*in[0].tensor, lhsOrder), rhs = transposed(*in[1].tensor, rhsOrder);
  size_t numBatch = op.getLhsBatch().size(), numContract = op.getLhsContract().size();
  ArrayRef<int64_t> lhsShape = lhs.shape, rhsShape = rhs.shape;
  int64_t batch = elementCount(lhsShape.take_front(numBatch));
  int64_t depth = elementCount(lhsShape.take_back(numContract));
  int64_t rows = elementCount(lhsShape.drop_front(numBatch).drop_back(numContract));
  int64_t columns = elementCount(rhsShape.drop_front(numBatch + numContract));
  Tensor &result = out[0];
  if (result.isFloat()) {
    multiplyMatrices(lhs.floats, rhs.floats, result.floats, batch, rows, columns, depth);
    return;
  }
  // Unsigned, as it wraps.
  std::vector<uint64_t> x(lhs.ints.begin(), lhs.ints.end()), y(rhs.ints.begin(), rhs.ints.end());
  std::vector<uint64_t> sums(result.ints.size(), 0);
  multiplyMatrices(x, y, sums, batch, rows, columns, depth);
  for (auto [to, sum] : llvm::zip(result.ints, sums))
    to = wrap(static_cast<int64_t>(sum), result.dtype);
}

double combine(ReduceKind kind, double x, double y) {
  switch (kind) {
  case ReduceKind::Sum:
    return x + y;
  case ReduceKind::Prod:
    return x * y;
  case ReduceKind::Max:
    return std::isnan(x) || std::isnan(y) ? x + y : std::max(x, y);
  case ReduceKind::Min:
    return std::isnan(x) || std::isnan(y) ? x + y : std::min(x, y);
  }
  return x;
}

int64_t combine(ReduceKind kind, int64_t x, int64_t y) {
  switch (kind) {
  case ReduceKind::Sum:
    return static_cast<int64_t>(uint64_t(x) + uint64_t(y));
  case ReduceKind::Prod:
    return static_cast<int64_t>(uint64_t(x) * uint64_t(y));
  case ReduceKind::Max:
    return std::max(x, y);
  case ReduceKind::Min:
    return std::min(x, y);
  }
  return x;
}

/// What an empty reduction gives.
void fillNeutral(ReduceKind kind, Tensor &tensor) {
  double infinity = std::numeric_limits<double>::infinity();
  bool isMax = kind == ReduceKind::Max;
  double number = kind == ReduceKind::Sum    ? 0.0
                  : kind == ReduceKind::Prod ? 1.0
                  : isMax                    ? -infinity
                                             : infinity;
  std::fill(tensor.floats.begin(), tensor.floats.end(), number);
  unsigned width = integerWidth(tensor.dtype);
  int64_t least = std::numeric_limits<int64_t>::min() >> (64 - width);
  int64_t integer = kind == ReduceKind::Sum    ? 0
                    : kind == ReduceKind::Prod ? 1
                    : isMax                    ? least
                                               : ~least;
  std::fill(tensor.ints.begin(), tensor.ints.end(), integer);
}

void reduce(ReduceOp op, Operands in, Results out) {
  const Tensor &from = *in[0].tensor;
  Tensor &to = out[0];
  fillNeutral(op.getKind(), to);
  // Where an operand element's sum lies: steps of 0 along reduced dimensions.
  SmallVector<int64_t> strides = stridesOf(to.shape), steps(from.rank(), 0);
  unsigned kept = 0;
  for (int64_t d = 0; d < from.rank(); ++d)
    if (!llvm::is_contained(op.getDims(), d))
      steps[d] = strides[kept++];
  IndexCounter counter(from.shape);
  for (int64_t i = 0; i < from.size(); ++i, counter.next()) {
    int64_t target = 0;
    for (auto [index, step] : llvm::zip(*counter, steps))
      target += index * step;
    if (from.isFloat())
      to.floats[target] = combine(op.getKind(), to.floats[target], from.floats[i]);
    else
      to.ints[target] = wrap(combine(op.getKind(), to.ints[target], from.ints[i]), to.dtype);
  }
}
} // namespace

void cleave::interpreter::addContractionEvaluators(EvaluatorRegistry &registry) {
  registry.add<DotGeneralOp>(dotGeneral);
  registry.add<ReduceOp>(reduce);
}
