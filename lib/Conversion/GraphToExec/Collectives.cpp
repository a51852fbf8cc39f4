// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Collectives of local tensors as instructions with a geometry.

#include "EntryLowering.h"

#include "cleave/Dialect/Cleave/IR/Buckets.h"

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

/// A collective's buffers as [outer, dim or block, inner], in elements.
struct Geometry {
  int64_t outer, dim, block, inner;
};

static Geometry geometryOf(CollectiveOpInterface op, const ReshardStep &step) {
  ArrayRef<int64_t> from = cast<RankedTensorType>(op.getTensorOperand().getType()).getShape();
  ArrayRef<int64_t> to = cast<RankedTensorType>(op.getTensorResult().getType()).getShape();
  auto before = [&](int64_t dim) { return product(from.take_front(dim)); };
  auto behind = [&](int64_t dim) { return product(from.drop_front(dim + 1)); };
  switch (step.kind) {
  case cleave::CollectiveKind::AllReduce:
  case cleave::CollectiveKind::CollectivePermute:
    break;
  case cleave::CollectiveKind::AllGather:
    return {before(step.dim), to[step.dim], from[step.dim], behind(step.dim)};
  case cleave::CollectiveKind::ReduceScatter:
  case cleave::CollectiveKind::AllSlice:
    return {before(step.dim), from[step.dim], to[step.dim], behind(step.dim)};
  case cleave::CollectiveKind::AllToAll:
    return {before(std::min(step.dim, step.dim2)), to[step.dim], from[step.dim],
            behind(std::max(step.dim, step.dim2))};
  }
  return {1, 1, 1, product(from)};
}

LogicalResult EntryLowering::lowerCollective(CollectiveOpInterface op) {
  // Members of a bucket that stand side by side are one instruction, made at the last of them.
  bucket_.push_back(op);
  if (nextInBucket(op))
    return success();
  SmallVector<CollectiveOpInterface, 1> members = std::exchange(bucket_, {});

  Value operand = op.getTensorOperand(), result = op.getTensorResult();
  auto source = cast<RankedTensorType>(operand.getType());
  auto target = cast<RankedTensorType>(result.getType());
  ReshardStep step = stepOf(op, *mesh_);
  auto number = [&](int64_t value) { return builder_.getI64IntegerAttr(value); };
  auto text = [&](StringAttr attribute) -> Attribute {
    return attribute ? attribute : builder_.getStringAttr("");
  };
  SmallVector<Value> sources, targets;
  SmallVector<int64_t> outer, dim, block, inner;
  SmallVector<Attribute> names, reasons;
  double bytes = 0;
  for (CollectiveOpInterface member : members) {
    ShardAttr shard = getShard(member.getTensorOperand());
    if (!shard)
      return member->emitOpError("is not in local form: run cleave-partition first");
    ReshardStep step = stepOf(member, *mesh_);
    Geometry geometry = geometryOf(member, step);
    outer.push_back(geometry.outer);
    dim.push_back(geometry.dim);
    block.push_back(geometry.block);
    inner.push_back(geometry.inner);
    bytes += ringBytes(step, shard.getGlobalShape(), elementBytes(source.getElementType()),
                       layoutOf(shard, *mesh_));
    auto name = dyn_cast<NameLoc>(member->getLoc());
    names.push_back(text(name ? name.getName() : StringAttr()));
    reasons.push_back(text(member->getAttrOfType<StringAttr>(CleaveDialect::kReasonAttr)));
    sources.push_back(dense(member.getTensorOperand(), op));
    targets.push_back(collectiveTarget(member, sources.back()));
  }

  IntegerAttr middle, dim2, block2;
  UnitAttr gatherOuter;
  if (step.kind == cleave::CollectiveKind::AllToAll) {
    int64_t first = std::min(step.dim, step.dim2), second = std::max(step.dim, step.dim2);
    middle = number(product(source.getShape().slice(first + 1, second - first - 1)));
    dim2 = number(source.getDimSize(step.dim2));
    block2 = number(target.getDimSize(step.dim2));
    if (step.dim < step.dim2)
      gatherOuter = builder_.getUnitAttr();
  }
  AxisListAttr axes = op.getCollectiveAxes();
  int64_t list = axes ? axisList(axes) : 0;
  ReductionAttr reduction;
  if (step.kind == cleave::CollectiveKind::AllReduce ||
      step.kind == cleave::CollectiveKind::ReduceScatter)
    reduction = ReductionAttr::get(builder_.getContext(), step.reduction);
  ExprAttr peer, sender;
  if (step.kind == cleave::CollectiveKind::CollectivePermute)
    std::tie(peer, sender) =
        permuteExprs(layoutOf(getShard(source), *mesh_), layoutOf(getShard(target), *mesh_));
  bool isGroup = members.size() > 1, communicates = step.kind != cleave::CollectiveKind::AllSlice;
  auto sizes = [&](ArrayRef<int64_t> values) { return builder_.getDenseI64ArrayAttr(values); };
  auto texts = [&](ArrayRef<Attribute> values) {
    return isGroup ? builder_.getArrayAttr(values) : ArrayAttr();
  };
  auto instruction = emit<CollectiveOp>(
      members.front(), communicates ? 1 : 0,
      CollectiveKindAttr::get(builder_.getContext(), instructionKind(step.kind)), sources, targets,
      TypeAttr::get(source.getElementType()), number(list), reduction, sizes(outer), sizes(dim),
      sizes(block), sizes(inner), texts(names), texts(reasons), middle, dim2, block2, gatherOuter,
      peer, sender, builder_.getF64FloatAttr(bytes));
  if (auto reason = op->getAttrOfType<StringAttr>(CleaveDialect::kReasonAttr); reason && !isGroup)
    instruction.setReasonAttr(reason);
  if (op.isStart())
    for (CollectiveOpInterface member : members)
      started_[member->getResult(1)] = instruction.getEvent();
  else if (communicates)
    unwaited_.push_back(instruction.getEvent());
  return success();
}

Value EntryLowering::collectiveTarget(CollectiveOpInterface op, Value source) {
  // A reduction of a value that nothing else reads stays where the value is.
  Value operand = op.getTensorOperand(), result = op.getTensorResult();
  bool inPlace =
      op.getCollectiveKind() == cleave::CollectiveKind::AllReduce && operand.hasOneUse() &&
      isa_and_present<graph::AddOp, graph::DotGeneralOp, InvokeOp>(operand.getDefiningOp()) &&
      !outputs_.contains(result);
  if (!inPlace)
    return allocate(result);
  define(result, source);
  return source;
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
