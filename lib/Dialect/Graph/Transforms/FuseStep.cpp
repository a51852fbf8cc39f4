// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-fuse-step: prologue, the microbatches and update as one entry. All microbatches but the
// last are one body that is repeated.

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include "cleave/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace cleave;

namespace cleave::graph {
#define GEN_PASS_DEF_FUSESTEPPASS
#include "cleave/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace cleave::graph

namespace {

constexpr StringLiteral kStep = "train_step";

/// States that pass values between the functions of a step, and die with it.
bool isInternal(StateOp state) {
  return state.getKind() == "gradient" || state.getKind() == "accumulator";
}

class StepFusion {
public:
  StepFusion(ModuleOp module, int64_t microbatches)
      : module(module), symbols(module), microbatches(microbatches) {}
  LogicalResult run();

private:
  LogicalResult collect();
  LogicalResult collectArguments(func::FuncOp function);
  /// `microbatch`: its number, a value where it is repeated; null outside of microbatches.
  LogicalResult inlineCall(func::FuncOp function, OpFoldResult microbatch);
  LogicalResult assignResults(func::FuncOp function, IRMapping &mapping, Value repetition);
  FailureOr<Value> inputOf(func::FuncOp function, BlockArgument argument, StringAttr name,
                           OpFoldResult microbatch);
  Value microbatchOf(Value view, OpFoldResult microbatch);
  Value viewed(StringAttr name);
  Value *sharedConversion(Operation &op, const IRMapping &mapping);

  ModuleOp module;
  SymbolTable symbols;
  int64_t microbatches;
  func::FuncOp prologue, micro, update, step;
  OpBuilder builder{module.getContext()};
  /// Arguments of the step by state symbol or input name, with their attributes.
  llvm::MapVector<Attribute, std::pair<Type, DictionaryAttr>> arguments;
  llvm::MapVector<Attribute, Value> values; ///< of states and inputs, as the step goes on
  llvm::DenseMap<std::pair<Value, Type>, Value> conversions; ///< of states, by the type they get
  llvm::DenseMap<Attribute, Value> views; ///< batches as [rows of a microbatch, microbatches, ...]
  llvm::MapVector<Attribute, std::pair<Value, DictionaryAttr>> outputs;
  llvm::MapVector<Attribute, DictionaryAttr> updated;
};

LogicalResult StepFusion::collectArguments(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    DictionaryAttr attributes = function.getArgAttrDict(index);
    if (!attributes)
      attributes = builder.getDictionaryAttr({});
    if (auto symbol =
            function.getArgAttrOfType<FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr)) {
      auto state = symbols.lookup<StateOp>(symbol.getValue());
      if (!state)
        return function.emitError() << "argument " << index << " reads the state " << symbol
                                    << ", which is not declared";
      if (!isInternal(state))
        arguments.insert({symbol, {argument.getType(), attributes}});
      continue;
    }
    auto name = function.getArgAttrOfType<StringAttr>(index, CleaveDialect::kInputAttr);
    if (!name)
      return function.emitError() << "argument " << index
                                  << " is neither a state nor an input with a name";
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      return function.emitError() << "input " << name << " must be a tensor, found "
                                  << argument.getType();
    // A number is the same for all microbatches.
    if (function == micro && microbatches > 1 && type.getRank() > 0) {
      SmallVector<int64_t> shape(type.getShape());
      shape[0] *= microbatches;
      type = RankedTensorType::get(shape, type.getElementType());
      NamedAttrList dealt(attributes);
      dealt.set(kMicrobatchesAttr, builder.getI64IntegerAttr(microbatches));
      attributes = dealt.getDictionary(builder.getContext());
    }
    // What micro takes is dealt by rows; prologue sees the same rows.
    arguments.insert({name, {type, attributes}});
  }
  return success();
}

