// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of ops that pick elements by numbers in tensors, and of random numbers.

#include "Philox.h"

#include <array>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace cleave::graph;
using namespace cleave::interpreter;

namespace {
using Operands = ArrayRef<Operand>;
using Results = MutableArrayRef<Tensor>;

/// Sizes of the dimensions before and behind an axis.
struct AxisSplit {
  int64_t outer, size, inner;
  AxisSplit(ArrayRef<int64_t> shape, int64_t axis)
      : outer(elementCount(shape.take_front(axis))), size(shape[axis]),
        inner(elementCount(shape.drop_front(axis + 1))) {}
};

void gather(GatherOp op, Operands in, Results out) {
  const Tensor &operand = *in[0].tensor, &indices = *in[1].tensor;
  AxisSplit split(operand.shape, op.getAxis());
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t n = 0; n < indices.size(); ++n) {
      int64_t index = indices.ints[n];
      if (index < 0 || index >= split.size)
        continue;
      for (int64_t i = 0; i < split.inner; ++i)
        out[0].copyElement((o * indices.size() + n) * split.inner + i, operand,
                           (o * split.size + index) * split.inner + i);
    }
}

void scatterAdd(ScatterAddOp op, Operands in, Results out) {
  const Tensor &indices = *in[1].tensor, &updates = *in[2].tensor;
  AxisSplit split(in[0].tensor->shape, op.getAxis());
  Tensor &result = out[0] = *in[0].tensor;
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t n = 0; n < indices.size(); ++n) {
      int64_t index = indices.ints[n];
      if (index < 0 || index >= split.size)
        continue;
      for (int64_t i = 0; i < split.inner; ++i) {
        int64_t from = (o * indices.size() + n) * split.inner + i;
        int64_t to = (o * split.size + index) * split.inner + i;
        if (result.isFloat())
          result.floats[to] += updates.floats[from];
        else
          result.ints[to] =
              wrap(static_cast<int64_t>(uint64_t(result.ints[to]) + uint64_t(updates.ints[from])),
                   result.dtype);
      }
    }
}

void topK(TopKOp, Operands in, Results out) {
  const Tensor &operand = *in[0].tensor;
  int64_t size = operand.shape.back(), k = out[0].shape.back();
  if (k == 0)
    return;
  for (int64_t row = 0; row < out[0].size() / k; ++row) {
    std::vector<int64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    // Whether element x comes before y; equal ones in their order.
    auto comesBefore = [&](int64_t x, int64_t y) {
      double a = operand.number(row * size + x), b = operand.number(row * size + y);
      if (!operand.isFloat() && operand.ints[row * size + x] != operand.ints[row * size + y])
        return operand.ints[row * size + x] > operand.ints[row * size + y];
      if (std::isnan(a) != std::isnan(b))
        return std::isnan(a);
      return a > b || (!(a < b) && x < y);
    };
    std::sort(order.begin(), order.end(), comesBefore);
    for (int64_t i = 0; i < k; ++i) {
      out[0].copyElement(row * k + i, operand, row * size + order[i]);
      out[1].ints[row * k + i] = order[i];
    }
  }
}

/// Where a part starts, clamped so that it lies inside the whole.
SmallVector<int64_t> clampedStarts(Operands starts, ArrayRef<int64_t> whole,
                                   ArrayRef<int64_t> part) {
  SmallVector<int64_t> clamped;
  for (auto [start, size, taken] : llvm::zip(starts, whole, part))
    clamped.push_back(std::clamp<int64_t>(start.tensor->ints[0], 0, size - taken));
  return clamped;
}

/// Calls `visit(whole, part)` with the row-major indices of every element of a part.
template <typename Visit>
void forEachOfPart(ArrayRef<int64_t> whole, ArrayRef<int64_t> part, ArrayRef<int64_t> starts,
                   Visit visit) {
  SmallVector<int64_t> strides = stridesOf(whole);
  IndexCounter counter(part);
  for (int64_t i = 0, n = elementCount(part); i < n; ++i, counter.next()) {
    int64_t at = 0;
    for (auto [index, start, stride] : llvm::zip(*counter, starts, strides))
      at += (index + start) * stride;
    visit(at, i);
  }
}

