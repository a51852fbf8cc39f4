// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A smaller model that is sharded as a given one is.
#ifndef CLEAVE_IMPORT_HUGGINGFACE_SHRINKMODEL_H
#define CLEAVE_IMPORT_HUGGINGFACE_SHRINKMODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace cleave {

/// The sizes of a model, whatever its configuration calls them.
struct ModelSizes {
  int64_t vocabulary = 0, hidden = 0, mlp = 0;
  int64_t kvHeads = 0, groups = 0; ///< groups: query heads of one key-value head
  int64_t headDim = 0;
  int64_t positions = 0; ///< rows of a table of positions; 0: there is none
  /// One a layer: how far it looks back; 0 is no limit.
  llvm::SmallVector<int64_t> windows;

  int64_t layers() const { return windows.size(); }
  bool operator==(const ModelSizes &) const = default;
};

struct ShrinkRequest {
  int64_t batch = 1; ///< rows of a microbatch
  int64_t sequence = 1;
  /// Over how many devices a dimension may be sharded; closed under divisors.
  llvm::ArrayRef<int64_t> counts;
  /// 0: as small as the classes allow. Else widths are divided by no more than this, and the ratio
  /// of tokens to widths stays about the same, which decides what is cheap to communicate.
  int64_t divisor = 0;
  bool keepLayers = false;
};

struct ShrunkModel {
  std::string config; ///< the text of its config.json
  ModelSizes sizes;
  int64_t batch = 1, sequence = 1;
  /// One a layer of the model: the layer here that stands for it. The first and the last stand for
  /// themselves.
  llvm::SmallVector<int64_t> layerOf;
};

/// Makes a model of the same architecture in which every size has the classes (ShardClass) of the
/// given model's over all `counts`, fewer layers of the same kinds, and the same order among
/// widths. `config` is the text of a config.json, `path` what errors call it.
llvm::Expected<ShrunkModel> shrinkModel(llvm::StringRef config, llvm::StringRef path,
                                        const ShrinkRequest &request);

/// The sizes of the model that a configuration describes.
llvm::Expected<ModelSizes> modelSizes(llvm::StringRef config, llvm::StringRef path);

} // namespace cleave

#endif // CLEAVE_IMPORT_HUGGINGFACE_SHRINKMODEL_H
