// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random numbers, and what dropout drops by them.

#ifndef CLEAVE_LIB_INTERPRETER_PHILOX_H
#define CLEAVE_LIB_INTERPRETER_PHILOX_H

#include "Evaluators.h"
#include <array>

namespace cleave::interpreter {

/// Philox4x32-10.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// What one op drops.
class DropoutMask {
public:
  DropoutMask(graph::DropoutAttr dropout, const Tensor &seed, const Tensor &step, int64_t offset,
              int64_t site);

  /// What an element is multiplied by: 0 or 1 / (1 - rate). `position` counts from the op's first
  /// element.
  double factor(int64_t position) const;

private:
  std::array<uint32_t, 2> key;
  uint32_t site, step, threshold;
  int64_t start;
  double scale;
};

/// The scalars of attention or its gradient: where its queries stand, and what it drops.
class AttentionScalars {
public:
  /// `next` is the number of the first operand behind those that are always there.
  template <typename Op> AttentionScalars(Op op, llvm::ArrayRef<Operand> in, unsigned next) {
    if (op.getQueryOffset())
      queryOffset = in[next++].index;
    if (!op.getSeed())
      return;
    int64_t offset = op.getDropoutOffset() ? in[next + 2].index : 0;
    mask.emplace(op.getDropoutAttr(), *in[next].tensor, *in[next + 1].tensor, offset, 0);
    strides = op.getDropoutStrides();
  }

  /// What the weight of a key is multiplied by.
  double factor(int64_t batch, int64_t query, int64_t head, int64_t group, int64_t key) const {
    if (!mask)
      return 1;
    return mask->factor(batch * strides[0] + query * strides[1] + head * strides[2] +
                        group * strides[3] + key);
  }

  int64_t queryOffset = 0;

private:
  std::optional<DropoutMask> mask;
  llvm::SmallVector<int64_t> strides;
};

} // namespace cleave::interpreter

#endif // CLEAVE_LIB_INTERPRETER_PHILOX_H