LogicalResult StepFusion::collect() {
  prologue = symbols.lookup<func::FuncOp>("prologue");
  micro = symbols.lookup<func::FuncOp>("micro");
  update = symbols.lookup<func::FuncOp>("update");
  if (!micro || !update)
    return module.emitError() << "has no @" << (micro ? "update" : "micro")
                              << " to fuse into a step: run cleave-differentiate first";
  if (symbols.lookup(kStep))
    return module.emitError() << "has a @" << kStep << " already";
  for (func::FuncOp function : {prologue, micro, update})
    if (function && !function.getBody().hasOneBlock())
      return function.emitError() << "must have one block to be fused into a step";
  // States in the order of their declarations, then inputs.
  if (failed(collectArguments(micro)) || (prologue && failed(collectArguments(prologue))) ||
      failed(collectArguments(update)))
    return failure();
  llvm::MapVector<Attribute, std::pair<Type, DictionaryAttr>> ordered;
  for (StateOp state : module.getOps<StateOp>())
    if (auto found = arguments.find(FlatSymbolRefAttr::get(state.getSymNameAttr()));
        found != arguments.end())
      ordered.insert(*found);
  for (auto &entry : arguments)
    ordered.insert(entry);
  arguments = std::move(ordered);
  return success();
}

/// An input [B, ...] as [B / microbatches, microbatches, ...]: its rows stay where they are
/// sharded.
Value StepFusion::viewed(StringAttr name) {
  Value &view = views[name];
  if (!view) {
    Value whole = values.lookup(name);
    auto type = cast<RankedTensorType>(whole.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] /= microbatches;
    shape.insert(shape.begin() + 1, microbatches);
    view = graph::ReshapeOp::create(builder, whole.getLoc(),
                                    RankedTensorType::get(shape, type.getElementType()), whole);
  }
  return view;
}

/// The rows [B / microbatches, 1, ...] of one microbatch.
Value StepFusion::microbatchOf(Value view, OpFoldResult microbatch) {
  auto type = cast<RankedTensorType>(view.getType());
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()),
      strides(type.getRank(), 1);
  if (auto number = dyn_cast<Attribute>(microbatch)) {
    starts[1] = cast<IntegerAttr>(number).getInt();
    limits[1] = starts[1] + 1;
    return graph::SliceOp::create(builder, view.getLoc(), view, starts, limits, strides);
  }
  graph::PrimitiveBuilder b(builder, view.getLoc());
  Value zero = b.splat({}, builder.getI64Type(), 0.0);
  SmallVector<Value> positions(type.getRank(), zero);
  Value number = b.iota({1}, builder.getI64Type(), 0, cast<Value>(microbatch));
  positions[1] = b.make<graph::ReshapeOp>(number, ArrayRef<int64_t>{});
  limits[1] = 1;
  return b.make<graph::DynamicSliceOp>(view, positions, ArrayRef<int64_t>(limits));
}

FailureOr<Value> StepFusion::inputOf(func::FuncOp function, BlockArgument argument, StringAttr name,
                                     OpFoldResult microbatch) {
  Value whole = values.lookup(name);
  if (whole.getType() == argument.getType())
    return whole;
  auto type = cast<RankedTensorType>(argument.getType());
  auto wholeType = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> rows(wholeType.getShape());
  if (!rows.empty())
    rows[0] /= microbatches;
  if (microbatch && type.getShape() == ArrayRef(rows)) {
    Value slice = microbatchOf(viewed(name), microbatch);
    return Value(graph::ReshapeOp::create(builder, argument.getLoc(), type, slice));
  }
  SmallVector<int64_t> stacked(rows);
  stacked.insert(stacked.begin(), microbatches);
  if (!microbatch && type.getShape() == ArrayRef(stacked)) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    std::swap(order[0], order[1]);
    return Value(graph::TransposeOp::create(builder, argument.getLoc(), viewed(name), order));
  }
  return function.emitError() << "input " << name << " is " << type << ", which does not go with "
                              << wholeType << " in " << microbatches << " microbatches";
}

