// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-narrow-gradients: weight gradients in 16 bits, so that half the bytes are sent.

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include "cleave/Dialect/Graph/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace cleave::graph {
#define GEN_PASS_DEF_NARROWGRADIENTSPASS
#include "cleave/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace cleave::graph

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
FloatType floatTypeOf(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? dyn_cast<FloatType>(tensor.getElementType()) : FloatType();
}

/// The one type of the op's float operands, if its result is wider; else null.
FloatType narrowerOperands(Operation *op) {
  FloatType common;
  for (Value operand : op->getOperands()) {
    FloatType type = floatTypeOf(operand);
    if (type && common && type != common)
      return {};
    common = type ? type : common;
  }
  FloatType result = op->getNumResults() == 1 ? floatTypeOf(op->getResult(0)) : FloatType();
  return common && result && common.getWidth() < result.getWidth() ? common : FloatType();
}

/// The ops whose results are added up and moved to make a value.
void collectTerms(Value value, llvm::SetVector<Operation *> &terms) {
  Operation *op = value.getDefiningOp();
  if (!op || terms.contains(op))
    return;
  if (isa<AddOp, ReshapeOp, TransposeOp, SliceOp, PadOp, ConcatenateOp>(op))
    for (Value operand : op->getOperands())
      collectTerms(operand, terms);
  else
    terms.insert(op);
}

struct NarrowGradients : graph::impl::NarrowGradientsPassBase<NarrowGradients> {
  using NarrowGradientsPassBase::NarrowGradientsPassBase;

  void narrowIn(func::FuncOp function, SymbolTable &symbols) {
    llvm::SetVector<Operation *> terms;
    for (OpOperand &result : function.front().getTerminator()->getOpOperands()) {
      auto symbol = function.getResultAttrOfType<FlatSymbolRefAttr>(result.getOperandNumber(),
                                                                    CleaveDialect::kStateAttr);
      auto state = symbol ? symbols.lookup<StateOp>(symbol.getValue()) : StateOp();
      if (state && state.getKind() == "gradient")
        collectTerms(result.get(), terms);
    }
    for (Operation *op : terms) {
      FloatType narrow = narrowerOperands(op);
      if (!narrow || isa<ConvertOp>(op))
        continue;
      Value result = op->getResult(0);
      Type wide = floatTypeOf(result);
      result.setType(cast<RankedTensorType>(result.getType()).clone(narrow));
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(op);
      Value widened = PrimitiveBuilder(builder, op->getLoc()).convert(result, wide);
      for (StringRef name : {CleaveDialect::kBlockAttr, CleaveDialect::kInstanceAttr})
        if (Attribute attribute = op->getDiscardableAttr(name))
          widened.getDefiningOp()->setDiscardableAttr(name, attribute);
      result.replaceAllUsesExcept(widened, widened.getDefiningOp());
      ++numNarrowed;
    }
  }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && function.getBody().hasOneBlock())
        narrowIn(function, symbols);
  }
};
} // namespace
