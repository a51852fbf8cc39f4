// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Arguments of a function: random ones, and those that files hold.

#include "cleave/Interpreter/Arguments.h"

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::interpreter;

namespace {
constexpr int64_t kDefaultLimit = 16;

int64_t globalSize(Value tensor, int64_t dim) {
  if (ShardAttr shard = getShard(tensor))
    return shard.getGlobalShape()[dim];
  return cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
}

/// A limit below which the integers of `value` are legal ids everywhere they are used as such.
int64_t idLimit(Value value) {
  std::optional<int64_t> limit;
  auto lower = [&](int64_t size) { limit = std::min(limit.value_or(size), size); };
  SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i) {
    Value current = reached[i];
    for (OpOperand &use : current.getUses()) {
      Operation *user = use.getOwner();
      if (auto embedding = dyn_cast<graph::EmbeddingOp>(user)) {
        if (use.getOperandNumber() == 0)
          lower(globalSize(embedding.getTable(), 0));
      } else if (auto loss = dyn_cast<graph::CrossEntropyOp>(user)) {
        if (use.getOperandNumber() == 1)
          lower(globalSize(loss.getLogits(), loss.getLogits().getType().getRank() - 1));
      } else if (isa<graph::ReshapeOp, graph::TransposeOp, graph::BroadcastOp, graph::SliceOp,
                     graph::PadOp, graph::ConcatenateOp, graph::ConvertOp>(user) ||
                 isa<CleaveDialect>(user->getDialect())) {
        for (Value result : user->getResults())
          reached.insert(result);
      }
    }
  }
  return limit.value_or(kDefaultLimit);
}
} // namespace

FailureOr<std::vector<TensorRef>> interpreter::randomArguments(FunctionOpInterface function,
                                                               uint64_t seed) {
  std::vector<TensorRef> arguments;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    std::optional<DType> dtype = type ? dtypeOf(type.getElementType()) : std::nullopt;
    if (!dtype || !type.hasStaticShape())
      return function->emitError() << "expected tensor arguments of static shape to make random "
                                      "values for, found "
                                   << argument.getType();
    ShardAttr shard = getShard(type);
    arguments.push_back(std::make_shared<Tensor>(
        randomTensor(*dtype, shard ? shard.getGlobalShape() : type.getShape(),
                     seed * 1000003 + argument.getArgNumber(), idLimit(argument))));
  }
  return arguments;
}

namespace {
/// The name under which files hold an argument: of the input, or of the state's checkpoint tensor.
StringRef fileName(FunctionOpInterface function, unsigned index) {
  if (auto name = function.getArgAttrOfType<StringAttr>(index, CleaveDialect::kInputAttr))
    return name.getValue();
  auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr);
  if (!symbol)
    return {};
  auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(function, symbol);
  if (state && state.getCheckpoint())
    return *state.getCheckpoint();
  return symbol.getValue();
}
} // namespace

FailureOr<std::vector<TensorRef>>
interpreter::loadArguments(FunctionOpInterface function, ArrayRef<safetensors::Checkpoint> files) {
  std::vector<TensorRef> arguments;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    StringRef name = fileName(function, index);
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    std::optional<DType> dtype = type ? dtypeOf(type.getElementType()) : std::nullopt;
    if (name.empty() || !dtype)
      return function->emitError()
             << "expected argument " << index
             << " to be a tensor with cleave.input or cleave.state, which says "
                "where to find it; found "
             << argument.getType();
    safetensors::TensorRef found;
    for (const safetensors::Checkpoint &file : files)
      if (!found)
        found = file.find(name);
    if (!found)
      return function->emitError() << "no input file has the tensor '" << name << "'";
    ShardAttr shard = getShard(type);
    ArrayRef<int64_t> shape = shard ? shard.getGlobalShape() : type.getShape();
    // A state may be viewed under another shape.
    if (found.info->elementCount() != elementCount(shape))
      return function->emitError() << "expected " << elementCount(shape) << " elements in '" << name
                                   << "', found " << safetensors::formatShape(found.info->shape);
    std::string error;
    Tensor tensor(*dtype, shape);
    if (tensor.isFloat()) {
      llvm::Expected<std::vector<double>> values = safetensors::readDoubles(found);
      if (values)
        tensor.floats = std::move(*values);
      else
        error = llvm::toString(values.takeError());
    } else {
      llvm::Expected<std::vector<int64_t>> values = safetensors::readIntegers(found);
      if (values)
        tensor.ints = std::move(*values);
      else
        error = llvm::toString(values.takeError());
    }
    if (!error.empty())
      return function->emitError() << error;
    arguments.push_back(std::make_shared<Tensor>(std::move(tensor)));
  }
  return arguments;
}
