// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Checks the headers of a model's weight files against its configuration.
#ifndef CLEAVE_LIB_IMPORT_HUGGINGFACE_WEIGHTNAMES_H
#define CLEAVE_LIB_IMPORT_HUGGINGFACE_WEIGHTNAMES_H

#include "Model.h"
#include "cleave/Import/HuggingFace/Safetensors.h"

namespace cleave {

/// Every parameter must be in the checkpoint with its shape and a float type. `checkpointNames`
/// gets the name of each there: without `basePrefix` when the files were saved without it. Tensors
/// that no parameter stands for become a warning.
llvm::Error matchWeights(const safetensors::Checkpoint &checkpoint,
                         llvm::ArrayRef<Parameter> parameters, llvm::StringRef basePrefix,
                         std::vector<std::string> &checkpointNames,
                         std::vector<std::string> &warnings);

} // namespace cleave

#endif // CLEAVE_LIB_IMPORT_HUGGINGFACE_WEIGHTNAMES_H
