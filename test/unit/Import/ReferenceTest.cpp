// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Imported models, run by the f64 interpreter, against what Hugging Face transformers computes.

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "cleave/Import/HuggingFace/Safetensors.h"
#include "cleave/Interpreter/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace cleave;
using interpreter::Tensor;

namespace {

/// The rounding of F32 logits in the file, and of sums in another order.
constexpr double kLogitsLimit = 5e-7;
constexpr double kLossLimit = 1e-12;

/// A case's folder, and the file there to take the configuration from; the folder itself if empty.
using Case = std::pair<const char *, const char *>;

class Reference : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    folder = std::string(CLEAVE_REFERENCE_DIR "/") + GetParam().first;
    reference = open(folder + "/reference.safetensors");
    weights = open(folder);
  }

  static safetensors::Checkpoint open(llvm::StringRef path) {
    llvm::Expected<safetensors::Checkpoint> checkpoint = safetensors::Checkpoint::open(path);
    if (checkpoint)
      return std::move(*checkpoint);
    ADD_FAILURE() << llvm::toString(checkpoint.takeError());
    return {};
  }
  template <typename T> static std::vector<T> take(llvm::Expected<std::vector<T>> values) {
    if (values)
      return std::move(*values);
    ADD_FAILURE() << llvm::toString(values.takeError());
    return {};
  }

  /// The arguments of the entry: parameters from the checkpoint, inputs from the reference.
  std::vector<interpreter::TensorRef> argumentsOf(mlir::func::FuncOp entry) {
    std::vector<interpreter::TensorRef> arguments;
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      auto type = mlir::cast<mlir::RankedTensorType>(entry.getArgument(i).getType());
      auto dtype = *interpreter::dtypeOf(type.getElementType());
      if (auto input = entry.getArgAttrOfType<mlir::StringAttr>(i, CleaveDialect::kInputAttr)) {
        auto values = take(safetensors::readIntegers(reference.find(input.getValue())));
        arguments.push_back(
            std::make_shared<Tensor>(Tensor::ofInts(dtype, type.getShape(), std::move(values))));
        continue;
      }
      auto symbol = entry.getArgAttrOfType<mlir::FlatSymbolRefAttr>(i, CleaveDialect::kStateAttr);
      auto state = mlir::SymbolTable::lookupNearestSymbolFrom<StateOp>(entry, symbol);
      auto values = take(safetensors::readDoubles(weights.find(*state.getCheckpoint())));
      arguments.push_back(
          std::make_shared<Tensor>(Tensor::ofFloats(dtype, type.getShape(), std::move(values))));
    }
    return arguments;
  }

  std::string folder;
  safetensors::Checkpoint reference, weights;
};

double largestDifference(llvm::ArrayRef<double> found, llvm::ArrayRef<double> expected) {
  EXPECT_EQ(found.size(), expected.size());
  double largest = 0;
  for (auto [a, b] : llvm::zip(found, expected)) {
    EXPECT_TRUE(std::isfinite(a));
    largest = std::max(largest, std::abs(a - b));
  }
  return largest;
}

TEST_P(Reference, LogitsAndLoss) {
  auto ids = reference.find("input_ids");
  ASSERT_TRUE(bool(ids));
  mlir::MLIRContext context;
  std::string path = *GetParam().second ? folder + "/" + GetParam().second : folder;
  llvm::Expected<ImportedModel> model = importHuggingFace(
      path, {.batch = ids.info->shape[0], .sequence = ids.info->shape[1]}, &context);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  auto entry = *model->module->getOps<mlir::func::FuncOp>().begin();
  auto results = interpreter::interpretGlobal(entry, argumentsOf(entry));
  ASSERT_TRUE(succeeded(results));
  ASSERT_EQ(results->size(), 2u);

  double logits = largestDifference((*results)[0]->floats,
                                    take(safetensors::readDoubles(reference.find("logits"))));
  double loss = largestDifference((*results)[1]->floats,
                                  take(safetensors::readDoubles(reference.find("loss"))));
  RecordProperty("logits", std::to_string(logits));
  EXPECT_LE(logits, kLogitsLimit);
  EXPECT_LE(loss, kLossLimit);
  std::printf("logits differ by %.2g, loss by %.2g\n", logits, loss);
}

INSTANTIATE_TEST_SUITE_P(Decoders, Reference,
                         testing::Values(Case{"llama-gqa", ""}, Case{"llama-gqa", "config.v4.json"},
                                         Case{"llama-mha-tied", ""},
                                         Case{"llama-mha-tied", "config.v4.json"}, Case{"gpt2", ""},
                                         Case{"qwen2", ""}, Case{"qwen3", ""}),
                         [](const testing::TestParamInfo<Case> &info) {
                           std::string name = info.param.first;
                           if (*info.param.second)
                             name += "_v4";
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
