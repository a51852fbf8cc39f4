// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random functions: kernels are formed, compiled and run, and the results compared with those of
// the interpreter. CLEAVE_RANDOM_CASES sets how many functions, CLEAVE_RANDOM_SEED where to start.

#include "LoadedKernels.h"
#include "RandomGraph.h"

#include "cleave/Conversion/Passes.h"
#include "cleave/Dialect/Exec/IR/ExecOps.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Interpreter/Interpreter.h"
#include "cleave/Pipelines/Register.h"
#include "cleave/Target/HostKernels/HostKernels.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>

using namespace mlir;

namespace {

using cleave::interpreter::DType;
using cleave::interpreter::Tensor;
using cleave::interpreter::TensorRef;
using cleave::test::LoadedKernels;

constexpr int kFunctionsPerModule = 8;

/// Runs what kernel formation leaves of a function. Tensors between kernels are f32 or smaller.
class Machine {
public:
  Machine(LoadedKernels &kernels, ModuleOp module) : kernels_(kernels), module_(module) {}

  std::vector<std::vector<char>> run(func::FuncOp function, ArrayRef<std::vector<char>> arguments) {
    for (auto [value, bytes] : llvm::zip_equal(function.getArguments(), arguments))
      store(value, bytes);
    std::vector<std::vector<char>> results;
    for (Operation &op : function.front()) {
      if (auto call = dyn_cast<cleave::exec::InvokeOp>(op)) {
        invoke(call);
      } else if (auto dot = dyn_cast<cleave::graph::DotGeneralOp>(op)) {
        multiply(dot);
      } else if (isa<cleave::graph::ReshapeOp>(op)) {
        const char *data = memory_.at(op.getOperand(0).getAsOpaquePointer()).data();
        int64_t size = cleave::exec::byteSize(cast<RankedTensorType>(op.getResult(0).getType()));
        store(op.getResult(0), std::vector<char>(data, data + size));
      } else if (isa<cleave::graph::SliceOp, cleave::graph::TransposeOp>(op)) {
        permute(&op);
      } else if (isa<func::ReturnOp>(op)) {
        for (Value value : op.getOperands()) {
          const char *data = memory_.at(value.getAsOpaquePointer()).data();
          int64_t size = cleave::exec::byteSize(cast<RankedTensorType>(value.getType()));
          results.emplace_back(data, data + size);
        }
      } else {
        ADD_FAILURE() << "left behind: " << op.getName().getStringRef().str();
      }
    }
    return results;
  }

private:
  cleave::test::Buffer<char> &allocate(Value value) {
    int64_t size = cleave::exec::byteSize(cast<RankedTensorType>(value.getType()));
    auto [entry, isNew] = memory_.try_emplace(value.getAsOpaquePointer(), size);
    // What was never written is no number.
    std::fill(entry->second.begin(), entry->second.end(), static_cast<char>(0xff));
    return entry->second;
  }
  void store(Value value, ArrayRef<char> bytes) { llvm::copy(bytes, allocate(value).begin()); }
  float *floats(Value value) {
    return reinterpret_cast<float *>(memory_.at(value.getAsOpaquePointer()).data());
  }

  void invoke(cleave::exec::InvokeOp call) {
    std::vector<void *> buffers;
    for (Value value : call.getOperands())
      buffers.push_back(memory_.at(value.getAsOpaquePointer()).data());
    for (Value value : call.getResults())
      buffers.push_back(allocate(value).data());
    kernels_.call(call.getKernel().str().c_str(), buffers);
  }

  void multiply(cleave::graph::DotGeneralOp dot) {
    auto shape = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
    allocate(dot.getResult());
    float *out = floats(dot.getResult()), *lhs = floats(dot.getLhs()), *rhs = floats(dot.getRhs());
    auto left = cleave::interpreter::stridesOf(shape(dot.getLhs()));
    auto right = cleave::interpreter::stridesOf(shape(dot.getRhs()));
    int64_t k = dot.getLhsContract()[0], j = dot.getRhsContract()[0];
    cleave::interpreter::IndexCounter counter(shape(dot.getResult()));
    int64_t count = cleave::interpreter::elementCount(shape(dot.getResult()));
    for (int64_t n = 0; n < count; ++n, counter.next()) {
      int64_t a = 0, b = 0, next = 0;
      for (int64_t d : dot.getLhsFree())
        a += (*counter)[next++] * left[d];
      for (int64_t d : dot.getRhsFree())
        b += (*counter)[next++] * right[d];
      double sum = 0;
      for (int64_t i = 0; i < shape(dot.getLhs())[k]; ++i)
        sum += static_cast<double>(lhs[a + i * left[k]]) * rhs[b + i * right[j]];
      out[n] = static_cast<float>(sum);
    }
  }

