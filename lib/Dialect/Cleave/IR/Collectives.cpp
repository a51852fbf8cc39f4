// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Collectives: what they do to a layout, and their one verifier.

#include "AttributeFormat.h"
#include "cleave/Dialect/Cleave/IR/Buckets.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/ShardingVerifier.h"

using namespace mlir;
using namespace cleave;

#define GET_OP_CLASSES
#include "cleave/Dialect/Cleave/IR/CleaveCollectiveOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Plain values
//===----------------------------------------------------------------------===//

FlatSymbolRefAttr cleave::getMeshSymbol(CollectiveOpInterface collective) {
  if (ShardingAttr sharding = collective.getCollectiveSharding())
    return sharding.getMesh();
  if (ShardAttr shard = getShard(collective.getTensorOperand()))
    return shard.getMesh();
  return {};
}

bool cleave::canBeGrouped(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllGather ||
         kind == CollectiveKind::ReduceScatter;
}

CollectiveOpInterface cleave::nextInBucket(CollectiveOpInterface op) {
  auto next = dyn_cast_or_null<CollectiveOpInterface>(op->getNextNode());
  Attribute bucket = op->getDiscardableAttr(kBucketAttr);
  auto isMember = [&](Operation *other) {
    return other && other->getDiscardableAttr(kBucketAttr) == bucket;
  };
  if (!next || !bucket || !isMember(next) || !canBeGrouped(op.getCollectiveKind()) ||
      next->getName() != op->getName() || next.getCollectiveAxes() != op.getCollectiveAxes() ||
      next.getCollectiveReduction() != op.getCollectiveReduction() ||
      getElementTypeOrSelf(next.getTensorOperand()) != getElementTypeOrSelf(op.getTensorOperand()))
    return {};
  // A member that depends on another one is none.
  return isMember(next.getTensorOperand().getDefiningOp()) ? CollectiveOpInterface() : next;
}

/// `axes` without its minor end `suffix`; none if it does not end so.
static std::optional<AxisList> removeSuffix(ArrayRef<AxisRef> axes, ArrayRef<AxisRef> suffix) {
  AxisList rest(axes);
  for (const AxisRef &part : llvm::reverse(suffix)) {
    if (rest.empty())
      return std::nullopt;
    AxisRef &last = rest.back();
    bool sameEnd = last.axis == part.axis && last.preSize * last.size == part.preSize * part.size;
    if (!sameEnd || part.size > last.size || last.size % part.size != 0)
      return std::nullopt;
    last.size /= part.size;
    if (last.size == 1)
      rest.pop_back();
  }
  return rest;
}

namespace {
/// Applies one collective to a layout.
struct StepApplication {
  const ReshardStep &step;
  ArrayRef<int64_t> globalShape;
  const Mesh &mesh;
  std::string &error;
  Layout layout;

  LogicalResult fail(const Twine &text) {
    error = text.str();
    return failure();
  }

  LogicalResult checkAligned(int dim, ArrayRef<AxisRef> outer) {
    int64_t outerCount = shardCount(outer), innerCount = shardCount(step.axes);
    if (isAligned(globalShape[dim], outerCount, innerCount))
      return success();
    return fail("dimension " + Twine(dim) + " of size " + Twine(globalShape[dim]) + " over " +
                Twine(outerCount) + " shards and each of them over " + Twine(innerCount) +
                " has other blocks than over " + Twine(outerCount * innerCount) +
                " at once, so that the axes " + toString(mesh, step.axes) +
                " alone cannot move between the two; gather the dimension whole first");
  }

  LogicalResult reduce() {
    if (!subtractAxes(step.axes, layout.partial).empty() || step.axes.empty())
      return fail("the operand must be partial over " + toString(mesh, step.axes) +
                  ", but it is laid out as " + toString(mesh, layout));
    if (layout.partialKind != step.reduction)
      return fail("the operand waits for a " + stringifyReduction(layout.partialKind) +
                  ", but the collective makes a " + stringifyReduction(step.reduction));
    layout.partial = subtractAxes(layout.partial, step.axes);
    if (layout.partial.empty())
      layout.partialKind = Reduction::Sum;
    return success();
  }

