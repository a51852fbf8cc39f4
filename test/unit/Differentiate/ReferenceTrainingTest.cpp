// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Gradients and training steps of imported models, in f64, against Hugging Face's numbers; and
// partitioned gradients against the models' own.

#include "ProgramTest.h"
#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "cleave/Interpreter/Arguments.h"
#include "cleave/Interpreter/Interpreter.h"
#include "cleave/Layout/ParseMesh.h"
#include "cleave/Pipelines/Phases.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "gtest/gtest.h"
#include <map>

using namespace cleave;
using namespace cleave::interpreter;
using mlir::func::FuncOp;

namespace {
std::string folderOf(llvm::StringRef model) { return CLEAVE_REFERENCE_DIR "/" + model.str(); }

/// Tensors by the names of states, inputs and outputs.
using Tensors = std::map<std::string, TensorRef>;

class ReferenceTraining : public test::ProgramTest<const char *> {
protected:
  void SetUp() override {
    test::ProgramTest<const char *>::SetUp();
    for (const char *file :
         {"/model.safetensors", "/reference.safetensors", "/training.safetensors"}) {
      llvm::Expected<safetensors::Checkpoint> opened =
          safetensors::Checkpoint::open(folderOf(GetParam()) + file);
      ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
      files.push_back(std::move(*opened));
    }
    safetensors::TensorRef ids = files[1].find("input_ids");
    ASSERT_TRUE(bool(ids));
    batch = ids.info->shape[0];
    sequence = ids.info->shape[1];
  }

  mlir::OwningOpRef<mlir::ModuleOp> import(int64_t rows) {
    llvm::Expected<ImportedModel> model =
        importHuggingFace(folderOf(GetParam()), {rows, sequence}, &context);
    if (!model) {
      ADD_FAILURE() << llvm::toString(model.takeError());
      return {};
    }
    return std::move(model->module);
  }

  bool runPasses(mlir::ModuleOp module, llvm::StringRef pipeline) {
    mlir::PassManager passes(&context);
    return succeeded(mlir::parsePassPipeline(pipeline, passes)) && succeeded(passes.run(module));
  }

  std::vector<double> doubles(llvm::StringRef name) {
    safetensors::TensorRef found = files[2].find(name);
    if (!found) {
      ADD_FAILURE() << "no tensor " << name.str();
      return {};
    }
    llvm::Expected<std::vector<double>> values = safetensors::readDoubles(found);
    EXPECT_TRUE(bool(values));
    return values ? *values : std::vector<double>();
  }

  /// The rows [first, first + rows) of batch `index` of the training data.
  TensorRef trainingRows(llvm::StringRef name, int64_t index, int64_t first, int64_t rows) {
    llvm::Expected<std::vector<int64_t>> all = safetensors::readIntegers(files[2].find(name));
    EXPECT_TRUE(bool(all));
    auto begin = all->begin() + (index * batch + first) * sequence;
    return std::make_shared<Tensor>(
        Tensor::ofInts(DType::I64, {rows, sequence}, {begin, begin + rows * sequence}));
  }

  /// Runs a function on arguments by name; results are stored by name.
  void run(FuncOp function, Tensors &tensors) {
    std::vector<TensorRef> arguments;
    auto nameOf = [](mlir::DictionaryAttr attributes, llvm::StringRef other) {
      if (auto state = attributes.getAs<mlir::FlatSymbolRefAttr>(CleaveDialect::kStateAttr))
        return state.getValue().str();
      return attributes.getAs<mlir::StringAttr>(other).str();
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      std::string name = nameOf(function.getArgAttrDict(i), CleaveDialect::kInputAttr);
      ASSERT_TRUE(tensors.count(name)) << name;
      arguments.push_back(tensors[name]);
    }
    mlir::FailureOr<std::vector<TensorRef>> results = interpretGlobal(function, arguments);
    ASSERT_TRUE(succeeded(results));
    for (auto [i, result] : llvm::enumerate(*results))
      tensors[nameOf(function.getResultAttrDict(i), CleaveDialect::kOutputAttr)] = result;
  }

  /// Weights from the checkpoint, zeros for what training keeps.
  Tensors initialStates(mlir::ModuleOp module) {
    Tensors tensors;
    for (StateOp state : module.getOps<StateOp>()) {
      auto type = mlir::cast<mlir::RankedTensorType>(state.getType());
      auto tensor = std::make_shared<Tensor>(Tensor::ofType(type));
      if (state.getKind() == "weight") {
        llvm::Expected<std::vector<double>> values =
            safetensors::readDoubles(files[0].find(*state.getCheckpoint()));
        EXPECT_TRUE(bool(values));
        tensor->floats = std::move(*values);
      }
      tensors[state.getSymName().str()] = tensor;
    }
    auto number = [&](const char *name, double value) {
      tensors[name] = std::make_shared<Tensor>(Tensor::ofFloats(DType::F32, {}, {value}));
    };
    number("learning_rate", 1e-3);
    number("beta1", 0.9);
    number("beta2", 0.95);
    number("eps", 1e-8);
    number("weight_decay", 0.1);
    number("max_grad_norm", 1.0);
    return tensors;
  }

