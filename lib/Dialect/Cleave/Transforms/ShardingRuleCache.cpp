// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ShardingRuleCache.h"

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "cleave/Dialect/Cleave/IR/CleaveInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace cleave;

static Attribute customRule(Operation *op) {
  // Attributes of unregistered ops are not told apart.
  return op->isRegistered() ? op->getDiscardableAttr(CleaveDialect::kShardingRuleAttr)
                            : op->getAttr(CleaveDialect::kShardingRuleAttr);
}

static uint64_t hashOf(Operation *op, Attribute custom) {
  llvm::hash_code types =
      llvm::hash_combine_range(op->operand_type_begin(), op->operand_type_end());
  return llvm::hash_combine(
      op->getName(), custom, types,
      llvm::hash_combine_range(op->result_type_begin(), op->result_type_end()),
      op->hashProperties());
}

static bool sameSignature(Operation *a, Operation *b) {
  return a->getName() == b->getName() && customRule(a) == customRule(b) &&
         llvm::equal(a->getOperandTypes(), b->getOperandTypes()) &&
         llvm::equal(a->getResultTypes(), b->getResultTypes()) &&
         a->getName().compareOpProperties(a->getPropertiesStorage(), b->getPropertiesStorage());
}

static SmallVector<SmallVector<int64_t>> shapesOf(TypeRange types) {
  return llvm::map_to_vector(types, [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? SmallVector<int64_t>(tensor.getShape()) : SmallVector<int64_t>();
  });
}

const FactorRule *ShardingRuleCache::ruleOf(Operation *op, bool &malformed) {
  Attribute custom = customRule(op);
  if (!custom && !isa<ShardingRuleOpInterface>(op))
    return nullptr;
  auto &bucket = byHash_[hashOf(op, custom) >> 1]; // the map reserves the two highest keys
  for (Entry *entry : bucket)
    if (sameSignature(entry->op, op))
      return entry->rule ? &*entry->rule : nullptr;

  std::optional<FactorRule> rule = shardingRuleOf(op);
  std::string error =
      rule ? checkRule(*rule, shapesOf(op->getOperandTypes()), shapesOf(op->getResultTypes())) : "";
  if (!error.empty()) {
    op->emitOpError() << "has a sharding rule that does not fit it: " << error;
    malformed = true;
    rule.reset();
  }
  bucket.push_back(&entries_.emplace_back(Entry{op, std::move(rule)}));
  return bucket.back()->rule ? &*bucket.back()->rule : nullptr;
}

const FactorRule &ShardingRuleCache::identityRule(ArrayRef<int64_t> shape) {
  for (auto &[known, rule] : identities_)
    if (ArrayRef<int64_t>(known) == shape)
      return rule;
  FactorRule rule;
  TensorFactors tensor;
  for (int64_t size : shape)
    tensor.push_back({rule.addFactor(size)});
  rule.operands = {tensor};
  rule.results = {tensor};
  rule.jointlyLinear = 1;
  rule.opPriority = 1;
  return identities_.emplace_back(SmallVector<int64_t>(shape), std::move(rule)).second;
}
