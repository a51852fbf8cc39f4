// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel whose only output is a sum over leading dimensions, or a scatter. One output element at
// a time would read the terms with large strides, or all of them for each element; instead the
// terms are read once, in their order, and added up in the output's memory.

#include "RowEmitter.h"

#include "cleave/Conversion/LinalgToRowLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace cleave {

linalg::GenericOp RowEmitter::accumulatedOutput() const {
  if (outputs_.size() != 1)
    return nullptr;
  auto op = outputs_.front().getDefiningOp<linalg::GenericOp>();
  if (!op || !isReduction(op) || op.getNumResults() != 1 || !op.hasPureTensorSemantics() ||
      llvm::any_of(op.getStaticLoopRanges(), ShapedType::isDynamic) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isProjectedPermutation())
    return nullptr;
  bool innermostIsKept = op.getIteratorTypesArray().back() == utils::IteratorType::parallel;
  return innermostIsKept || op->hasAttr(kScatterAxisAttr) ? op : nullptr;
}

LogicalResult RowEmitter::emitAccumulated(linalg::GenericOp op) {
  Indices at;
  if (failed(emitInitial(op, at)))
    return failure();
  SmallVector<unsigned> order;
  if (auto axis = op->getAttrOfType<IntegerAttr>(kScatterAxisAttr)) {
    // Around the scattered dimension, whose position is data, the positions of the indices.
    unsigned rank = cast<RankedTensorType>(outputs_.front().getType()).getRank();
    llvm::append_range(order, llvm::seq<unsigned>(0, axis.getInt()));
    llvm::append_range(order, llvm::seq<unsigned>(rank, op.getNumLoops()));
    order.push_back(axis.getInt());
    llvm::append_range(order, llvm::seq<unsigned>(axis.getInt() + 1, rank));
  } else {
    llvm::append_range(order, llvm::seq<unsigned>(0, op.getNumLoops()));
  }
  Indices loops(op.getNumLoops());
  return emitTerms(op, order, loops);
}

/// Stores what the sums begin with.
LogicalResult RowEmitter::emitInitial(linalg::GenericOp op, Indices &at) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(outputs_.front().getType()).getShape();
  if (at.size() < shape.size()) {
    scf::ForOp loop = openLoop(shape[at.size()], {});
    at.push_back(loop.getInductionVar());
    if (failed(emitInitial(op, at)))
      return failure();
    at.pop_back();
    closeLoop(loop, {});
    return success();
  }
  Value value = element(op.getDpsInits().front(), at);
  if (!value)
    return failure();
  setInsertionPoint();
  memref::StoreOp::create(builder_, loc_, value, outputBuffers_.front(), at);
  return success();
}

/// Opens the loops `order`, of which those before are open at `loops`, and adds one term.
LogicalResult RowEmitter::emitTerms(linalg::GenericOp op, ArrayRef<unsigned> order,
                                    Indices &loops) {
  if (!order.empty()) {
    unsigned dim = order.front();
    int64_t extent = op.getStaticLoopRanges()[dim];
    auto axis = op->getAttrOfType<IntegerAttr>(kScatterAxisAttr);
    bool isScattered = axis && axis.getInt() == dim;
    scf::ForOp loop;
    if (isScattered) {
      // A loop of one turn, or of none where the term falls outside.
      AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
      Indices indices;
      for (AffineExpr expr : map.getResults())
        indices.push_back(index(expr, loops));
      Value position = element(op.getDpsInputs().front(), indices);
      if (!position)
        return failure();
      setInsertionPoint();
      if (!position.getType().isInteger(64))
        position = arith::ExtSIOp::create(builder_, loc_, builder_.getI64Type(), position);
      position = arith::IndexCastOp::create(builder_, loc_, builder_.getIndexType(), position);
      Value size = index(extent), one = index(1), none = index(0);
      setInsertionPoint();
      Value inside =
          arith::CmpIOp::create(builder_, loc_, arith::CmpIPredicate::ult, position, size);
      Value turns = arith::SelectOp::create(builder_, loc_, inside, one, none);
      loop = openLoop(turns, {});
      loops[dim] = position;
    } else {
      loop = openLoop(extent, {});
      loops[dim] = loop.getInductionVar();
    }
    if (failed(emitTerms(op, order.drop_front(), loops)))
      return failure();
    closeLoop(loop, {});
    return success();
  }

  Indices to;
  for (AffineExpr expr : op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults())
    to.push_back(loops[cast<AffineDimExpr>(expr).getPosition()]);
  setInsertionPoint();
  Value sum = memref::LoadOp::create(builder_, loc_, outputBuffers_.front(), to);
  SmallVector<Value> sums;
  if (failed(inlineBody(op, loops, sum, sums)))
    return failure();
  setInsertionPoint();
  memref::StoreOp::create(builder_, loc_, sums.front(), outputBuffers_.front(), to);
  return success();
}

} // namespace cleave