/// Where the conversion of a state is kept, as of a master weight: all microbatches have the same.
Value *StepFusion::sharedConversion(Operation &op, const IRMapping &mapping) {
  if (!isa<graph::ConvertOp>(op))
    return nullptr;
  Value operand = mapping.lookupOrDefault(op.getOperand(0));
  if (!isa<BlockArgument>(operand))
    return nullptr;
  return &conversions[{operand, op.getResult(0).getType()}];
}

static bool isZero(Value value) {
  auto start = value.getDefiningOp<graph::ConstantOp>();
  auto elements = start ? dyn_cast<DenseElementsAttr>(start.getValue()) : DenseElementsAttr();
  return elements && elements.isSplat() && isa<FloatType>(elements.getElementType()) &&
         elements.getSplatValue<APFloat>().isZero();
}

/// What an accumulator's first sum adds to zero; null for other ops.
static Value addendOfZero(Operation &op, const IRMapping &mapping) {
  auto add = dyn_cast<graph::AddOp>(op);
  if (!add || !isa<BlockArgument>(add.getLhs()) || !isZero(mapping.lookupOrDefault(add.getLhs())))
    return {};
  return mapping.lookup(Value(add.getRhs()));
}

LogicalResult StepFusion::inlineCall(func::FuncOp function, OpFoldResult microbatch) {
  auto repetition = dyn_cast_if_present<Value>(microbatch);
  IRMapping mapping;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (auto symbol =
            function.getArgAttrOfType<FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr)) {
      Value value = values.lookup(symbol);
      if (!value)
        return function.emitError()
               << "reads the state " << symbol << " before a function of the step has written it";
      mapping.map(argument, value);
      continue;
    }
    auto name = function.getArgAttrOfType<StringAttr>(index, CleaveDialect::kInputAttr);
    FailureOr<Value> value = inputOf(function, argument, name, microbatch);
    if (failed(value))
      return failure();
    mapping.map(argument, *value);
  }
  for (Operation &op : function.getBody().front().without_terminator()) {
    Value *shared = sharedConversion(op, mapping);
    if (shared && *shared) {
      mapping.map(op.getResult(0), *shared);
      continue;
    }
    if (Value addend = addendOfZero(op, mapping)) {
      mapping.map(op.getResult(0), addend);
      continue;
    }
    Operation *clone = builder.clone(op, mapping);
    if (auto random = dyn_cast<RandomOpInterface>(clone);
        random && microbatch && microbatches > 1) {
      OpBuilder before(clone);
      random.setMicrobatch(before, microbatch, microbatches);
    }
    if (shared)
      *shared = clone->getResult(0);
  }
  return assignResults(function, mapping, repetition);
}

/// Takes over what a function of the step has given. What is repeated gives sums: it may read what
/// it adds to and nothing else of what it has written before.
LogicalResult StepFusion::assignResults(func::FuncOp function, IRMapping &mapping,
                                        Value repetition) {
  llvm::MapVector<Attribute, Value> assigned;
  for (auto [index, operand] :
       llvm::enumerate(function.getBody().front().getTerminator()->getOperands())) {
    Value value = mapping.lookupOrDefault(operand);
    DictionaryAttr attributes = function.getResultAttrDict(index);
    if (auto symbol =
            function.getResultAttrOfType<FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr)) {
      auto state = symbols.lookup<StateOp>(symbol.getValue());
      if (!state)
        return function.emitError() << "result " << index << " updates the state " << symbol
                                    << ", which is not declared";
      if (!isInternal(state))
        updated[symbol] = attributes;
      if (repetition) {
        auto add = operand.getDefiningOp<graph::AddOp>();
        auto argument = add ? dyn_cast<BlockArgument>(add.getLhs()) : BlockArgument();
        bool isSum = argument && argument.hasOneUse() && isZero(mapping.lookup(Value(argument))) &&
                     function.getArgAttr(argument.getArgNumber(), CleaveDialect::kStateAttr) ==
                         Attribute(symbol);
        if (auto same = dyn_cast<BlockArgument>(operand);
            same && function.getArgAttr(same.getArgNumber(), CleaveDialect::kStateAttr) ==
                        Attribute(symbol))
          continue;
        if (!isSum && values.lookup(symbol))
          return function.emitError()
                 << "result " << index << " updates the state " << symbol
                 << ", which it reads, by more than a sum from zero on; only sums go on from one "
                    "microbatch to the next";
        if (!isSum)
          continue; // The last microbatch gives it.
        value = graph::SumRepetitionsOp::create(builder, value.getLoc(), value, repetition);
      }
      assigned[symbol] = value;
    } else if (auto name =
                   function.getResultAttrOfType<StringAttr>(index, CleaveDialect::kOutputAttr);
               name && function == update) {
      outputs[name] = {value, attributes};
    }
  }
  for (auto &[symbol, value] : assigned)
    values[symbol] = value;
  return success();
}

