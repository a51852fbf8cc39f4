// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where the IR keeps the sharding and the logical names of a value.

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"

using namespace mlir;
using namespace cleave;

/// The function whose entry argument `value` is, if it is one.
static FunctionOpInterface functionOf(BlockArgument argument) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function && argument.getOwner()->isEntryBlock() ? function : FunctionOpInterface();
}

static bool hasOwnSharding(Operation *op) {
  return isa<ShardingConstraintOp, ReshardOp, CollectiveOpInterface>(op);
}

ShardingAttr cleave::getSharding(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (FunctionOpInterface function = functionOf(argument))
      return function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(),
                                                     CleaveDialect::kShardingAttr);
    if (auto manual = dyn_cast_or_null<ManualComputationOp>(argument.getOwner()->getParentOp()))
      return manual.getFreeSharding(argument.getArgNumber());
    return {};
  }
  Operation *op = value.getDefiningOp();
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
    return constraint.getSharding();
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return reshard.getSharding();
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return value == collective.getTensorResult() ? collective.getCollectiveSharding()
                                                 : ShardingAttr();
  if (auto done = dyn_cast<DoneOp>(op))
    return getSharding(done.getTensor());
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (auto manual = dyn_cast<ManualComputationOp>(op))
    return cast<ShardingAttr>(manual.getOutShardings()[index]);
  auto shardings = op->getAttrOfType<ArrayAttr>(CleaveDialect::kShardingsAttr);
  if (!shardings || index >= shardings.size())
    return {};
  return dyn_cast<ShardingAttr>(shardings[index]);
}

void cleave::setSharding(Value value, ShardingAttr sharding) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    FunctionOpInterface function = functionOf(argument);
    assert(function && "only arguments of functions hold shardings");
    if (sharding)
      function.setArgAttr(argument.getArgNumber(), CleaveDialect::kShardingAttr, sharding);
    else
      function.removeArgAttr(argument.getArgNumber(),
                             StringAttr::get(value.getContext(), CleaveDialect::kShardingAttr));
    return;
  }
  Operation *op = value.getDefiningOp();
  if (hasOwnSharding(op)) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      collective.setCollectiveSharding(sharding);
    else if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
      constraint.setShardingAttr(sharding);
    else
      cast<ReshardOp>(op).setShardingAttr(sharding);
    return;
  }
  if (auto done = dyn_cast<DoneOp>(op))
    return setSharding(done.getTensor(), sharding);
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (auto manual = dyn_cast<ManualComputationOp>(op)) {
    SmallVector<Attribute> entries(manual.getOutShardings().getValue());
    entries[index] = sharding;
    manual.setOutShardingsAttr(ArrayAttr::get(op->getContext(), entries));
    return;
  }
  auto none = UnitAttr::get(op->getContext());
  SmallVector<Attribute> entries(op->getNumResults(), none);
  if (auto old = op->getAttrOfType<ArrayAttr>(CleaveDialect::kShardingsAttr))
    entries.assign(old.begin(), old.end());
  entries[index] = sharding ? Attribute(sharding) : none;
  if (llvm::all_of(entries, llvm::IsaPred<UnitAttr>))
    op->removeDiscardableAttr(CleaveDialect::kShardingsAttr);
  else
    op->setDiscardableAttr(CleaveDialect::kShardingsAttr,
                           ArrayAttr::get(op->getContext(), entries));
}

/// The attributes of an argument or a result with this sharding, or without one.
static DictionaryAttr withSharding(MLIRContext *context, DictionaryAttr before,
                                   ShardingAttr sharding) {
  NamedAttrList attributes(before);
  if (sharding)
    attributes.set(CleaveDialect::kShardingAttr, sharding);
  else
    attributes.erase(CleaveDialect::kShardingAttr);
  return attributes.getDictionary(context);
}

void cleave::setArgumentShardings(FunctionOpInterface function, ArrayRef<ShardingAttr> shardings) {
  SmallVector<DictionaryAttr> dictionaries;
  for (auto [index, sharding] : llvm::enumerate(shardings))
    dictionaries.push_back(
        withSharding(function.getContext(), function.getArgAttrDict(index), sharding));
  function.setAllArgAttrs(dictionaries);
}

ShardingAttr cleave::getResultSharding(FunctionOpInterface function, unsigned index) {
  return function.getResultAttrOfType<ShardingAttr>(index, CleaveDialect::kShardingAttr);
}

void cleave::setResultSharding(FunctionOpInterface function, unsigned index,
                               ShardingAttr sharding) {
  if (sharding)
    function.setResultAttr(index, CleaveDialect::kShardingAttr, sharding);
  else
    function.removeResultAttr(index,
                              StringAttr::get(function.getContext(), CleaveDialect::kShardingAttr));
}

SmallVector<ShardingAttr> cleave::getResultShardings(FunctionOpInterface function) {
  return llvm::map_to_vector(llvm::seq(function.getNumResults()),
                             [&](unsigned index) { return getResultSharding(function, index); });
}

void cleave::setResultShardings(FunctionOpInterface function, ArrayRef<ShardingAttr> shardings) {
  SmallVector<DictionaryAttr> dictionaries;
  for (auto [index, sharding] : llvm::enumerate(shardings))
    dictionaries.push_back(
        withSharding(function.getContext(), function.getResultAttrDict(index), sharding));
  function.setAllResultAttrs(dictionaries);
}

LogicalAxesAttr cleave::getLogicalAxes(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    FunctionOpInterface function = functionOf(argument);
    return function ? function.getArgAttrOfType<LogicalAxesAttr>(argument.getArgNumber(),
                                                                 CleaveDialect::kLogicalAttr)
                    : LogicalAxesAttr();
  }
  Operation *op = value.getDefiningOp();
  auto names = op->getAttrOfType<ArrayAttr>(CleaveDialect::kLogicalAttr);
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (!names || index >= names.size())
    return {};
  return dyn_cast<LogicalAxesAttr>(names[index]);
}
