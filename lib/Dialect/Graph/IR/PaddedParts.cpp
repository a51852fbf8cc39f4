// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "PaddedParts.h"

#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

/// The dimension in which zeros were put around the operand, if there is just one.
static std::optional<int64_t> paddedDim(PadOp pad) {
  std::optional<int64_t> found;
  for (int64_t dim = 0; dim < pad.getOperand().getType().getRank(); ++dim) {
    int64_t low = pad.getLow()[dim], high = pad.getHigh()[dim];
    if (low < 0 || high < 0 || pad.getInterior()[dim] != 0)
      return std::nullopt;
    if (low == 0 && high == 0)
      continue;
    if (found)
      return std::nullopt;
    found = dim;
  }
  DenseElementsAttr filler;
  bool isZero = matchPattern(pad.getValue(), m_Constant(&filler)) && filler.isSplat() &&
                isa<FloatType>(filler.getElementType()) && filler.getSplatValue<APFloat>().isZero();
  return isZero ? found : std::nullopt;
}

Value graph::concatenatePaddedParts(OpBuilder &builder, Value sum) {
  SmallVector<PadOp> pads;
  SmallVector<Operation *> replaced;
  SmallVector<Value> work = {sum};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || (value != sum && !value.hasOneUse()))
      return sum;
    replaced.push_back(op);
    if (auto add = dyn_cast<AddOp>(op))
      work.append({add.getLhs(), add.getRhs()});
    else if (auto pad = dyn_cast<PadOp>(op))
      pads.push_back(pad);
    else
      return sum;
  }
  std::optional<int64_t> dim = paddedDim(pads.front());
  if (pads.size() < 2 || !dim || !sum.use_empty())
    return sum;
  llvm::sort(pads, [&](PadOp a, PadOp b) { return a.getLow()[*dim] < b.getLow()[*dim]; });
  int64_t end = 0;
  SmallVector<Value> parts;
  for (PadOp pad : pads) {
    if (paddedDim(pad) != dim || pad.getLow()[*dim] != end)
      return sum;
    end += pad.getOperand().getType().getDimSize(*dim);
    parts.push_back(pad.getOperand());
  }
  if (end != PrimitiveBuilder::typeOf(sum).getDimSize(*dim))
    return sum;
  PrimitiveBuilder b(builder, sum.getLoc());
  Value result = b.make<ConcatenateOp>(ValueRange(parts), *dim);
  for (Operation *op : replaced) // sums stand before their operands
    op->erase();
  return result;
}
