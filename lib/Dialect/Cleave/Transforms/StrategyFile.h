// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Strategy files: tables from logical axes to mesh axes, and constraints on parameters, as JSON.

#ifndef CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_STRATEGYFILE_H
#define CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_STRATEGYFILE_H

#include "cleave/Layout/Mesh.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Error.h"
#include <map>
#include <vector>

namespace cleave {

/// A mesh axis by name, or a part of it; `size` 0 is the whole axis.
struct NamedAxis {
  std::string name;
  uint32_t preSize = 1;
  uint32_t size = 0;
};
using NamedAxes = std::vector<NamedAxis>;

/// What a strategy file says. Read by `parseStrategyFile`:
///
///   {"weights":     {"mlp": ["tp"], "embed": []},
///    "activations": {"seq": ["tp:(1)2"]},
///    "constraints": {"model.layers.*.mlp.down_proj.weight": [[], ["tp"]]}}
///
/// The tables replace the entries of the same name in the built-in ones. A constraint gives the
/// axes of each dimension of the parameters whose names match a glob pattern.
struct StrategyFile {
  using Table = std::map<std::string, NamedAxes>;
  struct Constraint {
    std::string pattern;
    std::vector<NamedAxes> dims;
    /// Without wildcards: stands for one parameter, and goes before patterns.
    bool isExact = false;

    bool matches(llvm::StringRef name) const;
  };

  Table weights, activations;
  std::vector<Constraint> constraints;

  /// Every axis that the file names.
  void forEachAxis(llvm::function_ref<void(const NamedAxis &)> visit) const;
};

/// The error is one line without the file's name.
llvm::Expected<StrategyFile> parseStrategyFile(llvm::StringRef text);

} // namespace cleave

#endif // CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_STRATEGYFILE_H
