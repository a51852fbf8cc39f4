// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-annotate-sharding-rules: writes each op's own sharding rule into an attribute.

#include "cleave/Dialect/Cleave/IR/CleaveInterfaces.h"
#include "cleave/Dialect/Graph/Transforms/Passes.h"

namespace cleave::graph {
#define GEN_PASS_DEF_ANNOTATESHARDINGRULESPASS
#include "cleave/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace cleave::graph

using namespace mlir;
using namespace cleave;

namespace {
struct AnnotateShardingRules : graph::impl::AnnotateShardingRulesPassBase<AnnotateShardingRules> {
  void runOnOperation() override {
    getOperation()->walk([](ShardingRuleOpInterface op) {
      if (!op->hasAttr(CleaveDialect::kShardingRuleAttr))
        op->setDiscardableAttr(CleaveDialect::kShardingRuleAttr,
                               ShardingRuleAttr::get(op->getContext(), op.getShardingRule()));
    });
  }
};
} // namespace