  /// Dimension `dim` loses the axes.
  LogicalResult remove(int dim) {
    std::optional<AxisList> rest = removeSuffix(layout.dims[dim], step.axes);
    if (!rest)
      return fail("dimension " + Twine(dim) + " of the operand must end with the axes " +
                  toString(mesh, step.axes) + ", but it is sharded by " +
                  toString(mesh, layout.dims[dim]));
    layout.dims[dim] = *rest;
    return checkAligned(dim, *rest);
  }

  /// Dimension `dim` gains the axes.
  LogicalResult append(int dim) {
    if (axesOverlap(layout.usedAxes(), step.axes))
      return fail("the axes " + toString(mesh, step.axes) +
                  " are in use already: the operand is laid out as " + toString(mesh, layout));
    if (failed(checkAligned(dim, layout.dims[dim])))
      return failure();
    for (const AxisRef &axis : step.axes)
      appendAxis(layout.dims[dim], axis);
    return success();
  }

  /// The blocks stay as they are, only their places change.
  LogicalResult permute() {
    const Layout &to = step.result;
    if (to.rank() != layout.rank())
      return fail("operand and result differ in rank");
    if (to.partial != layout.partial ||
        (!to.partial.empty() && to.partialKind != layout.partialKind))
      return fail("a permute keeps a value partial over the same axes, but the operand is laid out "
                  "as " +
                  toString(mesh, layout) + " and the result as " + toString(mesh, to));
    for (unsigned dim = 0; dim < to.rank(); ++dim)
      if (shardCount(to.dims[dim]) != shardCount(layout.dims[dim]))
        return fail("a permute keeps the blocks: dimension " + Twine(dim) + " has " +
                    Twine(shardCount(layout.dims[dim])) + " shards before and " +
                    Twine(shardCount(to.dims[dim])) + " after");
    layout = to;
    return success();
  }

  LogicalResult apply() {
    switch (step.kind) {
    case CollectiveKind::AllReduce:
      return reduce();
    case CollectiveKind::AllGather:
      return remove(step.dim);
    case CollectiveKind::ReduceScatter:
      return failure(failed(reduce()) || failed(append(step.dim)));
    case CollectiveKind::AllToAll:
      return failure(failed(remove(step.dim)) || failed(append(step.dim2)));
    case CollectiveKind::AllSlice:
      return append(step.dim);
    case CollectiveKind::CollectivePermute:
      return permute();
    }
    llvm_unreachable("unknown collective");
  }
};
} // namespace

FailureOr<Layout> cleave::applyStep(const ReshardStep &step, ArrayRef<int64_t> globalShape,
                                    const Layout &operand, const Mesh &mesh, std::string &error) {
  StepApplication application{step, globalShape, mesh, error, operand};
  if (failed(application.apply()))
    return failure();
  return application.layout;
}

/// Everything of the step but its result.
static FailureOr<ReshardStep> partialStepOf(CollectiveOpInterface collective, const Mesh &mesh) {
  ReshardStep step;
  step.kind = collective.getCollectiveKind();
  if (AxisListAttr axes = collective.getCollectiveAxes()) {
    FailureOr<AxisList> list = axesOf(axes.getAxes(), mesh);
    if (failed(list))
      return failure();
    step.axes = *list;
  }
  step.dim = collective.getCollectiveDim().value_or(-1);
  step.dim2 = collective.getCollectiveDim2().value_or(-1);
  step.reduction = collective.getCollectiveReduction();
  return step;
}

ReshardStep cleave::stepOf(CollectiveOpInterface collective, const Mesh &mesh) {
  FailureOr<ReshardStep> step = partialStepOf(collective, mesh);
  assert(succeeded(step) && "the collective must be verified");
  if (ShardAttr shard = getShard(collective.getTensorResult()))
    step->result = layoutOf(shard, mesh);
  else
    step->result = *layoutOf(collective.getCollectiveSharding(), mesh);
  return *step;
}

