// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Oracle.h"

#include "Diagnostics.h"
#include "RemoveShardings.h"

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Interpreter/Interpreter.h"
#include "cleave/Pipelines/Compile.h"
#include "cleave/Pipelines/Register.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>
#include <random>

using namespace cleave;
using namespace cleave::tool;
namespace st = cleave::safetensors;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

std::vector<HostTensor> cleave::tool::randomStatesOf(llvm::ArrayRef<cleave_tensor_info> states,
                                                     uint64_t seed) {
  std::vector<HostTensor> tensors;
  for (auto [index, info] : llvm::enumerate(states)) {
    std::mt19937_64 generator(seed * 7368787 + index + 1);
    HostTensor shape{info.name, info.dtype, shapeOf(info).vec(), {}};
    std::vector<double> values(shape.elements());
    bool vector = info.rank < 2;
    double scale = vector ? 0.1 : 1 / std::sqrt(double(std::max<uint64_t>(1, shape.shape.back())));
    std::normal_distribution<double> normal(vector ? 1 : 0, scale);
    for (double &value : values)
      value = normal(generator);
    tensors.push_back(HostTensor::ofNumbers(info.name, info.dtype, shape.shape, values));
  }
  return tensors;
}

llvm::Expected<std::vector<std::vector<double>>>
cleave::tool::referenceOutputs(llvm::StringRef path, llvm::ArrayRef<cleave_tensor_info> outputs) {
  llvm::Expected<st::File> file = st::File::open(path);
  if (!file)
    return file.takeError();
  std::vector<std::vector<double>> result;
  for (const cleave_tensor_info &info : outputs) {
    const st::TensorInfo *found = file->find(info.name);
    if (!found)
      return makeError(path + ": output " + info.name +
                       " is missing; a reference holds every output");
    std::vector<uint64_t> shape(found->shape.begin(), found->shape.end());
    if (llvm::ArrayRef(shape) != shapeOf(info))
      return makeError(path + ": output " + info.name + " is " + formatShape(shape) +
                       "; the executable gives " + formatShape(shapeOf(info)));
    auto values = st::readDoubles({&*file, found});
    if (!values)
      return values.takeError();
    result.push_back(std::move(*values));
  }
  return result;
}

Oracle::Oracle() {
  registerAllDialects(registry_);
  static const bool registered = (registerAllPasses(), true);
  (void)registered;
  context_ = std::make_unique<mlir::MLIRContext>(registry_, mlir::MLIRContext::Threading::DISABLED);
  context_->printOpOnDiagnostic(false);
}

llvm::Expected<std::unique_ptr<Oracle>> Oracle::create(const Executable &executable,
                                                       const std::string &entry) {
  std::unique_ptr<Oracle> oracle(new Oracle());
  llvm::StringRef source = cleave_executable_source(executable.get());
  if (source.empty())
    return makeError("the executable does not carry its source program, so nothing can be compared "
                     "with: give --reference");
  std::string text;
  oracle->module_ = collectingError(oracle->context_.get(), text, [&] {
    return mlir::parseSourceString<mlir::ModuleOp>(source, oracle->context_.get());
  });
  if (!oracle->module_)
    return makeError("the source program in the executable can not be read: " + text);
  oracle->function_ = oracle->module_->lookupSymbol<mlir::func::FuncOp>(entry);
  if (!oracle->function_)
    return makeError("the source program in the executable has no function " + entry);
  return oracle;
}

double Oracle::operations() const {
  double total = 0;
  auto count = [](mlir::Value value) {
    return double(llvm::cast<mlir::RankedTensorType>(value.getType()).getNumElements());
  };
  mlir::func::FuncOp function = function_;
  function.walk([&](mlir::Operation *op) {
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op)) {
      double k = 1;
      for (int64_t dim : dot.getLhsContract())
        k *= dot.getLhs().getType().getDimSize(dim);
      total += 2 * count(dot.getResult()) * k;
    } else if (auto attention = llvm::dyn_cast<graph::AttentionOp>(op)) {
      total += 4 * count(attention.getQ()) * attention.getK().getType().getDimSize(1);
    }
  });
  return total;
}