  void permute(Operation *op) {
    auto from = cast<RankedTensorType>(op->getOperand(0).getType());
    auto to = cast<RankedTensorType>(op->getResult(0).getType());
    allocate(op->getResult(0));
    float *source = floats(op->getOperand(0)), *out = floats(op->getResult(0));
    auto strides = cleave::interpreter::stridesOf(from.getShape());
    cleave::interpreter::IndexCounter counter(to.getShape());
    for (int64_t n = 0; n < to.getNumElements(); ++n, counter.next()) {
      int64_t at = 0;
      for (int64_t d = 0; d < to.getRank(); ++d) {
        if (auto slice = dyn_cast<cleave::graph::SliceOp>(op))
          at += (slice.getStarts()[d] + (*counter)[d] * slice.getStrides()[d]) * strides[d];
        else
          at += (*counter)[d] * strides[cast<cleave::graph::TransposeOp>(op).getPerm()[d]];
      }
      out[n] = source[at];
    }
  }

  LoadedKernels &kernels_;
  ModuleOp module_;
  std::map<const void *, cleave::test::Buffer<char>> memory_;
};

std::vector<char> bytesOf(const Tensor &tensor) {
  std::vector<char> bytes;
  auto append = [&](auto value) {
    const char *data = reinterpret_cast<const char *>(&value);
    bytes.insert(bytes.end(), data, data + sizeof(value));
  };
  for (double value : tensor.floats)
    append(static_cast<float>(value));
  for (int64_t value : tensor.ints)
    append(value);
  return bytes;
}

Tensor randomTensor(RankedTensorType type, std::mt19937_64 &random) {
  Tensor tensor = Tensor::ofType(type);
  std::uniform_real_distribution<float> values(-2, 2);
  for (double &value : tensor.floats)
    value = values(random);
  for (int64_t &value : tensor.ints)
    value = static_cast<int64_t>(random() % 9) - 1;
  return tensor;
}

/// One module of random functions; true if all of them agree.
bool checkModule(uint64_t seed, MLIRContext &context) {
  std::mt19937_64 random(seed);
  OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
  struct Case {
    std::string name;
    std::vector<TensorRef> arguments, expected;
  };
  std::vector<Case> cases;
  for (int i = 0; i < kFunctionsPerModule; ++i) {
    Case test;
    test.name = "f" + std::to_string(i);
    func::FuncOp function = cleave::test::makeRandomGraph(
        *module, test.name, 4 + static_cast<int>(random() % 24), random);
    for (Type type : function.getArgumentTypes())
      test.arguments.push_back(
          std::make_shared<Tensor>(randomTensor(cast<RankedTensorType>(type), random)));
    cases.push_back(std::move(test));
  }
  std::string before;
  llvm::raw_string_ostream(before) << *module;
  if (failed(verify(*module))) {
    ADD_FAILURE() << "seed " << seed << ": the generator is wrong\n" << before;
    return false;
  }
  for (Case &test : cases) {
    auto results = cleave::interpreter::interpret(module->lookupSymbol<func::FuncOp>(test.name),
                                                  test.arguments);
    if (failed(results)) {
      ADD_FAILURE() << "seed " << seed << ": not interpreted\n" << before;
      return false;
    }
    test.expected = results->front();
  }

  PassManager manager(&context);
  manager.addPass(cleave::createFormKernels());
  if (failed(manager.run(*module))) {
    ADD_FAILURE() << "seed " << seed << ": no kernels formed\n" << before;
    return false;
  }
  LoadedKernels kernels(*module, "native");
  if (!kernels) {
    ADD_FAILURE() << "seed " << seed << ": " << kernels.error() << "\n" << before;
    return false;
  }
  for (Case &test : cases) {
    auto function = module->lookupSymbol<func::FuncOp>(test.name);
    std::vector<std::vector<char>> arguments;
    for (const TensorRef &argument : test.arguments)
      arguments.push_back(bytesOf(*argument));
    auto results = Machine(kernels, *module).run(function, arguments);
    for (auto [number, expected] : llvm::enumerate(test.expected)) {
      const float *got = reinterpret_cast<const float *>(results[number].data());
      for (int64_t i = 0; i < expected->size(); ++i) {
        double wanted = expected->floats[i];
        if (std::fabs(got[i] - wanted) <= 2e-4 * std::max(1.0, std::fabs(wanted)))
          continue;
        std::string after;
        llvm::raw_string_ostream(after) << *module;
        ADD_FAILURE() << "seed " << seed << ": result " << number << " of " << test.name << " at "
                      << i << " is " << got[i] << ", expected " << wanted << "\n"
                      << before << "\n"
                      << after;
        return false;
      }
    }
  }
  return true;
}

TEST(RandomKernels, AgreeWithTheInterpreter) {
  auto number = [](const char *name, uint64_t otherwise) {
    const char *text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
  };
  uint64_t cases = number("CLEAVE_RANDOM_CASES", 80), seed = number("CLEAVE_RANDOM_SEED", 1);
  std::printf("%llu random functions from seed %llu\n", static_cast<unsigned long long>(cases),
              static_cast<unsigned long long>(seed));
  DialectRegistry registry;
  cleave::registerAllDialects(registry);
  cleave::registerHostKernelDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  for (uint64_t i = 0; i * kFunctionsPerModule < cases; ++i)
    if (!checkModule(seed + i, context))
      break;
}

} // namespace
