// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-mixed-precision: weights are stored in f32 and computed with in 16 bits.

#include "OriginMarker.h"
#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include "cleave/Dialect/Graph/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace cleave::graph {
#define GEN_PASS_DEF_MIXEDPRECISIONPASS
#include "cleave/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace cleave::graph

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
bool isNarrowFloat(Type elementType) {
  return isa<FloatType>(elementType) && elementType.getIntOrFloatBitWidth() < 32;
}

class MasterWeights {
public:
  explicit MasterWeights(ModuleOp module) : module(module), builder(module.getContext()) {}

  void widenStates() {
    for (StateOp state : module.getOps<StateOp>()) {
      auto type = dyn_cast<RankedTensorType>(state.getType());
      if (!type || !isNarrowFloat(type.getElementType()) ||
          state.getKind().value_or("weight") != "weight")
        continue;
      state.setType(widened(type));
      masters.insert(state.getSymNameAttr());
    }
  }

  void convertIn(func::FuncOp function) {
    Block &block = function.front();
    OriginMarker marker;
    OpBuilder start = OpBuilder::atBlockBegin(&block, &marker);
    for (BlockArgument argument : block.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type || !isMaster(function.getArgAttrOfType<FlatSymbolRefAttr>(
                       argument.getArgNumber(), CleaveDialect::kStateAttr)))
        continue;
      argument.setType(widened(type));
      if (argument.use_empty())
        continue;
      marker.origin = firstUser(argument);
      Value copy =
          PrimitiveBuilder(start, argument.getLoc()).convert(argument, type.getElementType());
      argument.replaceAllUsesExcept(copy, copy.getDefiningOp());
      ++numConversions;
    }
    // A function that updates a weight stores all of it.
    Operation *terminator = block.getTerminator();
    OpBuilder end(terminator);
    for (OpOperand &operand : terminator->getOpOperands())
      if (isMaster(function.getResultAttrOfType<FlatSymbolRefAttr>(operand.getOperandNumber(),
                                                                   CleaveDialect::kStateAttr)))
        operand.set(PrimitiveBuilder(end, operand.get().getLoc())
                        .convert(operand.get(), builder.getF32Type()));
    function.setFunctionType(
        builder.getFunctionType(block.getArgumentTypes(), terminator->getOperandTypes()));
  }

  int64_t numMasters() const { return masters.size(); }
  int64_t numConversions = 0;

private:
  bool isMaster(FlatSymbolRefAttr state) const {
    return state && masters.contains(state.getAttr());
  }
  RankedTensorType widened(RankedTensorType type) { return type.clone(builder.getF32Type()); }
  /// So that the conversion counts to the block that it is for.
  static Operation *firstUser(Value value) {
    Operation *first = nullptr;
    for (Operation *user : value.getUsers()) {
      Operation *inBlock = value.getParentBlock()->findAncestorOpInBlock(*user);
      if (!first || inBlock->isBeforeInBlock(first))
        first = inBlock;
    }
    return first;
  }

  ModuleOp module;
  Builder builder;
  DenseSet<StringAttr> masters;
};

struct MixedPrecision : graph::impl::MixedPrecisionPassBase<MixedPrecision> {
  using MixedPrecisionPassBase::MixedPrecisionPassBase;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function.getBody().hasOneBlock()) {
        function.emitError() << "function @" << function.getName()
                             << " has several blocks; only straight-line functions are given "
                                "master weights";
        return signalPassFailure();
      }
    MasterWeights weights(getOperation());
    weights.widenStates();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        weights.convertIn(function);
    numMasters += weights.numMasters();
    numConversions += weights.numConversions;
  }
};
} // namespace