Value cleave::createCollective(OpBuilder &builder, Location loc, Value operand,
                               const ReshardStep &step, FlatSymbolRefAttr meshSym,
                               const Mesh &mesh) {
  MLIRContext *context = builder.getContext();
  auto type = cast<RankedTensorType>(operand.getType());
  ShardingAttr sharding;
  if (getShard(type))
    type = localType(globalType(type), meshSym, mesh, step.result);
  else
    sharding = shardingOf(context, meshSym, mesh, step.result);
  AxisListAttr axes = axisListOf(context, mesh, step.axes);
  auto reduction = ReductionAttr::get(context, step.reduction);
  switch (step.kind) {
  case CollectiveKind::AllReduce:
    return AllReduceOp::create(builder, loc, type, operand, reduction, axes, sharding);
  case CollectiveKind::AllGather:
    return AllGatherOp::create(builder, loc, type, operand, axes, step.dim, sharding);
  case CollectiveKind::ReduceScatter:
    return ReduceScatterOp::create(builder, loc, type, operand, reduction, axes, step.dim,
                                   sharding);
  case CollectiveKind::AllToAll:
    return AllToAllOp::create(builder, loc, type, operand, axes, step.dim, step.dim2, sharding);
  case CollectiveKind::AllSlice:
    return AllSliceOp::create(builder, loc, type, operand, axes, step.dim, sharding);
  case CollectiveKind::CollectivePermute:
    return CollectivePermuteOp::create(builder, loc, type, operand, sharding);
  }
  llvm_unreachable("unknown collective");
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {
class CollectiveVerifier {
public:
  CollectiveVerifier(CollectiveOpInterface op)
      : op(op), operandType(cast<RankedTensorType>(op.getTensorOperand().getType())),
        resultType(cast<RankedTensorType>(op.getTensorResult().getType())) {}

  LogicalResult verify() {
    if (operandType.getElementType() != resultType.getElementType())
      return op->emitOpError() << "keeps the element type, but its operand has "
                               << operandType.getElementType() << " and its result "
                               << resultType.getElementType();
    bool local = getShard(operandType) || getShard(resultType);
    return failure(failed(local ? readLocalForm() : readGlobalForm()) ||
                   failed(verifyAttributes()) || failed(verifyManualAxes()) ||
                   failed(verifyLayouts()) || failed(verifyPairing()));
  }

private:
  auto emitter() {
    return [this] { return op->emitOpError(); };
  }

  LogicalResult readLocalForm() {
    ShardAttr from = getShard(operandType), to = getShard(resultType);
    if (!from || !to)
      return op->emitOpError() << "in local form needs a #cleave.shard encoding on "
                               << (from ? "its result" : "its operand") << " too";
    if (op.getCollectiveSharding())
      return op->emitOpError()
             << "in local form has its result's sharding in the type; remove 'sharding'";
    if (from.getMesh() != to.getMesh())
      return op->emitOpError() << "acts within one mesh, but its operand is on " << from.getMesh()
                               << " and its result on " << to.getMesh();
    mesh = verifyMesh(from.getMesh(), op, emitter());
    if (!mesh || failed(verifyEncoding(operandType, op, emitter())) ||
        failed(verifyEncoding(resultType, op, emitter())))
      return failure();
    if (from.getGlobalShape() != to.getGlobalShape())
      return op->emitOpError() << "keeps the global shape, but the types " << operandType << " and "
                               << resultType << " name different ones";
    globalShape = from.getGlobalShape();
    before = layoutOf(from, *mesh);
    after = layoutOf(to, *mesh);
    return success();
  }

  LogicalResult readGlobalForm() {
    if (operandType != resultType)
      return op->emitOpError() << "in global form keeps the type, but its operand is "
                               << operandType << " and its result " << resultType;
    ShardingAttr to = op.getCollectiveSharding();
    if (!to)
      return op->emitOpError() << "in global form needs 'sharding', that of its result";
    ShardingAttr from = getSharding(op.getTensorOperand());
    if (!from)
      return op->emitOpError() << "needs an operand with a sharding; set 'cleave.shardings' on the "
                                  "op that defines it, or 'cleave.sharding' on the argument";
    if (from.getMesh() != to.getMesh())
      return op->emitOpError() << "acts within one mesh, but its operand is on " << from.getMesh()
                               << " and its result on " << to.getMesh();
    mesh = verifyMesh(to.getMesh(), op, emitter());
    if (!mesh || failed(verifySharding(to, resultType, op, emitter())))
      return failure();
    if (failed(verifySharding(from, operandType, op, emitter())))
      return failure();
    globalShape = operandType.getShape();
    before = *layoutOf(from, *mesh);
    after = *layoutOf(to, *mesh);
    return success();
  }

  LogicalResult verifyDim(std::optional<int64_t> dim, StringRef name) {
    if (dim && (*dim < 0 || *dim >= operandType.getRank()))
      return op->emitOpError() << "has " << name << " = " << *dim << ", but the tensor has rank "
                               << operandType.getRank();
    return success();
  }

  LogicalResult verifyAttributes() {
    if (AxisListAttr axes = op.getCollectiveAxes()) {
      if (axes.empty())
        return op->emitOpError() << "needs at least one axis";
      if (failed(verifyAxes(axes.getAxes(), *mesh, emitter())))
        return failure();
    }
    std::optional<int64_t> dim = op.getCollectiveDim(), dim2 = op.getCollectiveDim2();
    if (failed(verifyDim(dim, "dim")) || failed(verifyDim(dim2, "dim2")))
      return failure();
    if (dim2 && *dim == *dim2)
      return op->emitOpError() << "moves axes between two dimensions, but both are " << *dim;
    return success();
  }

  LogicalResult verifyManualAxes() {
    if (!op->getParentOfType<ManualComputationOp>())
      return success();
    AxisList manual = ManualComputationOp::getEnclosingManualAxes(op, *mesh);
    for (const AxisList &axes : {before.usedAxes(), after.usedAxes()}) {
      AxisList free = subtractAxes(axes, manual);
      if (!free.empty())
        return op->emitOpError() << "stands in a manual computation over "
                                 << toString(*mesh, manual) << " and may not name "
                                 << toString(*mesh, free);
    }
    return success();
  }

  LogicalResult verifyLayouts() {
    FailureOr<ReshardStep> step = partialStepOf(op, *mesh);
    if (failed(step))
      return failure();
    step->result = after;
    std::string error;
    FailureOr<Layout> expected = applyStep(*step, globalShape, before, *mesh, error);
    if (failed(expected))
      return op->emitOpError() << "does not fit its operand: " << error;
    if (*expected != after)
      return op->emitOpError() << "gives a result laid out as " << toString(*mesh, *expected)
                               << ", but " << toString(*mesh, after) << " is declared";
    return success();
  }

  LogicalResult verifyPairing() {
    if (!op.isStart())
      return success();
    Value token = op->getResult(1);
    auto done = token.hasOneUse() ? dyn_cast<DoneOp>(*token.user_begin()) : DoneOp();
    if (!done)
      return op->emitOpError() << "needs exactly one cleave.done that takes its token, found "
                               << llvm::range_size(token.getUses()) << " uses";
    if (!op.getTensorResult().hasOneUse() || done.getTensor() != op.getTensorResult())
      return op->emitOpError()
             << "is under way until its cleave.done: its tensor may be used there "
                "and nowhere else";
    return success();
  }

  CollectiveOpInterface op;
  RankedTensorType operandType, resultType;
  const Mesh *mesh = nullptr;
  ArrayRef<int64_t> globalShape;
  Layout before, after;
};
} // namespace

LogicalResult cleave::verifyCollective(Operation *op) {
  return CollectiveVerifier(cast<CollectiveOpInterface>(op)).verify();
}

LogicalResult DoneOp::verify() {
  Operation *start = getToken().getDefiningOp();
  auto collective = dyn_cast_or_null<CollectiveOpInterface>(start);
  if (!collective || !collective.isStart())
    return emitOpError() << "needs the token of a started collective";
  if (collective.getTensorResult() != getTensor())
    return emitOpError() << "must take the tensor and the token of one start";
  return success();
}
