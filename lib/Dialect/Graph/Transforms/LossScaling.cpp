// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-loss-scaling: the scale of the loss, and updates that are skipped.

#include "TrainingStep.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include "cleave/Dialect/Graph/Transforms/Passes.h"

#include <cmath>

namespace cleave::graph {
#define GEN_PASS_DEF_LOSSSCALINGPASS
#include "cleave/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace cleave::graph

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
constexpr StringLiteral kGoodStepsState = "step.good_steps", kScaleOutput = "loss_scale",
                        kNormOutput = "grad_norm";
constexpr double kGrowth = 2, kBackoff = 0.5, kSmallest = 1, kLargest = 0x1p32;

/// Adds scaling to the functions of a step.
class Scaling {
public:
  Scaling(ModuleOp module, double init, int64_t growthInterval)
      : module(module), builder(module.getContext()), init(init), growthInterval(growthInterval) {}
  LogicalResult run();

private:
  FailureOr<func::FuncOp> findFunction(StringRef name);
  /// The argument that reads a state; null if there is none.
  static BlockArgument argumentOf(func::FuncOp function, StringRef state);
  BlockArgument addArgument(func::FuncOp function, Type type, StringRef state);
  DictionaryAttr attribute(StringRef name, Attribute value) {
    return builder.getDictionaryAttr(builder.getNamedAttr(name, value));
  }
  DictionaryAttr stateAttribute(StringRef state) {
    return attribute(CleaveDialect::kStateAttr,
                     FlatSymbolRefAttr::get(builder.getContext(), state));
  }
  /// The scale as a step uses it.
  Value firstOrKept(PrimitiveBuilder &b, Value scale);
  void unscaleGradients(PrimitiveBuilder &b, Value scale);
  LogicalResult keepOnOverflow(PrimitiveBuilder &b, Value isGood);

  ModuleOp module;
  Builder builder;
  double init;
  int64_t growthInterval;
  func::FuncOp update;
  SymbolTable symbols{module};
};

FailureOr<func::FuncOp> Scaling::findFunction(StringRef name) {
  auto function = symbols.lookup<func::FuncOp>(name);
  if (!function || !function.getBody().hasOneBlock())
    return module.emitError()
           << "has no @" << name
           << " of one block to scale the loss in: run cleave-differentiate with "
              "scale-loss first";
  return function;
}

BlockArgument Scaling::argumentOf(func::FuncOp function, StringRef state) {
  for (BlockArgument argument : function.getArguments())
    if (auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                                   CleaveDialect::kStateAttr);
        symbol && symbol.getValue() == state)
      return argument;
  return {};
}

BlockArgument Scaling::addArgument(func::FuncOp function, Type type, StringRef state) {
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, type, stateAttribute(state), function.getLoc());
  return function.getArgument(index);
}

Value Scaling::firstOrKept(PrimitiveBuilder &b, Value scale) {
  return b.select(b.compare(CompareDirection::EQ, scale, 0.0), b.splatLike(scale, init), scale);
}

void Scaling::unscaleGradients(PrimitiveBuilder &b, Value scale) {
  Value inverse = b.divide(b.splatLike(scale, 1.0), scale);
  for (BlockArgument argument : update.getArguments()) {
    auto symbol = update.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                             CleaveDialect::kStateAttr);
    auto state = symbol ? symbols.lookup<StateOp>(symbol.getValue()) : StateOp();
    if (!state || state.getKind() != "gradient" || argument.use_empty())
      continue;
    PrimitiveBuilder at(b.builder, argument.getLoc());
    Value factor = at.convert(inverse, at.typeOf(argument).getElementType());
    Value unscaled = at.multiply(argument, at.broadcast(factor, at.shapeOf(argument), {}));
    argument.replaceAllUsesExcept(unscaled, unscaled.getDefiningOp());
  }
}

/// Has an optimizer's op keep what it updates; false if the op is none, or updates another value.
template <typename OpT> bool applyOnlyIf(Value result, Value before, Value isGood) {
  auto op = result.getDefiningOp<OpT>();
  if (!op || op.getUpdated()[cast<OpResult>(result).getResultNumber()] != before)
    return false;
  if (!op.getApply())
    op.getApplyMutable().assign(isGood);
  return op.getApply() == isGood;
}

/// Every state that the update writes keeps its value where `isGood` is false.
LogicalResult Scaling::keepOnOverflow(PrimitiveBuilder &b, Value isGood) {
  Operation *terminator = update.front().getTerminator();
  for (OpOperand &result : terminator->getOpOperands()) {
    auto symbol = update.getResultAttrOfType<FlatSymbolRefAttr>(result.getOperandNumber(),
                                                                CleaveDialect::kStateAttr);
    if (!symbol)
      continue;
    Value before = argumentOf(update, symbol.getValue());
    if (!before)
      return update.emitError() << "writes the state " << symbol
                                << " without reading it, so that its value could not be kept when "
                                   "gradients overflow; take it as an argument";
    if (applyOnlyIf<AdamWOp>(result.get(), before, isGood) ||
        applyOnlyIf<SgdOp>(result.get(), before, isGood))
      continue;
    PrimitiveBuilder at(b.builder, result.get().getLoc());
    bool isScalar = at.shapeOf(before).empty();
    Value all = isScalar ? isGood : at.broadcast(isGood, at.shapeOf(before), {});
    result.set(at.select(all, result.get(), before));
  }
  return success();
}

