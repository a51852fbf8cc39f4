// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Collectives of local tensors as instructions with a geometry.

#include "EntryLowering.h"

#include "cleave/Conversion/SliceViews.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::exec;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

static exec::CollectiveKind instructionKind(cleave::CollectiveKind kind) {
  switch (kind) {
  case cleave::CollectiveKind::AllReduce:
    return exec::CollectiveKind::AllReduce;
  case cleave::CollectiveKind::AllGather:
    return exec::CollectiveKind::AllGather;
  case cleave::CollectiveKind::ReduceScatter:
    return exec::CollectiveKind::ReduceScatter;
  case cleave::CollectiveKind::AllToAll:
    return exec::CollectiveKind::AllToAll;
  case cleave::CollectiveKind::AllSlice:
    return exec::CollectiveKind::AllSlice;
  case cleave::CollectiveKind::CollectivePermute:
    return exec::CollectiveKind::Permute;
  }
  return exec::CollectiveKind::Permute;
}

void EntryLowering::assignSendBuffers() {
  for (auto op : function_.getOps<graph::ConcatenateOp>()) {
    if (!isSendBuffer(op))
      continue;
    int64_t offset = 0;
    for (Value operand : op->getOperands()) {
      int64_t bytes = byteSize(cast<RankedTensorType>(operand.getType()));
      // The memory is the collective's later on: nothing else may read the value.
      Value value = operand;
      while (value.hasOneUse() && isa_and_present<graph::ReshapeOp>(value.getDefiningOp()))
        value = value.getDefiningOp()->getOperand(0);
      if (value.hasOneUse() && !isa<BlockArgument>(value) && !outputs_.contains(value) &&
          offset % 64 == 0 && bytes > 0)
        parts_[value] = {op, offset};
      offset += bytes;
    }
  }
}

Value EntryLowering::sendBuffer(graph::ConcatenateOp op) {
  if (auto known = tensors_.find(op.getResult()); known != tensors_.end())
    return known->second.buffer;
  Value buffer = allocate(byteSize(cast<RankedTensorType>(op.getType())));
  define(op.getResult(), buffer);
  return buffer;
}

LogicalResult EntryLowering::lowerConcatenation(graph::ConcatenateOp op) {
  Value whole = sendBuffer(op);
  int64_t offset = 0;
  for (Value operand : op->getOperands()) {
    int64_t bytes = byteSize(cast<RankedTensorType>(operand.getType()));
    Value part = dense(operand, op);
    auto made = part.getDefiningOp<ViewOp>();
    bool isInPlace =
        made && made.getSource() == whole && static_cast<int64_t>(made.getOffset()) == offset;
    if (!isInPlace && bytes > 0)
      emit<CopyOp>(op, 0, part, view(whole, offset, bytes, op.getLoc()));
    offset += bytes;
  }
  return success();
}

