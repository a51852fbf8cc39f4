// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "RowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace cleave {

RowEmitter::RowEmitter(func::FuncOp kernel)
    : kernel_(kernel), builder_(kernel.getContext()), loc_(kernel.getLoc()) {}

Value RowEmitter::fail(Operation *op, const Twine &message) {
  op->emitError() << "in kernel '" << kernel_.getSymName() << "': " << message;
  return nullptr;
}

//===-- scopes -------------------------------------------------------------------------------===//

unsigned RowEmitter::depthOf(Value value) const { return depths_.lookup(value.getParentBlock()); }

unsigned RowEmitter::depthOf(ValueRange values) const {
  unsigned depth = 0;
  for (Value value : values)
    depth = std::max(depth, depthOf(value));
  return depth;
}

void RowEmitter::setInsertionPoint() {
  Scope &scope = scopes_.back();
  if (scope.before)
    builder_.setInsertionPoint(scope.before);
  else if (scope.block->mightHaveTerminator())
    builder_.setInsertionPoint(scope.block->getTerminator());
  else
    builder_.setInsertionPointToEnd(scope.block);
}

scf::ForOp RowEmitter::openLoop(int64_t extent, ValueRange carried) {
  return openLoop(index(extent), carried);
}

scf::ForOp RowEmitter::openLoop(Value upper, ValueRange carried) {
  Value lower = index(0), step = index(1);
  setInsertionPoint();
  auto loop = scf::ForOp::create(builder_, loc_, lower, upper, step, carried);
  scopes_.back().outerBefore.push_back(scopes_.back().before);
  scopes_.back().before = loop;
  depths_[loop.getBody()] = scopes_.size();
  scopes_.push_back(Scope{loop.getBody()});
  setInsertionPoint();
  return loop;
}

void RowEmitter::closeLoop([[maybe_unused]] scf::ForOp loop, ValueRange yielded) {
  setInsertionPoint();
  if (!yielded.empty())
    scf::YieldOp::create(builder_, loc_, yielded);
  assert(scopes_.back().block == loop.getBody());
  scopes_.pop_back();
  scopes_.back().before = scopes_.back().outerBefore.pop_back_val();
  setInsertionPoint();
}

//===-- the function -------------------------------------------------------------------------===//

static MemRefType bufferType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

void RowEmitter::makeFunction() {
  SmallVector<Type> types;
  SmallVector<Value> inputs, scalars;
  for (BlockArgument argument : kernel_.getArguments()) {
    if (isa<RankedTensorType>(argument.getType())) {
      inputs.push_back(argument);
      types.push_back(bufferType(argument.getType()));
    } else {
      scalars.push_back(argument);
    }
  }
  for (Value output : outputs_)
    types.push_back(bufferType(output.getType()));
  for (Value value : scalars)
    types.push_back(value.getType());

  builder_.setInsertionPoint(kernel_);
  result_ = func::FuncOp::create(builder_, loc_, kernel_.getSymName(),
                                 builder_.getFunctionType(types, {}));
  Block *entry = result_.addEntryBlock();
  unsigned next = 0;
  for (Value input : inputs)
    buffers_[input] = entry->getArgument(next++);
  for ([[maybe_unused]] Value output : outputs_)
    outputBuffers_.push_back(entry->getArgument(next++));
  for (Value value : scalars)
    scalars_[value] = entry->getArgument(next++);
  builder_.setInsertionPointToEnd(entry);
  func::ReturnOp::create(builder_, loc_);
  depths_[entry] = 0;
  scopes_.push_back(Scope{entry});
}

