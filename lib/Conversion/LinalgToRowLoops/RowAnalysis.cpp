// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which dimensions are rows, in which phase of a row each value is computed, and which loops merge.

#include "RowEmitter.h"

using namespace mlir;

namespace cleave {

bool isReduction(Operation *op) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() > 0;
}

Extents parallelExtents(linalg::GenericOp op) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  return Extents(type.getShape());
}

SmallVector<unsigned> reductionLoops(linalg::GenericOp op) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  return loops;
}

void RowEmitter::collectReductions() {
  // Only what the outputs need: dead ops are never computed.
  SetVector<Operation *> live;
  SmallVector<Value> work(outputs_.begin(), outputs_.end());
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !live.insert(op))
      continue;
    op->walk([&](Operation *inner) { llvm::append_range(work, inner->getOperands()); });
  }
  kernel_.walk([&](linalg::GenericOp op) {
    if (live.contains(op) && isReduction(op))
      reductions_.push_back(op);
  });
}

void RowEmitter::collectPieces() {
  for (auto [number, value] : llvm::enumerate(outputs_)) {
    auto rank = cast<RankedTensorType>(value.getType()).getRank();
    // The same value returned twice is stored twice, each into its own buffer.
    SmallVector<OutputPiece> work = {
        {value, static_cast<unsigned>(number), SmallVector<int64_t, 6>(rank, 0)}};
    while (!work.empty()) {
      OutputPiece piece = work.pop_back_val();
      auto concat = piece.value.getDefiningOp<tensor::ConcatOp>();
      if (!concat) {
        pieces_.push_back(piece);
        continue;
      }
      uint64_t dim = concat.getDim();
      SmallVector<OutputPiece> parts;
      for (Value input : concat.getInputs()) {
        parts.push_back({input, piece.output, piece.offsets});
        piece.offsets[dim] += cast<RankedTensorType>(input.getType()).getDimSize(dim);
      }
      work.append(parts.rbegin(), parts.rend());
    }
  }
}

static void keepCommonPrefix(Extents &rows, ArrayRef<int64_t> shape) {
  size_t n = 0;
  while (n < rows.size() && n < shape.size() && rows[n] == shape[n])
    ++n;
  rows.truncate(n);
}

void RowEmitter::chooseRows() {
  bool first = true;
  auto restrict = [&](ArrayRef<int64_t> shape) {
    if (first)
      rows_.assign(shape.begin(), shape.end());
    first = false;
    keepCommonPrefix(rows_, shape);
  };
  for (const OutputPiece &piece : pieces_) {
    auto whole = cast<RankedTensorType>(outputs_[piece.output].getType()).getShape();
    auto part = cast<RankedTensorType>(piece.value.getType()).getShape();
    // A concatenated dimension is never a row dimension: its parts have their own loops.
    size_t n = 0;
    while (n < whole.size() && whole[n] == part[n])
      ++n;
    restrict(whole.take_front(n));
  }
  for (linalg::GenericOp op : reductions_) {
    Extents shape = parallelExtents(op);
    Extents prefix = rows_;
    keepCommonPrefix(prefix, shape);
    if (prefix.size() == shape.size())
      rows_ = prefix;
  }
}

bool RowEmitter::isRowReduction(linalg::GenericOp op) const { return parallelExtents(op) == rows_; }

unsigned RowEmitter::phaseOf(Value value) {
  auto found = phases_.find(value);
  if (found != phases_.end())
    return found->second;
  unsigned phase = 0;
  if (Operation *op = value.getDefiningOp()) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == op->getBlock())
          phase = std::max(phase, phaseOf(operand));
    });
    if (isReduction(op) && isRowReduction(cast<linalg::GenericOp>(op)))
      ++phase;
  }
  phases_[value] = phase;
  return phase;
}

std::vector<std::vector<RowEmitter::Nest>> RowEmitter::planNests() {
  std::vector<std::vector<Nest>> phases;
  auto nestFor = [&](unsigned phase, Extents extents) -> Nest & {
    if (phases.size() <= phase)
      phases.resize(phase + 1);
    for (Nest &nest : phases[phase])
      if (nest.extents == extents)
        return nest;
    phases[phase].push_back(Nest{extents, {}, {}});
    return phases[phase].back();
  };
  for (linalg::GenericOp op : reductions_) {
    if (!isRowReduction(op))
      continue;
    Extents extents;
    for (unsigned loop : reductionLoops(op))
      extents.push_back(op.getStaticLoopRanges()[loop]);
    nestFor(phaseOf(op.getResult(0)) - 1, extents).reductions.push_back(op);
  }
  for (const OutputPiece &piece : pieces_) {
    auto shape = cast<RankedTensorType>(piece.value.getType()).getShape();
    Extents extents(shape.drop_front(rows_.size()));
    nestFor(phaseOf(piece.value), extents).outputs.push_back(piece);
  }
  return phases;
}

} // namespace cleave
