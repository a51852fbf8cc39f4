// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The instructions and what is checked of each by itself; `cleave-verify-exec` checks them
// together.

#include "cleave/Dialect/Exec/IR/ExecOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::exec;

#define GET_OP_CLASSES
#include "cleave/Dialect/Exec/IR/ExecInstructionOps.cpp.inc"

void ExecDialect::registerInstructions() {
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Exec/IR/ExecInstructionOps.cpp.inc"
      >();
}

static std::optional<int64_t> bytesOf(Value buffer) {
  if (auto op = buffer.getDefiningOp<BufferOp>())
    return op.getBytes();
  if (auto op = buffer.getDefiningOp<ViewOp>())
    return op.getBytes();
  return std::nullopt;
}

/// What every instruction is held to: waits are for earlier instructions of other streams.
static LogicalResult verifyWaits(InstructionOpInterface op) {
  for (Value event : op.getWaits()) {
    auto other = event.getDefiningOp<InstructionOpInterface>();
    if (other && other.getStream() == op.getStream())
      return op->emitOpError("waits for an instruction of its own stream, which runs in order");
  }
  return success();
}

static LogicalResult verifyBytes(Operation *op, Value buffer, StringRef name, int64_t needed) {
  std::optional<int64_t> bytes = bytesOf(buffer);
  if (bytes && *bytes < needed)
    return op->emitOpError() << "needs " << needed << " bytes of " << name << ", which has "
                             << *bytes;
  return success();
}

LogicalResult LaunchOp::verify() { return verifyWaits(*this); }

static LogicalResult verifyGemmOperand(GemmOp op, Value buffer, StringRef name, Type type,
                                       ArrayRef<int64_t> strides, int64_t rows, int64_t columns) {
  if (strides.size() != 3)
    return op.emitOpError() << "needs three strides of " << name << ", found " << strides.size();
  if (llvm::any_of(strides, [](int64_t stride) { return stride < 0; }))
    return op.emitOpError() << "has a negative stride of " << name;
  if (strides[1] != 1 && strides[2] != 1)
    return op.emitOpError() << "needs a unit stride in one of the last two dimensions of " << name;
  if (!op.getBatch() || !rows || !columns)
    return success();
  int64_t last = (static_cast<int64_t>(op.getBatch()) - 1) * strides[0] + (rows - 1) * strides[1] +
                 (columns - 1) * strides[2];
  return verifyBytes(op, buffer, name, (last + 1) * elementBytes(type));
}

LogicalResult GemmOp::verify() {
  Type ab = getTypeAb(), c = getTypeC();
  if (!ab.isF32() && !ab.isBF16() && !ab.isF16())
    return emitOpError() << "multiplies f32, bf16 or f16, not " << ab;
  if (!c.isF32() && c != ab)
    return emitOpError() << "gives f32 or the operands' type, not " << c;
  if (failed(verifyGemmOperand(*this, getA(), "a", ab, getAStrides(), getMMax(), getKMax())) ||
      failed(verifyGemmOperand(*this, getB(), "b", ab, getBStrides(), getKMax(), getNMax())) ||
      failed(verifyGemmOperand(*this, getC(), "c", c, getCStrides(), getMMax(), getNMax())))
    return failure();
  return verifyWaits(*this);
}

/// What attention and its gradient have in common.
template <typename OpT> static LogicalResult verifyAttention(OpT op) {
  Type type = op.getType();
  if (!type.isF32() && !type.isBF16() && !type.isF16())
    return op.emitOpError() << "computes in f32, bf16 or f16, not " << type;
  int64_t heads = op.getBatch() * op.getKvHeads() * elementBytes(type);
  int64_t rows = heads * op.getSq() * op.getGroups(), keys = heads * op.getSkv();
  if (failed(verifyBytes(op, op.getQ(), "q", rows * op.getD())) ||
      failed(verifyBytes(op, op.getK(), "k", keys * op.getD())) ||
      failed(verifyBytes(op, op.getV(), "v", keys * op.getDv())) ||
      failed(verifyBytes(op, op.getOut(), "out", rows * op.getDv())))
    return failure();
  if (op.getLse() && failed(verifyBytes(op, op.getLse(), "lse", rows / elementBytes(type) * 4)))
    return failure();
  if (bool(op.getDropout()) != bool(op.getSeed()) || bool(op.getSeed()) != bool(op.getStep()))
    return op.emitOpError("needs dropout, seed and step together, or none of them");
  if (op.getSeed() && (failed(verifyBytes(op, op.getSeed(), "seed", 8)) ||
                       failed(verifyBytes(op, op.getStep(), "step", 8))))
    return failure();
  return verifyWaits(op);
}

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }

LogicalResult AttentionGradOp::verify() {
  int64_t heads = getBatch() * getKvHeads() * elementBytes(getType());
  int64_t rows = heads * getSq() * getGroups(), keys = heads * getSkv();
  if (failed(verifyBytes(*this, getDout(), "dout", rows * getDv())) ||
      failed(verifyBytes(*this, getDq(), "dq", rows * getD())) ||
      failed(verifyBytes(*this, getDk(), "dk", keys * getD())) ||
      failed(verifyBytes(*this, getDvalue(), "dv", keys * getDv())))
    return failure();
  return verifyAttention(*this);
}

LogicalResult CopyOp::verify() {
  std::optional<int64_t> from = bytesOf(getSrc()), to = bytesOf(getDst());
  if (from && to && *from != *to)
    return emitOpError() << "copies " << *from << " bytes to " << *to;
  return verifyWaits(*this);
}

LogicalResult FillOp::verify() { return verifyWaits(*this); }

/// That the buffers of a part have the bytes that its geometry takes.
static LogicalResult verifyPart(CollectiveOp op, size_t part) {
  int64_t one = op.getOuter()[part] * op.getInner()[part] * elementBytes(op.getType());
  int64_t whole = one * op.getDim()[part], cut = one * op.getBlock()[part];
  int64_t from = whole, to = whole;
  switch (op.getKind()) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::Permute:
    break;
  case CollectiveKind::AllGather:
    from = cut;
    break;
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllSlice:
    to = cut;
    break;
  case CollectiveKind::AllToAll:
    from = cut * *op.getMiddle() * *op.getDim2();
    to = whole * *op.getMiddle() * *op.getBlock2();
    break;
  }
  if (failed(verifyBytes(op, op.getSrc()[part], "its source", from)))
    return failure();
  return verifyBytes(op, op.getDst()[part], "its destination", to);
}

LogicalResult CollectiveOp::verify() {
  size_t parts = getNumParts();
  bool mayBeGroup = getKind() == CollectiveKind::AllReduce ||
                    getKind() == CollectiveKind::AllGather ||
                    getKind() == CollectiveKind::ReduceScatter;
  if (parts == 0 || (parts > 1 && !mayBeGroup))
    return emitOpError() << "has " << parts << " sources, and needs "
                         << (mayBeGroup ? "at least one" : "one");
  for (auto [name, count] :
       {std::pair<StringRef, size_t>("destinations", getDst().size()),
        {"sizes in 'outer'", getOuter().size()},
        {"sizes in 'dim'", getDim().size()},
        {"sizes in 'block'", getBlock().size()},
        {"sizes in 'inner'", getInner().size()},
        {"'part_sources'", getPartSources() ? getPartSources()->size() : parts},
        {"'part_reasons'", getPartReasons() ? getPartReasons()->size() : parts}})
    if (count != parts)
      return emitOpError() << "has " << parts << " sources and " << count << " " << name;
  if (getKind() == CollectiveKind::AllToAll && (!getMiddle() || !getDim2() || !getBlock2()))
    return emitOpError("all_to_all needs 'middle', 'dim2' and 'block2'");
  if (getKind() == CollectiveKind::Permute && (!getPeer() || !getSender()))
    return emitOpError("permute needs 'peer' and 'sender'");
  for (size_t part = 0; part < parts; ++part)
    if (failed(verifyPart(*this, part)))
      return failure();
  return verifyWaits(*this);
}