void dynamicSlice(DynamicSliceOp, Operands in, Results out) {
  const Tensor &operand = *in[0].tensor;
  SmallVector<int64_t> starts = clampedStarts(in.drop_front(), operand.shape, out[0].shape);
  forEachOfPart(operand.shape, out[0].shape, starts,
                [&](int64_t whole, int64_t part) { out[0].copyElement(part, operand, whole); });
}

void dynamicUpdateSlice(DynamicUpdateSliceOp, Operands in, Results out) {
  const Tensor &update = *in[1].tensor;
  out[0] = *in[0].tensor;
  SmallVector<int64_t> starts = clampedStarts(in.drop_front(2), out[0].shape, update.shape);
  forEachOfPart(out[0].shape, update.shape, starts,
                [&](int64_t whole, int64_t part) { out[0].copyElement(whole, update, part); });
}

void rng(RngOp op, Operands in, Results out) {
  uint64_t seed = in[0].tensor->ints[0], step = in[1].tensor->ints[0];
  for (uint64_t i = 0; i < out[0].floats.size(); ++i) {
    std::array<uint32_t, 4> words =
        philox({uint32_t(i), uint32_t(i >> 32), uint32_t(op.getSite()), uint32_t(step)},
               {uint32_t(seed), uint32_t(seed >> 32)});
    double &value = out[0].floats[i];
    if (op.getDistribution() == RandomDistribution::Uniform)
      value = (words[0] >> 8) * 0x1p-24;
    else
      value = std::sqrt(-2.0 * std::log(((words[0] >> 8) + 1) * 0x1p-24)) *
              std::cos(2.0 * M_PI * (words[1] >> 8) * 0x1p-24);
  }
}
void dropout(DropoutOp op, Operands in, Results out) {
  if (!op.getSeed()) {
    out[0] = *in[0].tensor;
    return;
  }
  unsigned next = 3;
  int64_t offset = op.getOffset() ? in[next++].index : 0, site = op.getSite() ? in[next].index : 0;
  DropoutMask mask(op.getDropout(), *in[1].tensor, *in[2].tensor, offset, site);
  SmallVector<int64_t> strides = op.getPositionStrides();
  IndexCounter counter(out[0].shape);
  for (int64_t i = 0; i < out[0].size(); ++i, counter.next()) {
    int64_t position = 0;
    for (auto [index, stride] : llvm::zip(*counter, strides))
      position += index * stride;
    // What is dropped is 0, whatever it was.
    if (double factor = mask.factor(position))
      out[0].floats[i] = in[0].tensor->floats[i] * factor;
  }
}
} // namespace

std::array<uint32_t, 4> cleave::interpreter::philox(std::array<uint32_t, 4> counter,
                                                    std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0], second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

DropoutMask::DropoutMask(DropoutAttr dropout, const Tensor &seed, const Tensor &step,
                         int64_t offset, int64_t site)
    : key{uint32_t(seed.ints[0]), uint32_t(uint64_t(seed.ints[0]) >> 32)},
      site(uint32_t(dropout.getSite() + site)), step(uint32_t(step.ints[0])),
      threshold(dropout.getThreshold()), start(dropout.getStart() + offset),
      scale(dropout.getScale()) {}

double DropoutMask::factor(int64_t position) const {
  uint64_t n = uint64_t(start) + uint64_t(position), counter = n / 64 * 16 + n % 16;
  std::array<uint32_t, 4> words =
      philox({uint32_t(counter), uint32_t(counter >> 32), site, step}, key);
  return words[n / 16 % 4] < threshold ? 0.0 : scale;
}

void cleave::interpreter::addIndexingEvaluators(EvaluatorRegistry &registry) {
  registry.add<GatherOp>(gather);
  registry.add<ScatterAddOp>(scatterAdd);
  registry.add<TopKOp>(topK);
  registry.add<DynamicSliceOp>(dynamicSlice);
  registry.add<DynamicUpdateSliceOp>(dynamicUpdateSlice);
  registry.add<RngOp>(rng);
  registry.add<DropoutOp>(dropout);
}
