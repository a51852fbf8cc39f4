// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Imported models against Hugging Face's numbers, and partitioned models against the models
// themselves, in the interpreter.

#include "ProgramTest.h"
#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "cleave/Interpreter/Arguments.h"
#include "cleave/Interpreter/Interpreter.h"
#include "cleave/Layout/ParseMesh.h"
#include "cleave/Pipelines/Phases.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

using namespace cleave;
using namespace cleave::interpreter;
using mlir::func::FuncOp;

namespace {
std::string folderOf(llvm::StringRef model) { return CLEAVE_REFERENCE_DIR "/" + model.str(); }

class ReferenceModels : public test::ProgramTest<const char *> {
protected:
  void SetUp() override {
    test::ProgramTest<const char *>::SetUp();
    for (const char *file : {"/model.safetensors", "/reference.safetensors"}) {
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

  ImportedModel import() {
    llvm::Expected<ImportedModel> model =
        importHuggingFace(folderOf(GetParam()), {batch, sequence}, &context);
    if (!model) {
      ADD_FAILURE() << llvm::toString(model.takeError());
      return {};
    }
    return std::move(*model);
  }
  static FuncOp entryOf(mlir::ModuleOp module) { return *module.getOps<FuncOp>().begin(); }

  std::vector<TensorRef> run(FuncOp function, const Options &options = {}) {
    mlir::FailureOr<std::vector<TensorRef>> arguments = loadArguments(function, files);
    if (failed(arguments))
      return {};
    mlir::FailureOr<std::vector<TensorRef>> results =
        interpretGlobal(function, *arguments, options);
    return failed(results) ? std::vector<TensorRef>() : *results;
  }

  llvm::SmallVector<safetensors::Checkpoint, 2> files;
  int64_t batch = 0, sequence = 0;
};

TEST_P(ReferenceModels, ComputeWhatHuggingFaceComputes) {
  ImportedModel model = import();
  FuncOp function = entryOf(*model.module);
  std::vector<TensorRef> results = run(function);
  ASSERT_EQ(results.size(), 2u);
  // The file rounds logits to f32 and keeps the loss in f64.
  for (auto [i, name, tolerance] : {std::tuple(0, "logits", 5e-7), std::tuple(1, "loss", 1e-10)}) {
    ASSERT_EQ(
        function.getResultAttrOfType<mlir::StringAttr>(i, CleaveDialect::kOutputAttr).getValue(),
        name);
    safetensors::TensorRef expected = files[1].find(name);
    ASSERT_TRUE(bool(expected));
    llvm::Expected<std::vector<double>> values = safetensors::readDoubles(expected);
    ASSERT_TRUE(bool(values)) << llvm::toString(values.takeError());
    Difference difference = compare(
        *results[i], Tensor::ofFloats(results[i]->dtype, results[i]->shape, std::move(*values)));
    EXPECT_LE(difference.absolute, tolerance) << name << " at element " << difference.index;
  }
}

TEST_P(ReferenceModels, PartitionedComputeTheSame) {
  ImportedModel global = import();
  std::vector<TensorRef> expected = run(entryOf(*global.module));
  ASSERT_EQ(expected.size(), 2u);
  for (auto [text, sequenceParallel] :
       {std::pair("tp=2", false), std::pair("tp=3", false), std::pair("tp=8", false),
        std::pair("dp=3", false), std::pair("dp=2,tp=4", false), std::pair("dp=2,tp=4", true),
        std::pair("fsdp=8", false), std::pair("dp=2,fsdp=4", false)}) {
    SCOPED_TRACE(std::string(text) + (sequenceParallel ? " sequence parallel" : ""));
    ImportedModel model = import();
    std::string error;
    std::optional<Mesh> mesh = parseMesh(text, error);
    ASSERT_TRUE(mesh) << error;
    mlir::OpBuilder builder(&context);
    builder.setInsertionPointToStart(model.module->getBody());
    MeshOp::create(builder, model.module->getLoc(), "mesh", MeshAttr::get(&context, *mesh));
    mlir::PassManager passes(&context);
    PhaseOptions options;
    options.sequenceParallel = sequenceParallel;
    options.last = Phase::Overlap;
    ASSERT_TRUE(succeeded(buildPhases(passes, options)));
    ASSERT_TRUE(succeeded(passes.run(*model.module)));
    std::vector<TensorRef> results = run(entryOf(*model.module));
    ASSERT_EQ(results.size(), 2u);
    for (auto [i, name] : {std::pair(0, "logits"), std::pair(1, "loss")}) {
      Difference difference = compare(*results[i], *expected[i]);
      ASSERT_TRUE(difference.sameType);
      EXPECT_LE(difference.relative, 1e-12) << name << " at element " << difference.index;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceModels,
                         testing::Values("llama-gqa", "llama-mha-tied", "llama-linear-gelu",
                                         "llama-llama3-biases", "mistral-window", "gpt2",
                                         "gpt2-untied-relu", "qwen2", "qwen2-windows", "qwen3",
                                         "qwen3-layer-types"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });
} // namespace
