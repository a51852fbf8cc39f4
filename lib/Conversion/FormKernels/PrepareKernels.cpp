// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "PrepareKernels.h"

#include "cleave/Conversion/Products.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace cleave {
namespace {

/// Builds the masks of one function; valid extents are computed once each.
class MaskBuilder {
public:
  explicit MaskBuilder(func::FuncOp function) : function_(function) {}
  LogicalResult run();

private:
  Value validExtent(MaskPaddingOp op, int64_t dim);
  Value expand(MaskPaddingOp op, ArrayRef<int64_t> dims);
  SmallVector<int64_t> foldedDims(MaskPaddingOp op, OpOperand &use);

  func::FuncOp function_;
  llvm::DenseMap<std::tuple<Attribute, int64_t, int64_t>, Value> extents_;
};

} // namespace

/// max(0, min(local, global - coordinate * local)) as index arithmetic at the function's start.
Value MaskBuilder::validExtent(MaskPaddingOp op, int64_t dim) {
  ShardAttr shard = getShard(op.getInput());
  AxisListAttr axes = shard.getDimAxes()[dim];
  int64_t global = shard.getGlobalShape()[dim];
  int64_t local = cast<RankedTensorType>(op.getType()).getDimSize(dim);
  Value &extent = extents_[{axes, global, local}];
  if (!extent) {
    ImplicitLocOpBuilder b =
        ImplicitLocOpBuilder::atBlockBegin(function_.getLoc(), &function_.front());
    auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, value); };
    Value coordinate = DeviceCoordOp::create(b, b.getIndexType(), shard.getMesh(), axes);
    Value first = arith::MulIOp::create(b, coordinate, number(local));
    Value rest = arith::SubIOp::create(b, number(global), first);
    extent = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, rest, number(local)), number(0));
  }
  return extent;
}

/// select(i - valid < 0, x, fill) for each dimension.
Value MaskBuilder::expand(MaskPaddingOp op, ArrayRef<int64_t> dims) {
  OpBuilder builder(op);
  graph::PrimitiveBuilder b(builder, op.getLoc());
  auto type = cast<RankedTensorType>(op.getType());
  auto plain = RankedTensorType::get(type.getShape(), type.getElementType());
  Value inside;
  for (int64_t dim : dims) {
    Value valid = validExtent(op, dim);
    Value zero = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
    Value offset = arith::SubIOp::create(builder, op.getLoc(), zero, valid);
    Value position = b.iota(type.getShape(), builder.getI64Type(), dim, offset);
    Value here = b.compare(graph::CompareDirection::LT, position, 0.0);
    inside = inside ? b.logicalAnd(inside, here) : here;
  }
  Value fill = b.make<graph::ConstantOp>(DenseElementsAttr::get(plain, op.getFillAttr()));
  return graph::SelectOp::create(builder, op.getLoc(), type, inside, op.getInput(), fill);
}

/// The dimensions of the mask that the product using it can leave out: the one that is outermost in
/// its sum, and those of one element.
SmallVector<int64_t> MaskBuilder::foldedDims(MaskPaddingOp op, OpOperand &use) {
  auto dot = dyn_cast<graph::DotGeneralOp>(use.getOwner());
  auto fill = dyn_cast<FloatAttr>(op.getFillAttr());
  if (!dot || !fill || !fill.getValue().isZero())
    return {};
  for (Value operand : dot->getOperands())
    if (isa_and_present<graph::TransposeOp, graph::SliceOp>(operand.getDefiningOp()))
      return {}; // read with strides of its own
  ProductDims dims{SmallVector<int64_t>(dot.getLhsBatch()),
                   SmallVector<int64_t>(dot.getRhsBatch()),
                   dot.getLhsFree(),
                   dot.getRhsFree(),
                   SmallVector<int64_t>(dot.getLhsContract()),
                   SmallVector<int64_t>(dot.getRhsContract())};
  ArrayRef<int64_t> lhs = dot.getLhs().getType().getShape();
  ArrayRef<int64_t> rhs = dot.getRhs().getType().getShape();
  auto product = makeProduct(dims, lhs, rowMajorStrides(lhs), rhs, rowMajorStrides(rhs));
  if (!product)
    return {};
  ArrayRef<int64_t> contract =
      use.getOperandNumber() == 0 ? dot.getLhsContract() : dot.getRhsContract();
  SmallVector<int64_t> folded;
  for (int64_t dim : op.getDims()) {
    int64_t position = llvm::find(contract, dim) - contract.begin();
    if (position < static_cast<int64_t>(contract.size()) &&
        (position == product->outermost || lhs[dims.lhsContract[position]] == 1))
      folded.push_back(dim);
  }
  return folded;
}