FailureOr<func::FuncOp> RowEmitter::emit() {
  for (BlockArgument argument : kernel_.getArguments()) {
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (tensor ? !tensor.hasStaticShape() : !argument.getType().isIndex()) {
      fail(kernel_, "argument " + Twine(argument.getArgNumber()) +
                        " is neither a static tensor nor an index");
      return failure();
    }
  }
  if (!llvm::hasSingleElement(kernel_.getBody())) {
    fail(kernel_, "the body must be one block");
    return failure();
  }
  llvm::append_range(outputs_, kernel_.getBody().front().getTerminator()->getOperands());
  for (Value output : outputs_) {
    auto tensor = dyn_cast<RankedTensorType>(output.getType());
    if (!tensor || !tensor.hasStaticShape()) {
      fail(kernel_, "every result must be a static tensor");
      return failure();
    }
  }
  linalg::GenericOp accumulated = accumulatedOutput();
  if (!accumulated) {
    collectReductions();
    collectPieces();
    chooseRows();
  }
  makeFunction();
  if (failed(accumulated ? emitAccumulated(accumulated) : emitRows(0))) {
    result_.erase();
    return failure();
  }
  return result_;
}

LogicalResult RowEmitter::emitRows(unsigned dim) {
  if (dim == rows_.size())
    return emitRowBody();
  scf::ForOp loop = openLoop(rows_[dim], {});
  rowIndices_.push_back(loop.getInductionVar());
  if (failed(emitRows(dim + 1)))
    return failure();
  closeLoop(loop, {});
  return success();
}

LogicalResult RowEmitter::emitRowBody() {
  for (std::vector<Nest> &phase : planNests()) {
    for (Nest &nest : phase)
      if (failed(emitNest(nest)))
        return failure();
    // Stored values are read back by later phases instead of being computed again. One that only
    // part of an output was stored for (a concatenation's) is not found here and computed again.
    for (Nest &nest : phase)
      for (const OutputPiece &piece : nest.outputs)
        if (outputs_[piece.output] == piece.value)
          stored_.try_emplace(piece.value, outputBuffers_[piece.output]);
  }
  return success();
}

LogicalResult RowEmitter::emitNest(Nest &nest) {
  SmallVector<Value> initial;
  for (linalg::GenericOp op : nest.reductions)
    if (failed(initialValues(op, rowIndices_, initial)))
      return failure();
  FailureOr<SmallVector<Value>> totals = emitNestLoops(nest, 0, initial);
  if (failed(totals))
    return failure();
  unsigned next = 0;
  for (linalg::GenericOp op : nest.reductions)
    for (Value result : op.getResults())
      remember(result, rowIndices_, (*totals)[next++]);
  return success();
}

FailureOr<SmallVector<Value>> RowEmitter::emitNestLoops(Nest &nest, unsigned dim,
                                                        ValueRange carried) {
  if (dim < nest.extents.size()) {
    scf::ForOp loop = openLoop(nest.extents[dim], carried);
    nestIndices_.push_back(loop.getInductionVar());
    FailureOr<SmallVector<Value>> inner = emitNestLoops(nest, dim + 1, loop.getRegionIterArgs());
    if (failed(inner))
      return failure();
    nestIndices_.pop_back();
    closeLoop(loop, *inner);
    return SmallVector<Value>(loop.getResults());
  }

  SmallVector<Value> totals;
  for (linalg::GenericOp op : nest.reductions) {
    Indices loops = iterationPoint(op, rowIndices_, nestIndices_);
    ValueRange sums = carried.slice(totals.size(), op.getNumResults());
    if (failed(inlineBody(op, loops, sums, totals)))
      return failure();
  }
  // All loads of an iteration come before its stores: an output may lie in an input's buffer.
  Indices from(rowIndices_);
  from.append(nestIndices_.begin(), nestIndices_.end());
  SmallVector<Value> values;
  for (const OutputPiece &piece : nest.outputs) {
    values.push_back(element(piece.value, from));
    if (!values.back())
      return failure();
  }
  for (auto [piece, value] : llvm::zip_equal(nest.outputs, values))
    store(piece, value, from);
  return totals;
}

void RowEmitter::store(const OutputPiece &piece, Value value, const Indices &from) {
  Indices to;
  for (auto [position, offset] : llvm::zip_equal(from, piece.offsets))
    to.push_back(offset ? binary(IndexOp::Add, position, index(offset)) : position);
  setInsertionPoint();
  memref::StoreOp::create(builder_, loc_, value, outputBuffers_[piece.output], to);
}

} // namespace cleave