LogicalResult Scaling::run() {
  FailureOr<func::FuncOp> micro = findFunction("micro");
  if (failed(micro))
    return failure();
  FailureOr<func::FuncOp> found = findFunction("update");
  if (failed(found))
    return failure();
  update = *found;
  BlockArgument seed = argumentOf(*micro, kLossScaleState);
  if (!seed)
    return micro->emitError() << "reads no state @" << kLossScaleState
                              << ": run cleave-differentiate with scale-loss first";
  if (Operation *taken = symbols.lookup(kGoodStepsState))
    return taken->emitError() << "the name @" << kGoodStepsState
                              << " is taken, but loss scaling makes a state of this name; rename "
                                 "this one";
  Operation *terminator = update.front().getTerminator();
  Value norm;
  for (OpOperand &result : terminator->getOpOperands())
    if (auto name = update.getResultAttrOfType<StringAttr>(result.getOperandNumber(),
                                                           CleaveDialect::kOutputAttr);
        name && name.getValue() == kNormOutput)
      norm = result.get();
  if (!norm)
    return update.emitError() << "has no output " << kNormOutput
                              << ", by which overflow is told: run cleave-differentiate first";

  OpBuilder atMicro = OpBuilder::atBlockBegin(&micro->front());
  PrimitiveBuilder inMicro(atMicro, micro->getLoc());
  Value isFirst = inMicro.compare(CompareDirection::EQ, seed, 0.0);
  Value start = inMicro.select(isFirst, inMicro.splatLike(seed, init), seed);
  seed.replaceUsesWithIf(start, [&](OpOperand &use) {
    return use.getOwner() != isFirst.getDefiningOp() && use.getOwner() != start.getDefiningOp();
  });

  OpBuilder stateBuilder(symbols.lookup(kLossScaleState));
  stateBuilder.setInsertionPointAfter(symbols.lookup(kLossScaleState));
  auto countType = RankedTensorType::get({}, builder.getI64Type());
  StateOp::create(stateBuilder, update.getLoc(), kGoodStepsState, countType,
                  builder.getStringAttr(kGoodStepsState), DenseI64ArrayAttr(), LogicalAxesAttr(),
                  builder.getStringAttr("optimizer"), ShardingAttr());
  BlockArgument kept = addArgument(update, seed.getType(), kLossScaleState);
  BlockArgument goodSteps = addArgument(update, countType, kGoodStepsState);

  OpBuilder begin = OpBuilder::atBlockBegin(&update.front()), end(terminator);
  PrimitiveBuilder first(begin, update.getLoc()), last(end, update.getLoc());
  Value scale = firstOrKept(first, kept);
  unscaleGradients(first, scale);

  // Beside the norm, before the updates that wait for it; false for a NaN too.
  OpBuilder besideNorm(builder.getContext());
  besideNorm.setInsertionPointAfterValue(norm);
  PrimitiveBuilder beside(besideNorm, update.getLoc());
  Value isGood = beside.compare(CompareDirection::LT, beside.make<AbsOp>(norm), INFINITY);
  if (failed(keepOnOverflow(last, isGood)))
    return failure();
  Value count = last.add(goodSteps, 1.0);
  Value grows = last.compare(CompareDirection::GE, count, double(growthInterval));
  Value zero = last.splatLike(count, 0.0);
  Value larger =
      last.make<MinimumOp>(last.multiply(scale, kGrowth), last.splatLike(scale, kLargest));
  // A first scale above the largest stays.
  larger = last.maximum(larger, scale);
  Value smaller = last.maximum(last.multiply(scale, kBackoff), last.splatLike(scale, kSmallest));
  Value next = last.select(isGood, last.select(grows, larger, scale), smaller);
  Value nextCount = last.select(isGood, last.select(grows, zero, count), zero);

  unsigned index = update.getNumResults();
  terminator->insertOperands(index, {next, nextCount, scale});
  (void)update.insertResults(
      {index, index, index}, {next.getType(), nextCount.getType(), scale.getType()},
      {stateAttribute(kLossScaleState), stateAttribute(kGoodStepsState),
       attribute(CleaveDialect::kOutputAttr, builder.getStringAttr(kScaleOutput))});
  return success();
}

struct LossScaling : graph::impl::LossScalingPassBase<LossScaling> {
  using LossScalingPassBase::LossScalingPassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!(init >= kSmallest && init <= 0x1p126)) {
      module.emitError() << "expected the option init to be a number from 1 to 2^126, found "
                         << init;
      return signalPassFailure();
    }
    if (growthInterval < 1) {
      module.emitError() << "expected the option growth-interval to be at least 1, found "
                         << growthInterval.getValue();
      return signalPassFailure();
    }
    if (failed(Scaling(module, init, growthInterval).run()))
      signalPassFailure();
  }
};
} // namespace
