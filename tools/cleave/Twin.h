// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A program that is sharded as a given one, of a model small enough for the float64 oracle.
#ifndef CLEAVE_TOOLS_TWIN_H
#define CLEAVE_TOOLS_TWIN_H

#include "Oracle.h"

namespace cleave::tool {

/// Same architecture, same mesh, same strategy, compiled by the same passes. Every size is sharded
/// as in the original over all axes and products of axes that shard something there: the same
/// devices hold full, cut and empty shards. And layer by layer, each layer of the original has as
/// many collectives of every kind over every list of axes as the one that stands for it here.
struct Twin {
  Executable executable;
  std::unique_ptr<Oracle> oracle;
  std::vector<std::pair<std::string, int64_t>> sizes; ///< `layers`, `hidden`, ...
};

struct TwinSearch {
  std::optional<Twin> twin;
  std::string absent; ///< why there is none
};

/// Tries models from the smallest up until one has the original's collectives; none above `limit`
/// operations.
llvm::Expected<TwinSearch> findTwin(const Executable &executable, const Oracle &oracle,
                                    const std::string &entry, double limit);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_TWIN_H
