// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sharding propagation over plain values: how shardings given on some values of a program spread
// to the others through the ops' sharding rules.
#ifndef CLEAVE_LAYOUT_PROPAGATION_H
#define CLEAVE_LAYOUT_PROPAGATION_H

#include "cleave/Layout/FactorRule.h"

#include <memory>
#include <vector>

namespace cleave {

/// What is given about a value. Dimensions and axes as in Layout.
struct GivenSharding {
  struct Dim {
    AxisList axes;
    bool closed = false;
    int priority = 0; ///< smaller goes first
  };
  llvm::SmallVector<Dim, 4> dims;
  AxisList replicated; ///< axes that may shard no dimension
  AxisList partial;
  Reduction partialKind = Reduction::Sum;
};

/// Two shardings of one priority that stopped each other: inside one op, or in one group, a
/// dimension is sharded in two ways, or two dimensions want the same axes in a tensor and neither
/// gets them. Propagation leaves both as they are; a reshard will stand between them. An op whose
/// tensors have the axes in different dimensions is no conflict: it gathers or scatters.
struct PropagationConflict {
  struct Side {
    uint32_t value;  ///< value at the op that has these axes
    uint32_t origin; ///< value that they were given on
    uint16_t factor; ///< what they shard (for a group: the dimension)
    AxisList axes;
  };
  static constexpr uint32_t kNoOp = ~0u;
  uint32_t op = kNoOp; ///< in the order of addOp; kNoOp for members of one group
  Side a, b;           ///< the same factor: axes that differ; different factors: axes that overlap
};

/// Rounds of user priority (the shardings given with priority 0 spread, then those with 1 join,
/// ...) around rounds of op priority (FactorRule::opPriority, higher first) around propagation of
/// factors without conflicts: a factor takes the longest list of axes on which the tensors that are
/// sharded along it agree, one list may extend another, and axes that are in use for another factor
/// of the op, for another dimension of the value, replicated or partial end it. Axes are only ever
/// added, at the minor end of open dimensions, so that the result depends on the order of ops
/// alone.
///
/// A Reduction factor is propagated between operands, a NeedReplication factor never. A factor that
/// is part of a compound dimension, anywhere in the op, is propagated only where it shards evenly.
class Propagation {
public:
  using Value = uint32_t;
  /// Which way an op lets shardings pass; forward is from operands to results.
  enum class Direction : uint8_t { None, Forward, Backward, Both };
  static constexpr Value kNoValue = ~0u; ///< an operand that takes no part

  Propagation();
  ~Propagation();
  Propagation(const Propagation &) = delete;
  Propagation &operator=(const Propagation &) = delete;

  /// A value about which nothing is known: every dimension open.
  Value addValue(unsigned rank);
  Value addValue(const GivenSharding &given);
  /// `rule` must fit the values' ranks (checkRule) and outlive this object; ops that share a rule
  /// object also share what is derived from it.
  uint32_t addOp(const FactorRule &rule, llvm::ArrayRef<Value> operands,
                 llvm::ArrayRef<Value> results, Direction direction = Direction::Both);
  /// Makes two values of one rank share their sharding.
  void join(Value a, Value b);

  void run();

  Layout layout(Value value) const;
  /// A small number, the same for values with equal layouts, so that callers can remember what they
  /// make of one. Valid after run.
  uint32_t layoutId(Value value) const;
  /// Found by `run`; in the order of ops.
  std::vector<PropagationConflict> conflicts() const;
  /// Number of times an op was looked at, for statistics.
  uint64_t visits() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace cleave

#endif // CLEAVE_LAYOUT_PROPAGATION_H