LogicalResult StepFusion::run() {
  if (failed(collect()))
    return failure();
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (auto &[key, argument] : arguments) {
    types.push_back(argument.first);
    attributes.push_back(argument.second);
  }
  builder.setInsertionPoint(update);
  step = func::FuncOp::create(builder, update.getLoc(), kStep, builder.getFunctionType(types, {}));
  step->setAttr(CleaveDialect::kEntryAttr, builder.getUnitAttr());
  step.setAllArgAttrs(attributes);
  builder.setInsertionPointToStart(step.addEntryBlock());
  for (auto [entry, argument] : llvm::zip_equal(arguments, step.getArguments())) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(entry.first);
    argument.setLoc(NameLoc::get(symbol ? symbol.getAttr() : cast<StringAttr>(entry.first)));
    values.insert({entry.first, argument});
  }

  if (prologue && failed(inlineCall(prologue, {})))
    return failure();
  if (microbatches > 1) {
    Value number = graph::RepetitionOp::create(builder, micro.getLoc(), builder.getIndexType(),
                                               builder.getI64IntegerAttr(microbatches - 1));
    if (failed(inlineCall(micro, number)))
      return failure();
  }
  if (failed(inlineCall(micro, builder.getI64IntegerAttr(microbatches - 1))) ||
      failed(inlineCall(update, {})))
    return failure();

  SmallVector<Value> results;
  SmallVector<DictionaryAttr> resultAttributes;
  for (auto &[name, output] : outputs) {
    results.push_back(output.first);
    resultAttributes.push_back(output.second);
  }
  for (auto &[symbol, attribute] : updated) {
    results.push_back(values.lookup(symbol));
    resultAttributes.push_back(attribute);
  }
  func::ReturnOp::create(builder, step.getLoc(), results);
  step.setFunctionType(builder.getFunctionType(types, ValueRange(results).getTypes()));
  step.setAllResultAttrs(resultAttributes);

  for (func::FuncOp function : {prologue, micro, update})
    if (function)
      function.erase();
  // Zeros that sums began with, and what all but the last microbatch gave in vain.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(step.front())))
    if (isOpTriviallyDead(&op) || (isa<graph::RepetitionOp>(op) && op.use_empty()))
      op.erase();
  for (StateOp state : llvm::make_early_inc_range(module.getOps<StateOp>())) {
    if (isInternal(state)) {
      state.erase();
    } else if (state.getKind() == "optimizer") {
      // Weights come from a model's checkpoint; these start as zeros.
      state.removeCheckpointAttr();
      state.removeCheckpointShapeAttr();
    }
  }
  return success();
}

struct FuseStepPass : cleave::graph::impl::FuseStepPassBase<FuseStepPass> {
  using FuseStepPassBase::FuseStepPassBase;
  void runOnOperation() override {
    if (microbatches < 1) {
      getOperation().emitError("a step has at least one microbatch, found ") << microbatches;
      return signalPassFailure();
    }
    if (failed(StepFusion(getOperation(), microbatches).run()))
      signalPassFailure();
  }
};

} // namespace
