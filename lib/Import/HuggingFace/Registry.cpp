// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Model.h"
#include "llvm/ADT/StringExtras.h"

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

llvm::Expected<std::unique_ptr<Model>> readModel(ConfigReader &reader) {
  llvm::StringRef key = "model_type";
  std::optional<std::string> modelType = reader.optionalText(key);
  for (const ModelFamily &family : modelFamilies())
    if (modelType && family.modelType == *modelType)
      return family.create(reader);
  reader.fault(key, "one of " + llvm::join(knownModelTypes(), ", "),
               "Cleave has no importer for other models");
  return reader.takeFault();
}

} // namespace cleave
