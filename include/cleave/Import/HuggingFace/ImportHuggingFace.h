// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The front door for Hugging Face models.
#ifndef CLEAVE_IMPORT_HUGGINGFACE_IMPORTHUGGINGFACE_H
#define CLEAVE_IMPORT_HUGGINGFACE_IMPORTHUGGINGFACE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace cleave {

/// The type of parameters and activations. Norms, softmax and loss compute in f32, and logits are
/// given in f32, whichever it is.
enum class ModelElementType : uint8_t { F32, BF16, F16 };

/// What is dropped in training, where transformers has dropout in the model.
struct DropoutOption {
  enum class Kind : uint8_t {
    Off,    ///< nothing
    Config, ///< at the rates of config.json
    Rate    ///< at one rate
  } kind = Kind::Off;
  double rate = 0;
};

struct HuggingFaceOptions {
  int64_t batch = 1;
  int64_t sequence = 1;
  ModelElementType elementType = ModelElementType::F32;
  /// `forward`: input_ids, labels (I64 [batch, sequence]) -> logits (f32 [batch, sequence,
  /// vocabulary]), loss (f32).
  std::string entry = "forward";
  /// Written as ops without a seed, which do nothing before a training step is made of the entry.
  DropoutOption dropout = {};
  /// The text of a config.json to be taken instead of the path's; no weight file is looked at then.
  std::string config = {};
};

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string config; ///< the text of its config.json
  /// One line each, to be shown to the user.
  std::vector<std::string> warnings;
  /// The rates above 0 that config.json has for training, for people: `attn_pdrop 0.1, ...`.
  std::string dropoutOfConfig;
};

/// Imports a model by its folder, or by its config.json alone. No weight is read. If the folder has
/// safetensors, their headers must hold every parameter with the shape that the configuration
/// gives.
///
/// The module has a `cleave.state` for every parameter, in the order of transformers' state_dict,
/// and a function with `cleave.entry`, whose arguments are the parameters in that order and then
/// the inputs. Every op has a NameLoc with its place in the model, and ops of a layer carry
/// `cleave.block` and `cleave.instance`.
///
/// The error is one line: file, key or tensor, what was expected, what was found, what to do.
llvm::Expected<ImportedModel> importHuggingFace(llvm::StringRef path,
                                                const HuggingFaceOptions &options,
                                                mlir::MLIRContext *context);

/// The values of `model_type` that importHuggingFace knows, sorted.
std::vector<std::string> knownModelTypes();

} // namespace cleave

#endif // CLEAVE_IMPORT_HUGGINGFACE_IMPORTHUGGINGFACE_H