bool Oracle::computesNarrowly() const {
  mlir::func::FuncOp function = function_;
  return function
      .walk([](mlir::Operation *op) {
        for (mlir::Type type : op->getResultTypes())
          if (auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
              tensor && tensor.getElementType().isFloat() && tensor.getElementTypeBitWidth() < 32)
            return mlir::WalkResult::interrupt();
        return mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

static interpreter::TensorRef toInterpreter(const HostTensor &tensor, mlir::RankedTensorType type) {
  interpreter::Tensor result = interpreter::Tensor::ofType(type);
  std::vector<double> values = tensor.numbers();
  for (size_t i = 0; i < values.size(); ++i)
    if (result.isFloat())
      result.floats[i] = values[i];
    else
      result.ints[i] = int64_t(values[i]);
  return std::make_shared<interpreter::Tensor>(std::move(result));
}

llvm::Expected<std::vector<interpreter::TensorRef>>
Oracle::arguments(llvm::ArrayRef<HostTensor> inputs, const std::vector<HostTensor> *states,
                  llvm::StringRef weights, bool needsWeights) {
  llvm::StringMap<const HostTensor *> byName;
  for (const HostTensor &input : inputs)
    byName[input.name] = &input;
  if (states)
    for (const HostTensor &state : *states)
      byName[state.name] = &state;
  std::optional<st::Checkpoint> checkpoint;
  if (needsWeights) {
    auto opened = st::Checkpoint::open(weights);
    if (!opened)
      return opened.takeError();
    checkpoint.emplace(std::move(*opened));
  }
  std::vector<interpreter::TensorRef> arguments;
  mlir::SymbolTable symbols(*module_);
  for (mlir::BlockArgument argument : function_.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
    auto symbol =
        function_.getArgAttrOfType<mlir::FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr);
    auto name = function_.getArgAttrOfType<mlir::StringAttr>(index, CleaveDialect::kInputAttr);
    std::string key = symbol ? symbol.getValue().str()
                      : name ? name.str()
                             : "arg" + std::to_string(index);
    if (const HostTensor *given = byName.lookup(key)) {
      arguments.push_back(toInterpreter(*given, type));
      continue;
    }
    auto state = symbol ? symbols.lookup<StateOp>(symbol.getValue()) : StateOp();
    if (!state || !checkpoint)
      return makeError("the source program takes " + key + ", which the executable does not have");
    if (!state.getCheckpoint()) { // In no file: starts as zeros, in the runtime too.
      arguments.push_back(std::make_shared<interpreter::Tensor>(interpreter::Tensor::ofType(type)));
      continue;
    }
    llvm::StringRef file = *state.getCheckpoint();
    st::TensorRef tensor = checkpoint->find(file);
    if (!tensor)
      return makeError(weights + ": tensor " + file + " is missing");
    auto values = st::readDoubles(tensor);
    if (!values)
      return values.takeError();
    if (int64_t(values->size()) != type.getNumElements())
      return makeError(weights + ": tensor " + file + " has another size than the program's");
    interpreter::Tensor result = interpreter::Tensor::ofType(type);
    result.floats = std::move(*values);
    result.round(); // As the executable holds it.
    arguments.push_back(std::make_shared<interpreter::Tensor>(std::move(result)));
  }
  return arguments;
}

llvm::Expected<std::vector<std::vector<double>>>
Oracle::evaluate(llvm::ArrayRef<HostTensor> inputs, const std::vector<HostTensor> *states,
                 llvm::StringRef weights, llvm::ArrayRef<cleave_tensor_info> infos) {
  auto given = arguments(inputs, states, weights, !states && !infos.empty());
  if (!given)
    return given.takeError();
  std::string text;
  auto results = collectingError(context_.get(), text,
                                 [&] { return interpreter::interpretGlobal(function_, *given); });
  if (mlir::failed(results))
    return makeError("the float64 oracle failed: " + text);
  std::vector<std::vector<double>> outputs;
  for (const interpreter::TensorRef &tensor : *results) {
    std::vector<double> values(tensor->size());
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = tensor->number(i);
    outputs.push_back(std::move(values));
  }
  return outputs;
}

llvm::Expected<Executable> Oracle::compileUnsharded() {
  CompileOptions options;
  options.mesh = "dp=1";
  options.nativeCpu = true;
  CompileResult result;
  std::string text;
  mlir::OwningOpRef<mlir::ModuleOp> module(module_->clone());
  removeShardings(*module);
  mlir::LogicalResult compiled = collectingError(
      context_.get(), text, [&] { return compileModule(std::move(module), options, result); });
  if (mlir::failed(compiled))
    return makeError("the unsharded program does not compile: " + text);
  return Executable::loadMemory(result.executable);
}
