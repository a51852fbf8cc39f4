// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-fuse-step: prologue, the microbatches and update as one entry.

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/Transforms/Passes.h"

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
  LogicalResult inlineCall(func::FuncOp function, int64_t microbatch);
  FailureOr<Value> inputOf(func::FuncOp function, BlockArgument argument, StringAttr name,
                           int64_t microbatch);
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

FailureOr<Value> StepFusion::inputOf(func::FuncOp function, BlockArgument argument, StringAttr name,
                                     int64_t microbatch) {
  Value whole = values.lookup(name);
  if (whole.getType() == argument.getType())
    return whole;
  auto type = cast<RankedTensorType>(argument.getType());
  auto wholeType = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> rows(wholeType.getShape());
  if (!rows.empty())
    rows[0] /= microbatches;
  if (microbatch >= 0 && type.getShape() == ArrayRef(rows)) {
    Value view = viewed(name);
    auto viewType = cast<RankedTensorType>(view.getType());
    SmallVector<int64_t> starts(viewType.getRank(), 0), limits(viewType.getShape()),
        strides(viewType.getRank(), 1);
    starts[1] = microbatch;
    limits[1] = microbatch + 1;
    Value slice = graph::SliceOp::create(builder, argument.getLoc(), view, starts, limits, strides);
    return Value(graph::ReshapeOp::create(builder, argument.getLoc(), type, slice));
  }
  SmallVector<int64_t> stacked(rows);
  stacked.insert(stacked.begin(), microbatches);
  if (microbatch < 0 && type.getShape() == ArrayRef(stacked)) {
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

/// What an accumulator's first sum adds to zero; null for other ops.
static Value addendOfZero(Operation &op, const IRMapping &mapping) {
  auto add = dyn_cast<graph::AddOp>(op);
  if (!add || !isa<BlockArgument>(add.getLhs()))
    return {};
  auto start = mapping.lookupOrDefault(Value(add.getLhs())).getDefiningOp<graph::ConstantOp>();
  auto elements = start ? dyn_cast<DenseElementsAttr>(start.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat() || !isa<FloatType>(elements.getElementType()) ||
      !elements.getSplatValue<APFloat>().isZero())
    return {};
  return mapping.lookup(Value(add.getRhs()));
}

LogicalResult StepFusion::inlineCall(func::FuncOp function, int64_t microbatch) {
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
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
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
        random && microbatch >= 0 && microbatches > 1)
      random.setMicrobatch(microbatch, microbatches);
    if (shared)
      *shared = clone->getResult(0);
  }
  for (auto [index, operand] : llvm::enumerate(body.getTerminator()->getOperands())) {
    Value value = mapping.lookupOrDefault(operand);
    DictionaryAttr attributes = function.getResultAttrDict(index);
    if (auto symbol =
            function.getResultAttrOfType<FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr)) {
      values[symbol] = value;
      auto state = symbols.lookup<StateOp>(symbol.getValue());
      if (!state)
        return function.emitError() << "result " << index << " updates the state " << symbol
                                    << ", which is not declared";
      if (!isInternal(state))
        updated[symbol] = attributes;
    } else if (auto name =
                   function.getResultAttrOfType<StringAttr>(index, CleaveDialect::kOutputAttr);
               name && function == update) {
      outputs[name] = {value, attributes};
    }
  }
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

  if (prologue && failed(inlineCall(prologue, -1)))
    return failure();
  for (int64_t i = 0; i < microbatches; ++i)
    if (failed(inlineCall(micro, i)))
      return failure();
  if (failed(inlineCall(update, -1)))
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
  // Zeros that sums began with.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(step.front())))
    if (isa<graph::ConstantOp>(op) && op.use_empty())
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