LogicalResult EntryLowering::lowerCollective(CollectiveOpInterface op) {
  Value operand = op.getTensorOperand(), result = op.getTensorResult();
  auto source = cast<RankedTensorType>(operand.getType());
  auto target = cast<RankedTensorType>(result.getType());
  ShardAttr shard = getShard(source);
  if (!shard)
    return op->emitOpError("is not in local form: run cleave-partition first");
  ReshardStep step = stepOf(op, *mesh_);
  ArrayRef<int64_t> from = source.getShape(), to = target.getShape();

  int64_t outer = 1, inner = source.getNumElements(), dim = 1, block = 1;
  IntegerAttr middle, dim2, block2;
  UnitAttr gatherOuter;
  auto number = [&](int64_t value) { return builder_.getI64IntegerAttr(value); };
  switch (step.kind) {
  case cleave::CollectiveKind::AllReduce:
  case cleave::CollectiveKind::CollectivePermute:
    break;
  case cleave::CollectiveKind::AllGather:
    outer = product(from.take_front(step.dim));
    inner = product(from.drop_front(step.dim + 1));
    dim = to[step.dim];
    block = from[step.dim];
    break;
  case cleave::CollectiveKind::ReduceScatter:
  case cleave::CollectiveKind::AllSlice:
    outer = product(from.take_front(step.dim));
    inner = product(from.drop_front(step.dim + 1));
    dim = from[step.dim];
    block = to[step.dim];
    break;
  case cleave::CollectiveKind::AllToAll: {
    int64_t first = std::min(step.dim, step.dim2), second = std::max(step.dim, step.dim2);
    outer = product(from.take_front(first));
    middle = number(product(from.slice(first + 1, second - first - 1)));
    inner = product(from.drop_front(second + 1));
    dim = to[step.dim];
    block = from[step.dim];
    dim2 = number(from[step.dim2]);
    block2 = number(to[step.dim2]);
    if (step.dim < step.dim2)
      gatherOuter = builder_.getUnitAttr();
    break;
  }
  }
  AxisListAttr axes = op.getCollectiveAxes();
  int64_t list = axes ? axisList(axes) : 0;
  ReductionAttr reduction;
  if (step.kind == cleave::CollectiveKind::AllReduce ||
      step.kind == cleave::CollectiveKind::ReduceScatter)
    reduction = ReductionAttr::get(builder_.getContext(), step.reduction);
  double bytes = ringBytes(step, shard.getGlobalShape(), elementBytes(source.getElementType()),
                           layoutOf(shard, *mesh_));
  ExprAttr peer, sender;
  if (step.kind == cleave::CollectiveKind::CollectivePermute)
    std::tie(peer, sender) =
        permuteExprs(layoutOf(shard, *mesh_), layoutOf(getShard(target), *mesh_));

  Value in = dense(operand, op);
  // A reduction of a value that nothing else reads stays where the value is.
  Operation *producer = operand.getDefiningOp();
  bool inPlace = step.kind == cleave::CollectiveKind::AllReduce && operand.hasOneUse() &&
                 isa_and_present<graph::DotGeneralOp, graph::ConcatenateOp, InvokeOp>(producer) &&
                 !outputs_.contains(result) && !parts_.contains(result);
  if (inPlace)
    define(result, in);
  Value out = inPlace ? in : allocate(result);
  bool communicates = step.kind != cleave::CollectiveKind::AllSlice;
  auto instruction =
      emit<CollectiveOp>(op, communicates ? 1 : 0,
                         CollectiveKindAttr::get(builder_.getContext(), instructionKind(step.kind)),
                         in, out, TypeAttr::get(source.getElementType()), number(list), reduction,
                         number(outer), number(dim), number(block), number(inner), middle, dim2,
                         block2, gatherOuter, peer, sender, builder_.getF64FloatAttr(bytes));
  if (auto reason = op->getAttrOfType<StringAttr>(CleaveDialect::kReasonAttr))
    instruction.setReasonAttr(reason);
  if (op.isStart())
    started_[op->getResult(1)] = instruction.getEvent();
  else if (communicates)
    unwaited_.push_back(instruction.getEvent());
  return success();
}

/// Every axis of the mesh once: those of the dimensions in order, those that the value is partial
/// over, then what is left, along which copies are equal.
static AxisList allAxes(const Mesh &mesh, const Layout &layout) {
  AxisList axes, rest;
  for (const AxisList &dim : layout.dims)
    llvm::append_range(axes, dim);
  llvm::append_range(axes, layout.partial);
  for (uint32_t i = 0; i < mesh.axes().size(); ++i)
    llvm::append_range(rest, subtractAxes(AxisList{mesh.axis(i)}, axes));
  llvm::append_range(axes, rest);
  return axes;
}

std::pair<ExprAttr, ExprAttr> EntryLowering::permuteExprs(const Layout &before,
                                                          const Layout &after) {
  // A block (or part of one, where the value is partial) has one number; a device holds the block
  // of its digits along the layout's axes. Of equal copies each device takes the one whose
  // remaining digits are numbered alike.
  AxisList source = allAxes(*mesh_, before), target = allAxes(*mesh_, after);
  auto deviceOf = [&](const AxisList &numbered, const AxisList &placed) {
    ExprAttr number = coordinate(axisListOf(builder_.getContext(), *mesh_, numbered));
    ExprAttr device = constant(0);
    int64_t below = shardCount(placed);
    for (const AxisRef &axis : placed) {
      below /= axis.size;
      ExprAttr digit = binary(ExprAttr::Rem, binary(ExprAttr::FloorDiv, number, constant(below)),
                              constant(axis.size));
      // The place value of this digit in the row-major number of a device.
      int64_t place = mesh_->axes()[axis.axis].size / (axis.preSize * axis.size);
      for (size_t i = axis.axis + 1; i < mesh_->axes().size(); ++i)
        place *= mesh_->axes()[i].size;
      device = binary(ExprAttr::Add, device, binary(ExprAttr::Mul, digit, constant(place)));
    }
    return device;
  };
  return {deviceOf(source, target), deviceOf(target, source)};
}