  llvm::SmallVector<safetensors::Checkpoint, 3> files;
  int64_t batch = 0, sequence = 0;
};

TEST_P(ReferenceTraining, GradientsAreHuggingFaces) {
  mlir::OwningOpRef<mlir::ModuleOp> module = import(batch);
  ASSERT_TRUE(runPasses(*module, "cleave-differentiate{form=gradients}"));
  auto function = module->lookupSymbol<FuncOp>("gradients");
  ASSERT_TRUE(bool(function));
  mlir::FailureOr<std::vector<TensorRef>> arguments = loadArguments(function, files);
  ASSERT_TRUE(succeeded(arguments));
  mlir::FailureOr<std::vector<TensorRef>> results = interpretGlobal(function, *arguments);
  ASSERT_TRUE(succeeded(results));
  size_t parameters = 0;
  for (auto [i, result] : llvm::enumerate(*results)) {
    auto name = function.getResultAttrOfType<mlir::StringAttr>(i, CleaveDialect::kOutputAttr);
    if (!name.getValue().starts_with("grad."))
      continue;
    ++parameters;
    std::vector<double> expected = doubles(name.getValue());
    ASSERT_EQ(expected.size(), result->floats.size()) << name.str();
    double largest = 0, worst = 0;
    for (auto [found, wanted] : llvm::zip(result->floats, expected)) {
      largest = std::max(largest, std::abs(wanted));
      worst = std::max(worst, std::abs(found - wanted));
    }
    // The file rounds to f32.
    EXPECT_LE(worst, 1e-7 * std::max(largest, 1e-9)) << name.str();
  }
  EXPECT_EQ(parameters, llvm::count_if(files[2].names(), [](llvm::StringRef name) {
              return name.starts_with("grad.");
            }));
}

TEST_P(ReferenceTraining, FiveStepsAreHuggingFaces) {
  for (int64_t microbatches : {int64_t(1), batch}) {
    SCOPED_TRACE(std::to_string(microbatches) + " microbatches");
    int64_t rows = batch / microbatches;
    mlir::OwningOpRef<mlir::ModuleOp> module = import(rows);
    ASSERT_TRUE(runPasses(
        *module, "cleave-differentiate{microbatches=" + std::to_string(microbatches) + "}"));
    auto prologue = module->lookupSymbol<FuncOp>("prologue");
    auto micro = module->lookupSymbol<FuncOp>("micro");
    auto update = module->lookupSymbol<FuncOp>("update");
    ASSERT_TRUE(prologue && micro && update);
    Tensors tensors = initialStates(*module);
    std::vector<double> losses = doubles("train.losses"), norms = doubles("train.grad_norms");
    for (int64_t step = 0; step < int64_t(losses.size()); ++step) {
      auto labels = std::make_shared<Tensor>(*trainingRows("train.labels", step, 0, batch));
      if (microbatches > 1)
        labels->shape = {microbatches, rows, sequence};
      tensors["labels"] = labels;
      run(prologue, tensors);
      for (int64_t i = 0; i < microbatches; ++i) {
        tensors["input_ids"] = trainingRows("train.input_ids", step, i * rows, rows);
        tensors["labels"] = trainingRows("train.labels", step, i * rows, rows);
        run(micro, tensors);
      }
      run(update, tensors);
      if (HasFatalFailure())
        return;
      // Constants of gelu are f32 in an f32 program, 1e-9 off.
      EXPECT_NEAR(tensors["loss"]->floats[0], losses[step], 1e-9) << "step " << step;
      EXPECT_NEAR(tensors["grad_norm"]->floats[0] / norms[step], 1.0, 1e-8) << "step " << step;
    }
    EXPECT_EQ(tensors["step.number"]->ints[0], int64_t(losses.size()));
  }
}

TEST_P(ReferenceTraining, PartitionedGradientsAreTheSame) {
  mlir::OwningOpRef<mlir::ModuleOp> global = import(batch);
  ASSERT_TRUE(runPasses(*global, "cleave-differentiate{form=gradients}"));
  auto whole = global->lookupSymbol<FuncOp>("gradients");
  mlir::FailureOr<std::vector<TensorRef>> arguments = loadArguments(whole, files);
  ASSERT_TRUE(succeeded(arguments));
  mlir::FailureOr<std::vector<TensorRef>> expected = interpretGlobal(whole, *arguments);
  ASSERT_TRUE(succeeded(expected));
  for (auto [text, sequenceParallel] :
       {std::pair("tp=3", false), std::pair("tp=8", false), std::pair("dp=3", false),
        std::pair("dp=2,tp=4", false), std::pair("dp=2,tp=4", true),
        std::pair("dp=2,fsdp=4", false)}) {
    SCOPED_TRACE(std::string(text) + (sequenceParallel ? " sequence parallel" : ""));
    mlir::OwningOpRef<mlir::ModuleOp> module = import(batch);
    ASSERT_TRUE(runPasses(*module, "cleave-differentiate{form=gradients}"));
    std::string error;
    std::optional<Mesh> mesh = parseMesh(text, error);
    ASSERT_TRUE(mesh) << error;
    mlir::OpBuilder builder(&context);
    builder.setInsertionPointToStart(module->getBody());
    MeshOp::create(builder, module->getLoc(), "mesh", MeshAttr::get(&context, *mesh));
    mlir::PassManager passes(&context);
    PhaseOptions options;
    options.sequenceParallel = sequenceParallel;
    options.last = Phase::Overlap;
    ASSERT_TRUE(succeeded(buildPhases(passes, options)));
    ASSERT_TRUE(succeeded(passes.run(*module)));
    auto function = module->lookupSymbol<FuncOp>("gradients");
    mlir::FailureOr<std::vector<TensorRef>> results = interpretGlobal(function, *arguments);
    ASSERT_TRUE(succeeded(results));
    for (auto [i, result, wanted] : llvm::enumerate(*results, *expected)) {
      Difference difference = compare(*result, *wanted);
      ASSERT_TRUE(difference.sameType);
      EXPECT_LE(difference.relative, 1e-12)
          << function.getResultAttrOfType<mlir::StringAttr>(i, CleaveDialect::kOutputAttr).str();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceTraining,
                         testing::Values("llama-gqa", "llama-mha-tied", "gpt2", "qwen2", "qwen3"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });
} // namespace
