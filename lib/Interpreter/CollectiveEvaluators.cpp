// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of ops that look across devices or at a device's place in the mesh.

#include "CollectiveEvaluators.h"

#include "cleave/Interpreter/Sharding.h"
#include <cmath>

using namespace mlir;
using namespace cleave;
using namespace cleave::interpreter;

namespace {
/// Copies the block of elements with indices [begin, begin + shape[dim]) of one dimension of `from`
/// to [at, ...) of `to`, as far as both hold them.
void copyBlock(Tensor &to, int64_t at, const Tensor &from, int64_t begin, int64_t count,
               int64_t dim) {
  int64_t inner = stridesOf(from.shape)[dim];
  int64_t outer = elementCount(ArrayRef<int64_t>(from.shape).take_front(dim));
  int64_t fromSize = from.shape[dim], toSize = to.shape[dim];
  count = std::min({count, fromSize - begin, toSize - at});
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < count * inner; ++i)
      to.copyElement((o * toSize + at) * inner + i, from, (o * fromSize + begin) * inner + i);
}

Tensor poisoned(DType dtype, ArrayRef<int64_t> shape) {
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.poison(i);
  return tensor;
}

void accumulate(Tensor &to, const Tensor &from, Reduction reduction) {
  for (auto [x, y] : llvm::zip(to.floats, from.floats)) {
    if (reduction == Reduction::Sum || std::isnan(x) || std::isnan(y))
      x += y;
    else
      x = reduction == Reduction::Max ? std::max(x, y) : std::min(x, y);
  }
  for (auto [x, y] : llvm::zip(to.ints, from.ints)) {
    if (reduction == Reduction::Sum)
      x = wrap(static_cast<int64_t>(uint64_t(x) + uint64_t(y)), to.dtype);
    else
      x = reduction == Reduction::Max ? std::max(x, y) : std::min(x, y);
  }
}

/// One collective, seen from one device.
struct CollectiveRun {
  const ReshardStep &step;
  const Layout &before;
  ArrayRef<TensorRef> parts;
  const Mesh &mesh;
  ArrayRef<int64_t> resultShape;
  int64_t device;

  DType dtype() const { return parts[device]->dtype; }

  /// The shape of the operand, with the result's size in one dimension.
  SmallVector<int64_t> shapeWith(int64_t dim) const {
    SmallVector<int64_t> shape(parts[device]->shape);
    shape[dim] = resultShape[dim];
    return shape;
  }

  Tensor reduced() const {
    SmallVector<int64_t> group = mesh.group(device, step.axes);
    Tensor result = *parts[group.front()];
    for (int64_t member : ArrayRef<int64_t>(group).drop_front())
      accumulate(result, *parts[member], step.reduction);
    return result;
  }

  /// The group's blocks one after the other; what is beyond the result's size is cut off.
  Tensor gathered() const {
    Tensor result = poisoned(dtype(), shapeWith(step.dim));
    int64_t size = parts[device]->shape[step.dim], at = 0;
    for (int64_t member : mesh.group(device, step.axes)) {
      if (at < resultShape[step.dim])
        copyBlock(result, at, *parts[member], 0, size, step.dim);
      at += size;
    }
    return result;
  }

  /// This device's block of a tensor that the group holds whole.
  Tensor sliced(const Tensor &whole, int64_t dim) const {
    SmallVector<int64_t> shape(whole.shape);
    int64_t size = shape[dim] = resultShape[dim];
    Tensor result = poisoned(dtype(), shape);
    int64_t begin = mesh.coordinate(device, step.axes) * size;
    if (begin < whole.shape[dim])
      copyBlock(result, 0, whole, begin, size, dim);
    return result;
  }

  /// The device that holds the block this one is to have; -1 if none does.
  int64_t source() const {
    for (int64_t other = 0; other < int64_t(parts.size()); ++other) {
      bool matches =
          mesh.coordinate(other, before.partial) == mesh.coordinate(device, before.partial);
      for (auto [from, to] : llvm::zip(before.dims, step.result.dims))
        matches &= mesh.coordinate(other, from) == mesh.coordinate(device, to);
      if (matches)
        return other;
    }
    return -1;
  }
};
} // namespace

FailureOr<std::vector<TensorRef>> interpreter::evaluateCollective(CollectiveOpInterface op,
                                                                  ArrayRef<TensorRef> parts,
                                                                  const Mesh &mesh) {
  ShardAttr operandShard = getShard(op.getTensorOperand());
  ShardAttr resultShard = getShard(op.getTensorResult());
  if (!operandShard || !resultShard) {
    op->emitError() << "expected a collective in local form, with #cleave.shard encodings on both "
                       "types, in a function that has cleave.mesh";
    return failure();
  }
  ReshardStep step = stepOf(op, mesh);
  step.result = layoutOf(resultShard, mesh);
  Layout before = layoutOf(operandShard, mesh);
  auto resultType = cast<RankedTensorType>(op.getTensorResult().getType());
  std::vector<TensorRef> results;
  for (int64_t device = 0; device < int64_t(parts.size()); ++device) {
    CollectiveRun run{step, before, parts, mesh, resultType.getShape(), device};
    Tensor result;
    switch (step.kind) {
    case CollectiveKind::AllReduce:
      result = run.reduced();
      break;
    case CollectiveKind::AllGather:
      result = run.gathered();
      break;
    case CollectiveKind::ReduceScatter:
      result = run.sliced(run.reduced(), step.dim);
      break;
    case CollectiveKind::AllSlice:
      result = run.sliced(*parts[device], step.dim);
      break;
    case CollectiveKind::AllToAll:
      result = run.sliced(run.gathered(), step.dim2);
      break;
    case CollectiveKind::CollectivePermute: {
      int64_t source = run.source();
      if (source < 0) {
        op->emitError() << "no device holds the block that device " << device
                        << " is to have after the permute";
        return failure();
      }
      result = *parts[source];
      break;
    }
    }
    if (!result.hasType(resultType)) {
      op->emitError() << "expected a local result of type " << globalType(resultType) << ", found "
                      << toString(result, 0);
      return failure();
    }
    results.push_back(std::make_shared<Tensor>(std::move(result)));
  }
  return results;
}

Tensor interpreter::evaluateMaskPadding(MaskPaddingOp op, const Tensor &part, const Mesh &mesh,
                                        int64_t device) {
  ShardAttr shard = getShard(op.getInput());
  SmallVector<int64_t> valid =
      validShape(shard.getGlobalShape(), layoutOf(shard, mesh), mesh, device);
  double number = 0;
  int64_t integer = 0;
  if (auto fill = dyn_cast<FloatAttr>(op.getFill()))
    number = fill.getValueAsDouble();
  else if (auto fill = dyn_cast<IntegerAttr>(op.getFill()))
    integer = fill.getValue().getSExtValue();
  Tensor result = part;
  IndexCounter counter(part.shape);
  for (int64_t i = 0; i < part.size(); ++i, counter.next())
    for (int64_t dim : op.getDims())
      if ((*counter)[dim] >= valid[dim]) {
        if (result.isFloat())
          result.floats[i] = number;
        else
          result.ints[i] = wrap(integer, result.dtype);
        break;
      }
  return result;
}