LogicalResult MaskBuilder::run() {
  SmallVector<MaskPaddingOp> masks(function_.front().getOps<MaskPaddingOp>());
  for (MaskPaddingOp op : masks) {
    if (!getShard(op.getInput()))
      return op.emitError("needs a type with a #cleave.shard encoding here");
    // What is left of the mask beside the dimensions that a product leaves out, for each set of
    // them.
    std::map<SmallVector<int64_t>, Value> replacements;
    for (OpOperand &use : llvm::make_early_inc_range(op.getResult().getUses())) {
      SmallVector<int64_t> folded = foldedDims(op, use);
      Value &replacement = replacements[folded];
      if (!replacement) {
        SmallVector<int64_t> rest;
        llvm::copy_if(op.getDims(), std::back_inserter(rest),
                      [&](int64_t d) { return !llvm::is_contained(folded, d); });
        replacement = rest.empty() ? op.getInput() : expand(op, rest);
        if (!folded.empty()) {
          OpBuilder builder(op);
          replacement =
              MaskPaddingOp::create(builder, op.getLoc(), op.getType(), replacement,
                                    builder.getDenseI64ArrayAttr(folded), op.getFillAttr());
        }
      }
      use.set(replacement);
    }
    op.erase();
  }
  return success();
}

/// Puts the decomposition in the place of a local op: its results keep the encodings of their
/// types.
static LogicalResult decomposeLocally(DecomposableOpInterface op) {
  OpBuilder builder(op);
  FailureOr<SmallVector<Value>> values = op.decompose(builder);
  if (failed(values))
    return failure();
  for (auto [old, value] : llvm::zip_equal(op->getResults(), *values)) {
    if (value.getDefiningOp())
      value.setType(old.getType());
    old.replaceAllUsesWith(value);
  }
  op->erase();
  return success();
}

/// The number of its site and the start of its positions become scalars, so that the dropouts of
/// all layers and microbatches share kernels.
static void takeScalarsOut(graph::DropoutOp op) {
  if (!op.getSeed())
    return;
  OpBuilder builder(op);
  auto add = [&](MutableOperandRange operand, int64_t number) {
    Value value = arith::ConstantIndexOp::create(builder, op.getLoc(), number);
    if (!operand.empty())
      value = arith::AddIOp::create(builder, op.getLoc(), operand[0].get(), value);
    operand.assign(value);
  };
  graph::DropoutAttr dropout = op.getDropout();
  SmallVector<int64_t> strides = op.getPositionStrides();
  add(op.getSiteMutable(), dropout.getSite());
  add(op.getOffsetMutable(), dropout.getStart());
  op.setDropoutAttr(graph::DropoutAttr::get(op.getContext(), dropout.getRate(), /*site=*/0,
                                            /*start=*/0, strides));
}

/// Sums at positions that are data are made in the result's memory: a result that is too narrow to
/// hold sums is rounded by a kernel of its own.
static void widenScatters(func::FuncOp function) {
  auto narrowed = [](Operation &op) -> std::optional<RankedTensorType> {
    if (!isa<graph::EmbeddingGradOp, graph::ScatterAddOp>(op))
      return std::nullopt;
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    Type wide = graph::computeType(type.getElementType());
    if (!isa<FloatType>(type.getElementType()) || wide == type.getElementType())
      return std::nullopt;
    return RankedTensorType::get(type.getShape(), wide, type.getEncoding());
  };
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    std::optional<RankedTensorType> wide = narrowed(op);
    if (!wide)
      continue;
    OpBuilder builder(&op);
    if (isa<graph::ScatterAddOp>(op))
      for (unsigned operand : {0, 2}) {
        auto type = cast<RankedTensorType>(op.getOperand(operand).getType());
        type = RankedTensorType::get(type.getShape(), wide->getElementType(), type.getEncoding());
        op.setOperand(operand,
                      graph::ConvertOp::create(builder, op.getLoc(), type, op.getOperand(operand)));
      }
    Value result = op.getResult(0);
    Type narrow = result.getType();
    result.setType(*wide);
    builder.setInsertionPointAfter(&op);
    auto rounded = graph::ConvertOp::create(builder, op.getLoc(), narrow, result);
    result.replaceAllUsesExcept(rounded.getResult(), rounded);
  }
}

/// A value that is converted to one type twice is converted once within a half of a step: both
/// gradients of a product take a narrow copy of its result's.
static void shareConversions(func::FuncOp function) {
  llvm::DenseMap<std::tuple<Value, Type, Attribute>, graph::ConvertOp> known;
  for (auto op : llvm::make_early_inc_range(function.front().getOps<graph::ConvertOp>())) {
    auto [first, isNew] = known.try_emplace(
        {op.getOperand(), op.getResult().getType(), op->getDiscardableAttr(kBackwardAttr)}, op);
    if (isNew)
      continue;
    op.getResult().replaceAllUsesWith(first->second.getResult());
    op.erase();
  }
}

LogicalResult prepareKernels(func::FuncOp function) {
  shareConversions(function);
  for (auto op : function.front().getOps<graph::DropoutOp>())
    takeScalarsOut(op);
  widenScatters(function);
  SmallVector<DecomposableOpInterface> split;
  for (Operation &op : function.front())
    if (isa<graph::CrossEntropyOp>(op))
      split.push_back(cast<DecomposableOpInterface>(op));
  for (DecomposableOpInterface op : split)
    if (failed(decomposeLocally(op)))
      return failure();
  return MaskBuilder(function).run();
}

} // namespace cleave
