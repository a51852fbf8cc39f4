// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What an importer of one architecture gives, and the registry of importers.
#ifndef CLEAVE_LIB_IMPORT_HUGGINGFACE_MODEL_H
#define CLEAVE_LIB_IMPORT_HUGGINGFACE_MODEL_H

#include "cleave/Import/HuggingFace/Config.h"
#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "cleave/Import/HuggingFace/ShrinkModel.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>

namespace cleave {

class GraphWriter;

struct Parameter {
  std::string name;                    ///< in checkpoints, and of the state
  llvm::SmallVector<int64_t, 4> shape; ///< in checkpoints
  llvm::SmallVector<int64_t, 4> view;  ///< in the graph: products of logical dimensions apart
  llvm::SmallVector<llvm::StringRef, 4> logical; ///< one name a dimension of `view`
};

class ParameterList {
public:
  /// Without a view, the graph sees the checkpoint's shape.
  void add(const llvm::Twine &name, Parameter parameter) {
    parameter.name = name.str();
    if (parameter.view.empty())
      parameter.view = parameter.shape;
    parameters.push_back(std::move(parameter));
  }
  std::vector<Parameter> take() { return std::move(parameters); }

private:
  std::vector<Parameter> parameters;
};

/// A configured model.
class Model {
public:
  virtual ~Model() = default;

  /// In the order of transformers' state_dict. A tied parameter is there once.
  virtual std::vector<Parameter> parameters() const = 0;
  /// The names' prefix that files lack when they were saved from the model without its head.
  virtual llvm::StringRef basePrefix() const = 0;
  /// Sizes that go with batch x sequence, and heads; for the check that tensors stay addressable.
  virtual int64_t widestFeature() const = 0;
  virtual int64_t headCount() const = 0;
  /// A limit on the sequence length, or nothing: an error text beyond it.
  virtual std::string checkSequence(int64_t sequence) const = 0;
  /// A warning for a sequence length that the model was not made for, or nothing.
  virtual std::string warnAboutSequence(int64_t sequence) const = 0;
  /// Chances to drop elements in training, by their keys in config.json.
  virtual llvm::SmallVector<std::pair<llvm::StringRef, double>> dropoutRates() const = 0;
  virtual ModelSizes sizes() const = 0;
  /// Whether heads are as wide as the hidden size together, by definition.
  virtual bool headsFillHidden() const { return false; }
  /// Sets the keys of a configuration of this model that give it other sizes.
  virtual void writeSizes(nlohmann::json &config, const ModelSizes &sizes) const = 0;
  /// Writes the ops from token ids [batch, sequence] to f32 logits [batch, sequence, vocabulary].
  virtual mlir::Value buildLogits(GraphWriter &graph, mlir::Value inputIds) const = 0;
};

/// Reads the rest of a configuration whose model_type is known.
using ModelFactory = llvm::Expected<std::unique_ptr<Model>> (*)(ConfigReader &reader);

struct ModelFamily {
  llvm::StringRef modelType;
  ModelFactory create;
};

/// The model that a configuration describes.
llvm::Expected<std::unique_ptr<Model>> readModel(ConfigReader &reader);

/// Sorted by model_type.
llvm::ArrayRef<ModelFamily> modelFamilies();

llvm::Expected<std::unique_ptr<Model>> createLlama(ConfigReader &reader);
llvm::Expected<std::unique_ptr<Model>> createMistral(ConfigReader &reader);
llvm::Expected<std::unique_ptr<Model>> createQwen2(ConfigReader &reader);
llvm::Expected<std::unique_ptr<Model>> createQwen3(ConfigReader &reader);
llvm::Expected<std::unique_ptr<Model>> createGpt2(ConfigReader &reader);

} // namespace cleave

#endif // CLEAVE_LIB_IMPORT_HUGGINGFACE_MODEL_H
