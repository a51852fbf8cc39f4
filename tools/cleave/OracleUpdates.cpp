// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the unsharded program says of the states that it updates.

#include "Oracle.h"

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"

using namespace cleave;
using namespace cleave::tool;

std::vector<ProgramResult> Oracle::results() const {
  mlir::func::FuncOp function = function_;
  std::vector<ProgramResult> results;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    if (auto state =
            function.getResultAttrOfType<mlir::FlatSymbolRefAttr>(i, CleaveDialect::kStateAttr)) {
      results.push_back({state.getValue().str(), true});
      continue;
    }
    auto name = function.getResultAttrOfType<mlir::StringAttr>(i, CleaveDialect::kOutputAttr);
    results.push_back({name ? name.str() : "out" + std::to_string(i), false});
  }
  return results;
}

bool Oracle::isWeight(llvm::StringRef state) const {
  mlir::ModuleOp module = *module_;
  for (StateOp op : module.getOps<StateOp>())
    if (op.getSymName() == state)
      return op.getKind().value_or("weight") == "weight";
  return false;
}

std::vector<AdamWUpdate> Oracle::adamwUpdates() const {
  mlir::func::FuncOp function = function_;
  // The state or input that a value is, "" if it is neither.
  auto nameOf = [&](mlir::Value value) -> std::string {
    auto argument = llvm::dyn_cast_or_null<mlir::BlockArgument>(value);
    if (!argument || argument.getOwner() != &function.front())
      return "";
    unsigned index = argument.getArgNumber();
    if (auto state =
            function.getArgAttrOfType<mlir::FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr))
      return state.getValue().str();
    auto name = function.getArgAttrOfType<mlir::StringAttr>(index, CleaveDialect::kInputAttr);
    return name ? name.str() : "";
  };
  // The number of the step is a state of its own; where a step may be skipped, a selection of it.
  std::string number;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (auto state =
            function.getResultAttrOfType<mlir::FlatSymbolRefAttr>(i, CleaveDialect::kStateAttr);
        state && state.getValue() == "step.number")
      number = state.getValue();
  std::vector<AdamWUpdate> updates;
  function.walk([&](graph::AdamWOp op) {
    AdamWUpdate update{nameOf(op.getParameter()),    nameOf(op.getFirstMoment()),
                       nameOf(op.getSecondMoment()), number,
                       nameOf(op.getLearningRate()), nameOf(op.getBeta1()),
                       nameOf(op.getBeta2()),        nameOf(op.getEpsilon()),
                       nameOf(op.getWeightDecay())};
    bool isKnown = !op.getWeightDecay() || !update.weightDecay.empty();
    for (const std::string *name :
         {&update.parameter, &update.firstMoment, &update.secondMoment, &update.step,
          &update.learningRate, &update.beta1, &update.beta2, &update.epsilon})
      isKnown &= !name->empty();
    if (isKnown)
      updates.push_back(std::move(update));
  });
  return updates;
}
