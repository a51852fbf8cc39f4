// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sharding rules by what they depend on. Private to lib/Dialect/Cleave/Transforms.

#ifndef CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_SHARDINGRULECACHE_H
#define CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_SHARDINGRULECACHE_H

#include "cleave/Layout/FactorRule.h"
#include "mlir/IR/Operation.h"
#include <deque>

namespace cleave {

/// A rule depends on an op's name, attributes and types only, so that the ops of a repeated block
/// share one. Rules live as long as the cache.
class ShardingRuleCache {
public:
  /// The rule of `op`; null if it has none, or one that does not fit the op (`malformed` is set and
  /// an error emitted).
  const FactorRule *ruleOf(mlir::Operation *op, bool &malformed);
  /// The rule of an op that passes its operand on.
  const FactorRule &identityRule(llvm::ArrayRef<int64_t> shape);

private:
  struct Entry {
    mlir::Operation *op; ///< a representative
    std::optional<FactorRule> rule;
  };
  std::deque<Entry> entries_;
  llvm::DenseMap<uint64_t, llvm::SmallVector<Entry *, 1>> byHash_;
  std::deque<std::pair<llvm::SmallVector<int64_t>, FactorRule>> identities_;
};

} // namespace cleave

#endif // CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_SHARDINGRULECACHE_H
