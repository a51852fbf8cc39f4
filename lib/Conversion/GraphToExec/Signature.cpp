// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Arguments and results of an entry: states, inputs, outputs and their places.

#include "EntryLowering.h"
#include "StateUpdates.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::exec;

static int64_t aligned(int64_t bytes) { return llvm::alignTo(bytes, 64); }

TensorAttr EntryLowering::describe(StringRef name, RankedTensorType local, int64_t offset,
                                   FloatAttr defaultValue) {
  ShardingAttr sharding;
  if (ShardAttr shard = getShard(local))
    sharding = shardingOf(builder_.getContext(), meshSymbol_, *mesh_, layoutOf(shard, *mesh_));
  else
    sharding =
        shardingOf(builder_.getContext(), meshSymbol_, *mesh_, Layout::replicated(local.getRank()));
  return TensorAttr::get(builder_.getContext(), name, globalType(local), sharding, offset,
                         byteSize(local), defaultValue);
}

LogicalResult EntryLowering::addState(BlockArgument argument, FlatSymbolRefAttr symbol) {
  auto type = cast<RankedTensorType>(argument.getType());
  auto declared = shared_.symbols.lookup<cleave::StateOp>(symbol.getValue());
  std::string name = symbol.getValue().str();
  auto state = shared_.symbols.lookup<exec::StateOp>(name);
  if (declared) {
    OpBuilder builder(declared.getContext());
    builder.setInsertionPointAfter(declared);
    TensorAttr tensor = describe(name, type, shared_.stateBytes);
    shared_.stateBytes += aligned(tensor.getBytes());
    auto kind = exec::StateKind::Weight;
    if (auto text = declared.getKind())
      kind = symbolizeStateKind(*text).value_or(exec::StateKind::Other);
    StringAttr checkpoint = declared.getCheckpointAttr();
    DenseI64ArrayAttr checkpointShape = declared.getCheckpointShapeAttr();
    shared_.symbols.erase(declared);
    state = exec::StateOp::create(builder, argument.getLoc(), name, kind, tensor, checkpoint,
                                  checkpointShape);
    shared_.symbols.insert(state);
  } else if (!state) {
    return function_.emitOpError("argument ")
           << argument.getArgNumber() << " reads the state @" << name << ", which is not declared";
  } else if (state.getTensor() != describe(name, type, state.getTensor().getOffset())) {
    return function_.emitOpError("argument ")
           << argument.getArgNumber() << " reads the state @" << name
           << " in another type or sharding than an entry before it";
  }
  Value buffer =
      makeBuffer(exec::Region::State, state.getTensor().getBytes(), state.getTensor().getOffset());
  define(argument, buffer);
  return success();
}

LogicalResult EntryLowering::lowerArguments() {
  SmallVector<Attribute> inputs, states;
  int64_t inputBytes = 0;
  for (BlockArgument argument : function_.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      return function_.emitOpError("argument ") << index << " is no tensor";
    if (auto symbol =
            function_.getArgAttrOfType<FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr)) {
      if (failed(addState(argument, symbol)))
        return failure();
      states.push_back(symbol);
      stateArguments_.try_emplace(symbol, argument);
      continue;
    }
    auto name = function_.getArgAttrOfType<StringAttr>(index, CleaveDialect::kInputAttr);
    std::string text = name ? name.str() : "arg" + std::to_string(index);
    TensorAttr tensor =
        describe(text, type, inputBytes,
                 function_.getArgAttrOfType<FloatAttr>(index, CleaveDialect::kDefaultAttr));
    Value buffer = makeBuffer(exec::Region::Input, tensor.getBytes(), tensor.getOffset());
    define(argument, buffer);
    inputBytes += aligned(tensor.getBytes());
    inputs.push_back(tensor);
  }
  entry_.setInputsAttr(builder_.getArrayAttr(inputs));
  entry_.setStatesAttr(builder_.getArrayAttr(states));
  entry_.setInputBytes(inputBytes);
  return success();
}

LogicalResult EntryLowering::assignOutputs() {
  assignUpdates(function_.getBody().front());
  auto ret = cast<func::ReturnOp>(function_.getBody().front().getTerminator());
  SmallVector<Attribute> outputs;
  int64_t outputBytes = 0;
  for (auto [index, value] : llvm::enumerate(ret.getOperands())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return ret.emitOpError("result ") << index << " is no tensor";
    if (function_.getResultAttr(index, CleaveDialect::kStateAttr))
      continue;
    auto name = function_.getResultAttrOfType<StringAttr>(index, CleaveDialect::kOutputAttr);
    std::string text = name ? name.str() : "out" + std::to_string(index);
    TensorAttr tensor = describe(text, type, outputBytes);
    outputBytes += aligned(tensor.getBytes());
    outputs.push_back(tensor);
    Value source = producingValue(value);
    if (!isa<BlockArgument>(source) && !outputs_.count(source)) // Others are copied at the end.
      outputs_[source] = makeBuffer(exec::Region::Output, tensor.getBytes(), tensor.getOffset());
  }
  entry_.setOutputsAttr(builder_.getArrayAttr(outputs));
  entry_.setOutputBytes(outputBytes);
  return success();
}

/// The memory of the state that a result updates.
FailureOr<Value> EntryLowering::updatedBuffer(func::ReturnOp op, unsigned index,
                                              FlatSymbolRefAttr symbol) {
  BlockArgument argument = stateArguments_.lookup(symbol);
  if (!argument)
    return op.emitOpError("result ")
           << index << " updates the state " << symbol << ", which the function does not read";
  if (argument.getType() != op.getOperand(index).getType())
    return op.emitOpError("result ")
           << index << " updates the state " << symbol << " with " << op.getOperand(index).getType()
           << ", but the state is " << argument.getType() << ": give both the same sharding";
  return tensors_[argument].buffer;
}

LogicalResult EntryLowering::lowerReturn(func::ReturnOp op) {
  struct Update {
    Value from, to;
  };
  SmallVector<Update> updates;
  llvm::DenseSet<Value> updated;
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    auto symbol =
        function_.getResultAttrOfType<FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr);
    if (!symbol)
      continue;
    FailureOr<Value> target = updatedBuffer(op, index, symbol);
    if (failed(target))
      return failure();
    if (!updated.insert(*target).second)
      return op.emitOpError("result ") << index << " updates the state " << symbol
                                       << " again: one result gives its new value";
    Value from = dense(value, op);
    if (from != *target)
      updates.push_back({from, *target});
  }
  // The old values of states are read before the first is overwritten: by outputs, and by states
  // that take the value of another one.
  int64_t offset = 0;
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    if (function_.getResultAttr(index, CleaveDialect::kStateAttr))
      continue;
    Value buffer = dense(value, op);
    auto root = buffer.getDefiningOp<BufferOp>();
    int64_t bytes = byteSize(cast<RankedTensorType>(value.getType()));
    bool inPlace = root && root.getRegion() == exec::Region::Output &&
                   int64_t(root.getOffset().value_or(-1)) == offset;
    if (!inPlace && bytes > 0) {
      Value target = makeBuffer(exec::Region::Output, bytes, offset);
      emit<CopyOp>(op, 0, buffer, target);
    }
    offset += aligned(bytes);
  }
  for (Update &update : updates)
    if (llvm::any_of(updates, [&](const Update &other) { return other.to == update.from; })) {
      Value kept = allocate(int64_t(update.from.getDefiningOp<BufferOp>().getBytes()));
      emit<CopyOp>(op, 0, update.from, kept);
      update.from = kept;
    }
  for (const Update &update : updates)
    emit<CopyOp>(op, 0, update.from, update.to);
  return success();
}
