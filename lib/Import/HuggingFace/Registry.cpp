// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Model.h"

namespace cleave {

llvm::ArrayRef<ModelFamily> modelFamilies() {
  static constexpr ModelFamily kFamilies[] = {{"gpt2", createGpt2},
                                              {"llama", createLlama},
                                              {"mistral", createMistral},
                                              {"qwen2", createQwen2},
                                              {"qwen3", createQwen3}};
  return kFamilies;
}

std::vector<std::string> knownModelTypes() {
  std::vector<std::string> names;
  for (const ModelFamily &family : modelFamilies())
    names.push_back(family.modelType.str());
  return names;
}

} // namespace cleave
