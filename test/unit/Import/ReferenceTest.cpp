// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Imported models, run by the f64 interpreter, against what Hugging Face transformers computes.

#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "cleave/Import/HuggingFace/Safetensors.h"
#include "cleave/Interpreter/Arguments.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace cleave;

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
    files.push_back(open(folder));
    files.push_back(open(folder + "/reference.safetensors"));
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

  std::string folder;
  llvm::SmallVector<safetensors::Checkpoint, 2> files; ///< weights, reference
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
  const safetensors::Checkpoint &reference = files[1];
  auto ids = reference.find("input_ids");
  ASSERT_TRUE(bool(ids));
  mlir::MLIRContext context;
  std::string path = *GetParam().second ? folder + "/" + GetParam().second : folder;
  llvm::Expected<ImportedModel> model = importHuggingFace(
      path, {.batch = ids.info->shape[0], .sequence = ids.info->shape[1]}, &context);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  auto entry = *model->module->getOps<mlir::func::FuncOp>().begin();
  auto arguments = interpreter::loadArguments(entry, files);
  ASSERT_TRUE(succeeded(arguments));
  auto results = interpreter::interpretGlobal(entry, *arguments);
  ASSERT_TRUE(succeeded(results));
  ASSERT_EQ(results->size(), 2u);

  double logits = largestDifference((*results)[0]->floats,
                                    take(safetensors::readDoubles(reference.find("logits"))));
  double loss = largestDifference((*results)[1]->floats,
                                  take(safetensors::readDoubles(reference.find("loss"))));
  EXPECT_LE(logits, kLogitsLimit);
  EXPECT_LE(loss, kLossLimit);
}

const Case kCases[] = {
    {"llama-gqa", ""},
    {"llama-gqa", "config.v4.json"},
    {"llama-mha-tied", ""},
    {"llama-mha-tied", "config.v4.json"},
    {"gpt2", ""},
    {"qwen2", ""},
    {"qwen3", ""},
    {"mistral-window", ""},
    {"mistral-window", "config.v4.json"},
    {"qwen2-windows", ""},
    {"qwen2-windows", "config.v4.json"},
    {"qwen3-layer-types", ""},
    {"qwen3-layer-types", "config.v4.json"},
    {"llama-llama3-biases", ""},
    {"llama-llama3-biases", "config.v4.json"},
    {"llama-linear-gelu", ""},
    {"llama-linear-gelu", "config.v4.json"},
    {"gpt2-untied-relu", ""},
};

INSTANTIATE_TEST_SUITE_P(Decoders, Reference, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case> &info) {
                           std::string name = info.param.first;
                           if (*info.param.second)
                             name += "_v4";
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
