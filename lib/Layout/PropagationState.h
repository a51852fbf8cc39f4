// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The inside of Propagation. Private to lib/Layout.
#ifndef CLEAVE_LIB_LAYOUT_PROPAGATIONSTATE_H
#define CLEAVE_LIB_LAYOUT_PROPAGATIONSTATE_H

#include "cleave/Layout/Propagation.h"

#include "llvm/ADT/DenseMap.h"
#include <deque>

namespace cleave {

/// Axis lists by number. Programs have thousands of sharded dimensions and a dozen different lists,
/// so that comparing numbers answers most questions. Number 0 is the empty list.
class AxisListTable {
public:
  AxisListTable() { intern({}); }
  uint32_t intern(llvm::ArrayRef<AxisRef> axes);
  const AxisList &operator[](uint32_t list) const { return entries_[list].axes; }
  int64_t shardCount(uint32_t list) const { return entries_[list].shardCount; }
  bool overlap(uint32_t a, uint32_t b) const {
    return (entries_[a].mask & entries_[b].mask) != 0 &&
           axesOverlap(entries_[a].axes, entries_[b].axes);
  }
  /// The major part of `list` that comes before anything that overlaps `blockers`.
  uint32_t truncate(uint32_t list, uint32_t blockers);
  /// The number of commonPrefix.
  uint32_t prefix(uint32_t a, uint32_t b);
  /// True if `longer` is `list` and something after it.
  bool extends(uint32_t longer, uint32_t list) {
    return longer != list && (list == 0 || prefix(longer, list) == list);
  }

private:
  struct Entry {
    AxisList axes;
    uint64_t mask; ///< bit axis mod 64: lists without a common bit do not overlap
    int64_t shardCount;
    uint32_t next; ///< with the same hash; 0 ends
  };
  std::deque<Entry> entries_; ///< references stay valid
  llvm::DenseMap<uint64_t, uint32_t> byHash_;
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> prefixes_;
};

/// What propagation needs of a FactorRule, by factor.
struct CompiledRule {
  struct Occurrence {
    uint16_t tensor; ///< operands first, then results
    uint16_t dim;
    uint16_t position; ///< in the dimension's factors
    bool compound;     ///< the dimension has several factors larger than 1
  };
  struct FactorInfo {
    int64_t size;
    bool propagates; ///< not NeedReplication
    bool inCompound; ///< somewhere in the op
    uint32_t firstOccurrence, endOccurrence;
  };
  const FactorRule *rule;
  unsigned numOperands = 0;
  unsigned level = 0; ///< queue; smaller goes first
  llvm::SmallVector<FactorInfo, 8> factors;
  std::vector<Occurrence> occurrences;
  /// By tensor and dimension: which factors to look at again when it changes.
  llvm::SmallVector<llvm::SmallVector<uint64_t, 4>, 4> dirty;

  explicit CompiledRule(const FactorRule &rule);
  llvm::ArrayRef<Occurrence> occurrencesOf(const FactorInfo &factor) const {
    return llvm::ArrayRef(occurrences)
        .slice(factor.firstOccurrence, factor.endOccurrence - factor.firstOccurrence);
  }
  const TensorFactors &tensor(unsigned index) const {
    return index < numOperands ? rule->operands[index] : rule->results[index - numOperands];
  }
  static uint64_t dirtyBit(unsigned factor) { return uint64_t(1) << std::min(factor, 63u); }
};

struct Propagation::Impl {
  struct DimState {
    uint32_t list = 0;  ///< now
    uint32_t given = 0; ///< list that was given
    Value origin = kNoValue;
    int32_t priority = 0;
    uint32_t round = 0; ///< of user priority in which `list` was set
    bool closed = false;
    bool hidden = false; ///< priority not yet reached
  };
  struct ValueState {
    uint32_t firstDim, rank;
    uint32_t blocked = 0; ///< replicated and partial axes
    uint32_t partial = 0;
    Reduction partialKind = Reduction::Sum;
    Value leader = kNoValue; ///< whose dimensions count; itself if in no group
  };
  struct OpState {
    const CompiledRule *rule;
    uint32_t firstTensor;
    Direction direction;
    bool queued = false;
    uint64_t dirty = 0;
  };
  struct Use {
    uint32_t op;
    uint16_t tensor;
  };

  AxisListTable lists;
  std::vector<DimState> dims;
  std::vector<ValueState> values;
  std::vector<OpState> ops;
  std::vector<Value> tensors; ///< of all ops; leaders once run
  std::vector<std::unique_ptr<CompiledRule>> rules;
  llvm::DenseMap<const FactorRule *, CompiledRule *> ruleOf;
  llvm::DenseMap<std::pair<const DimFactors *, uint32_t>, llvm::SmallVector<uint32_t, 4>>
      projections;
  std::vector<uint32_t> firstUse; ///< by value, into uses
  std::vector<Use> uses;
  std::vector<std::deque<uint32_t>> queues; ///< by level
  std::vector<PropagationConflict> groupConflicts;
  mutable llvm::DenseMap<uint64_t, llvm::SmallVector<std::pair<Value, uint32_t>, 1>> layoutIds;
  mutable uint32_t numLayoutIds = 0;
  uint32_t round = 0;
  uint64_t visits = 0;

  DimState &dimOf(Value value, unsigned dim) { return dims[values[value].firstDim + dim]; }
  Value leaderOf(Value value) const;
  Value tensorOf(const OpState &op, const CompiledRule::Occurrence &at) const {
    return tensors[op.firstTensor + at.tensor];
  }

  void joinGroups();
  void indexUses();
  void reveal(int32_t priority);
  void drain();
  void visit(uint32_t op);
  void markUses(Value value, unsigned dim);

  /// The best list for a factor and where it came from.
  struct Candidate {
    uint32_t list = 0;
    const CompiledRule::Occurrence *from = nullptr;
    /// Two occurrences whose lists exclude each other, if any.
    const CompiledRule::Occurrence *conflictA = nullptr, *conflictB = nullptr;
  };
  Candidate agree(const OpState &op, const CompiledRule::FactorInfo &factor);
  void propagateFactor(const OpState &op, unsigned factor);
  uint32_t visibleList(const OpState &op, const CompiledRule::Occurrence &at);
  llvm::ArrayRef<uint32_t> project(const CompiledRule &rule, const DimFactors &factors,
                                   uint32_t list);
  bool mayGive(const OpState &op, const CompiledRule::Occurrence &at) const;
  bool mayTake(const OpState &op, const CompiledRule::Occurrence &at) const;
  /// Cuts `list` where it meets another factor of the op. `blocker` is set to who cut it last.
  uint32_t withoutOtherFactors(const OpState &op, unsigned factor, uint32_t list,
                               const CompiledRule::Occurrence **blocker = nullptr);
  uint32_t withoutOtherDims(Value value, unsigned dim, uint32_t list);
  /// The dimension's list if the factor there had `list`; its present one if that cannot be.
  uint32_t dimWith(const OpState &op, const CompiledRule::Occurrence &at, uint32_t list);
  void findConflicts(uint32_t op, std::vector<PropagationConflict> &found);
};

} // namespace cleave

#endif // CLEAVE_LIB_LAYOUT_PROPAGATIONSTATE_H
