// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Conversion/GraphToLinalg.h"

#include "LinalgBuilder.h"
#include "cleave/Conversion/Passes.h"
#include "cleave/Dialect/Graph/Transforms/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cleave {

#define GEN_PASS_DEF_GRAPHTOLINALG
#include "cleave/Conversion/Passes.h.inc"

namespace {

RankedTensorType plainType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

/// Replaces named ops by their decompositions, but for those that have a lowering of their own.
LogicalResult decomposeNamedOps(exec::KernelOp kernel) {
  SmallVector<DecomposableOpInterface> named;
  for (Operation &op : kernel.getBody().front())
    if (auto decomposable = dyn_cast<DecomposableOpInterface>(op);
        decomposable && !isa<graph::EmbeddingOp, graph::DropoutOp>(op))
      named.push_back(decomposable);
  for (DecomposableOpInterface op : named)
    if (failed(graph::replaceByDecomposition(op)))
      return failure();
  return success();
}

Value lowerOp(LinalgBuilder &b, Operation *op, const IRMapping &values) {
  SmallVector<Value> v =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) { return values.lookup(operand); });
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::ConstantOp o) { return b.constant(o); })
      .Case([&](graph::IotaOp o) { return b.iota(o, v.empty() ? Value() : v[0]); })
      .Case([&](graph::BroadcastOp o) { return b.broadcast(o, v[0]); })
      .Case([&](graph::ReshapeOp o) { return b.reshape(v[0], o.getResult().getType()); })
      .Case([&](graph::TransposeOp o) { return b.transpose(o, v[0]); })
      .Case([&](graph::SliceOp o) { return b.slice(o, v[0]); })
      .Case([&](graph::PadOp o) { return b.pad(o, v[0], v[1]); })
      .Case([&](graph::ConcatenateOp o) -> Value {
        return tensor::ConcatOp::create(b.b, plainType(o.getResult().getType()), o.getDim(), v);
      })
      .Case([&](graph::ReduceOp o) { return b.reduce(o, v[0]); })
      .Case([&](graph::DotGeneralOp o) { return b.dot(o, v[0], v[1]); })
      .Case([&](graph::EmbeddingOp o) {
        return b.embedding(o, v[0], v[1], v.size() > 2 ? v[2] : Value());
      })
      .Case([&](graph::DropoutOp o) { return b.dropout(o, v); })
      .Case([&](graph::GatherOp o) { return b.gather(o, v[0], v[1]); })
      .Case([&](graph::ScatterAddOp o) { return b.scatterAdd(o, v[0], v[1], v[2]); })
      .Case([&](graph::DynamicSliceOp o) {
        return b.dynamicSlice(o, v[0], ValueRange(v).drop_front());
      })
      .Case([&](graph::DynamicUpdateSliceOp o) {
        return b.dynamicUpdateSlice(o, v[0], v[1], ValueRange(v).drop_front(2));
      })
      .Default([&](Operation *o) -> Value {
        if (o->getNumResults() != 1 || v.empty())
          return nullptr;
        return b.pointwise(plainType(o->getResult(0).getType()), v,
                           [&](ImplicitLocOpBuilder &e, ValueRange elements) {
                             return elementOf(e, o, elements);
                           });
      });
}

} // namespace

func::FuncOp lowerKernelToLinalg(OpBuilder &builder, exec::KernelOp kernel) {
  if (failed(decomposeNamedOps(kernel)))
    return nullptr;
  OpBuilder::InsertionGuard guard(builder);
  auto type = builder.getFunctionType(kernel.getArgumentTypes(), kernel.getResultTypes());
  auto function = func::FuncOp::create(builder, kernel.getLoc(), kernel.getSymName(), type);
  Block *entry = function.addEntryBlock();
  IRMapping values;
  values.map(kernel.getBody().getArguments(), entry->getArguments());
  builder.setInsertionPointToEnd(entry);
  for (Operation &op : kernel.getBody().front()) {
    LinalgBuilder lowering(builder, op.getLoc());
    if (auto yield = dyn_cast<exec::YieldOp>(op)) {
      SmallVector<Value> results = llvm::map_to_vector(
          yield.getOperands(), [&](Value value) { return values.lookup(value); });
      func::ReturnOp::create(builder, op.getLoc(), results);
      continue;
    }
    Value result = lowerOp(lowering, &op, values);
    if (!result) {
      op.emitError() << op.getName() << ": the host has no kernel for this op";
      function.erase();
      return nullptr;
    }
    values.map(op.getResult(0), result);
  }
  return function;
}

namespace {

struct GraphToLinalg : impl::GraphToLinalgBase<GraphToLinalg> {
  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<exec::KernelOp>())) {
      OpBuilder builder(kernel);
      if (!lowerKernelToLinalg(builder, kernel))
        return signalPassFailure();
      kernel.erase();
    }
  }
};

} // namespace
} // namespace cleave
