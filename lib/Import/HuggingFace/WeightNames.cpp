// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "WeightNames.h"
#include "cleave/Import/HuggingFace/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

namespace cleave {
namespace {

bool isFloat(safetensors::DType dtype) {
  using safetensors::DType;
  return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16 || dtype == DType::F64;
}

/// Buffers that older files carry beside the parameters: causal masks, rotary frequencies, and the
/// second name of a tied embedding.
bool isDerived(StringRef name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with("rotary_emb.inv_freq") || name == "lm_head.weight";
}

} // namespace

Error matchWeights(const safetensors::Checkpoint &checkpoint, llvm::ArrayRef<Parameter> parameters,
                   StringRef basePrefix, std::vector<std::string> &checkpointNames,
                   std::vector<std::string> &warnings) {
  auto withoutPrefix = [&](StringRef name) {
    name.consume_front(basePrefix);
    return name;
  };
  bool lacksPrefix = llvm::none_of(checkpoint.names(),
                                   [&](StringRef name) { return name.starts_with(basePrefix); }) &&
                     llvm::any_of(parameters, [&](const Parameter &parameter) {
                       return parameter.name != withoutPrefix(parameter.name) &&
                              checkpoint.find(withoutPrefix(parameter.name));
                     });
  llvm::StringSet<> wanted;
  for (const Parameter &parameter : parameters) {
    StringRef name = lacksPrefix ? withoutPrefix(parameter.name) : parameter.name;
    safetensors::TensorRef tensor = checkpoint.find(name);
    if (!tensor)
      return llvm::createStringError(checkpoint.path() + ": tensor " + quoteText(name) +
                                     " is missing: expected it with shape " +
                                     safetensors::formatShape(parameter.shape) +
                                     ", by config.json; use the weights of this very model");
    std::string at = (tensor.file->path() + ": tensor " + quoteText(name) + ": expected ").str();
    if (llvm::ArrayRef(tensor.info->shape) != llvm::ArrayRef(parameter.shape))
      return llvm::createStringError(
          at + "shape " + safetensors::formatShape(parameter.shape) + ", by config.json, found " +
          safetensors::formatShape(tensor.info->shape) + "; use the weights of this very model");
    if (!isFloat(tensor.info->dtype))
      return llvm::createStringError(at + "F32, BF16, F16 or F64, found " +
                                     safetensors::nameOf(tensor.info->dtype) +
                                     "; Cleave does not run quantized weights");
    wanted.insert(name);
    checkpointNames.push_back(name.str());
  }

  int64_t extra = 0;
  StringRef example;
  for (StringRef name : checkpoint.names())
    if (!wanted.contains(name) && !isDerived(name) && extra++ == 0)
      example = name;
  if (extra > 0)
    warnings.push_back((checkpoint.path() + ": the model has no use for " + Twine(extra) +
                        (extra == 1 ? " tensor: " : " tensors, the first of them ") +
                        quoteText(example))
                           .str());
  return Error::success();
}

} // namespace cleave
