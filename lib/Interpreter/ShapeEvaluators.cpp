// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of constants and of ops that only move elements.

#include "Evaluators.h"

using namespace mlir;
using namespace cleave::graph;
using namespace cleave::interpreter;

namespace {
using Operands = ArrayRef<Operand>;
using Results = MutableArrayRef<Tensor>;

/// Copies out[i] = from[offset + sum of i[d] * steps[d]] for all indices of `out`, row by row.
void gatherStrided(Tensor &out, const Tensor &from, int64_t offset, ArrayRef<int64_t> steps) {
  if (out.size() == 0)
    return;
  if (out.rank() == 0)
    return out.copyElement(0, from, offset);
  ArrayRef<int64_t> outer = ArrayRef<int64_t>(out.shape).drop_back();
  int64_t row = out.shape.back(), step = steps.back(), to = 0;
  IndexCounter counter(outer);
  for (int64_t n = elementCount(outer); n > 0; --n, counter.next()) {
    int64_t start = offset;
    for (auto [i, s] : llvm::zip(*counter, steps))
      start += i * s;
    for (int64_t i = 0; i < row; ++i)
      out.copyElement(to++, from, start + i * step);
  }
}

void iota(IotaOp op, Operands in, Results out) {
  Tensor &result = out[0];
  int64_t offset = in.empty() ? 0 : in[0].index, dim = op.getDim();
  int64_t inner = stridesOf(result.shape)[dim], size = result.shape[dim];
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t value = offset + i / inner % size;
    if (result.isFloat())
      result.floats[i] = static_cast<double>(value);
    else
      result.ints[i] = wrap(value, result.dtype);
  }
}

void broadcast(BroadcastOp op, Operands in, Results out) {
  const Tensor &from = *in[0].tensor;
  SmallVector<int64_t> strides = stridesOf(from.shape), steps(out[0].rank(), 0);
  for (auto [d, dim] : llvm::enumerate(op.getDims()))
    if (from.shape[d] == out[0].shape[dim])
      steps[dim] = strides[d];
  gatherStrided(out[0], from, 0, steps);
}

void slice(SliceOp op, Operands in, Results out) {
  SmallVector<int64_t> strides = stridesOf(in[0].tensor->shape);
  int64_t offset = 0;
  for (auto [d, start] : llvm::enumerate(op.getStarts())) {
    offset += start * strides[d];
    strides[d] *= op.getStrides()[d];
  }
  gatherStrided(out[0], *in[0].tensor, offset, strides);
}

void pad(PadOp op, Operands in, Results out) {
  const Tensor &from = *in[0].tensor;
  for (int64_t i = 0; i < out[0].size(); ++i)
    out[0].copyElement(i, *in[1].tensor, 0);
  SmallVector<int64_t> strides = stridesOf(out[0].shape);
  IndexCounter counter(from.shape);
  for (int64_t i = 0; i < from.size(); ++i, counter.next()) {
    int64_t to = 0;
    bool isKept = true;
    for (auto [d, index] : llvm::enumerate(*counter)) {
      int64_t position = op.getLow()[d] + index * (op.getInterior()[d] + 1);
      isKept &= position >= 0 && position < out[0].shape[d];
      to += position * strides[d];
    }
    if (isKept)
      out[0].copyElement(to, from, i);
  }
}

void concatenate(ConcatenateOp op, Operands in, Results out) {
  int64_t dim = op.getDim();
  int64_t inner = stridesOf(out[0].shape)[dim];
  int64_t outer = elementCount(ArrayRef<int64_t>(out[0].shape).take_front(dim));
  int64_t to = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (const Operand &operand : in) {
      int64_t block = operand.tensor->shape[dim] * inner;
      for (int64_t i = 0; i < block; ++i)
        out[0].copyElement(to++, *operand.tensor, o * block + i);
    }
}
} // namespace

Tensor cleave::interpreter::transposed(const Tensor &tensor, ArrayRef<int64_t> perm) {
  SmallVector<int64_t> shape, steps, strides = stridesOf(tensor.shape);
  for (int64_t d : perm) {
    shape.push_back(tensor.shape[d]);
    steps.push_back(strides[d]);
  }
  Tensor result(tensor.dtype, shape);
  gatherStrided(result, tensor, 0, steps);
  return result;
}

void cleave::interpreter::addShapeEvaluators(EvaluatorRegistry &registry) {
  registry.add<ConstantOp>(
      [](ConstantOp op, Operands, Results out) { out[0] = Tensor::ofAttribute(op.getValue()); });
  registry.add<IotaOp>(iota);
  registry.add<BroadcastOp>(broadcast);
  registry.add<ReshapeOp>([](ReshapeOp, Operands in, Results out) {
    out[0].floats = in[0].tensor->floats;
    out[0].ints = in[0].tensor->ints;
  });
  registry.add<TransposeOp>([](TransposeOp op, Operands in, Results out) {
    out[0] = transposed(*in[0].tensor, op.getPerm());
  });
  registry.add<SliceOp>(slice);
  registry.add<PadOp>(pad);
  registry.add<ConcatenateOp>(concatenate);
}
