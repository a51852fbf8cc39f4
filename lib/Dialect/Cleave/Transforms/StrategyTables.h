// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A strategy for one mesh: which mesh axes shard a dimension, by its logical name.

#ifndef CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_STRATEGYTABLES_H
#define CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_STRATEGYTABLES_H

#include "StrategyFile.h"
#include "cleave/Layout/Layout.h"
#include "llvm/ADT/SmallBitVector.h"
#include <set>

namespace cleave {

/// Which values a table is for.
enum class StrategyTable : uint8_t { Weights, Activations, Inputs };

/// Logical names and sizes of a tensor's dimensions.
struct NamedShape {
  llvm::ArrayRef<llvm::StringRef> names;
  llvm::ArrayRef<int64_t> sizes;
};

/// How the tensor axis is dealt between KV heads and the query heads of each.
struct HeadSplit {
  int64_t kvShards; ///< major: shards of "kv_heads"
  int64_t groupShards;
};

/// The split of `shards` (the product stays) that leaves a device the fewest query heads, then the
/// fewest KV heads, then has the fewest KV shards. Without groups KV heads get all.
HeadSplit splitHeads(int64_t kvHeads, int64_t groups, int64_t shards);

class StrategyTables {
public:
  /// The roles of mesh axes are told by their names: `dp` (batch), `fsdp` (batch and parameters),
  /// `tp` (tensors). An axis without a role must be named by the file or be among `given`, the axes
  /// over which the program shards something by itself. The error is one line.
  /// `zero` is the stage of ZeRO over the dp axis: 1 and 2 store optimizer states sharded over it,
  /// 3 parameters too, as fsdp always does.
  static llvm::Expected<StrategyTables> create(const Mesh &mesh, StrategyFile file,
                                               bool sequenceParallel, int zero,
                                               llvm::SmallBitVector given);

  /// Learns the sizes of heads from a tensor that has both "kv_heads" and "q_groups".
  void noteHeads(const NamedShape &shape);

  /// The layout of a value. Dimensions of one element are never sharded; an axis is used by the
  /// first dimension that asks for it.
  Layout layoutOf(StrategyTable table, const NamedShape &shape);
  /// The layout in which a parameter is computed with: by a constraint that names it, or by table.
  llvm::Expected<Layout> parameterLayout(llvm::StringRef name, const NamedShape &shape);
  /// Adds the axes over which parameters (or optimizer states) are stored to a layout. False if no
  /// dimension takes them.
  bool shardStorage(const NamedShape &shape, bool optimizer, Layout &layout);
  /// True if gradients are added up sharded, as parameters or optimizer states are stored: from
  /// ZeRO 2 on, and with fsdp.
  bool scattersGradients() const { return zero_ >= 2 || !storage_.empty(); }
  /// `layout` without the axes over which parameters are stored.
  Layout gathered(const Layout &layout) const;
  /// Counts a layout that was there before towards the axes in use.
  void noteUse(const Layout &layout);

  /// The axes over which parameters, or optimizer states, are stored besides.
  llvm::ArrayRef<AxisRef> storage(bool optimizer) const {
    return optimizer ? optimizerStorage_ : storage_;
  }
  /// One line for each axis that shards nothing, and for each entry of the file without effect.
  std::vector<std::string> warnings() const;

private:
  explicit StrategyTables(const Mesh &mesh) : mesh_(&mesh) {}
  using Table = std::map<std::string, AxisList, std::less<>>;

  llvm::Expected<AxisList> resolve(const NamedAxes &axes) const;
  llvm::Error resolveTable(const StrategyFile::Table &table, Table &into);
  void addBuiltIn(bool sequenceParallel);
  AxisList axesOf(StrategyTable table, const NamedShape &shape, unsigned dim) const;
  AxisList headAxes(const NamedShape &shape, bool kvHeads) const;
  llvm::Expected<const StrategyFile::Constraint *> findConstraint(llvm::StringRef name);

  const Mesh *mesh_;
  StrategyFile file_;
  bool sequenceParallel_ = false;
  std::optional<AxisRef> tp_;
  AxisList storage_, optimizerStorage_;
  int zero_ = 0;
  bool zeroShards_ = false, shardsBatch_ = false;
  Table weights_, activations_, inputs_;
  /// Query heads of each KV head, by the number of KV heads.
  std::map<int64_t, int64_t> groups_;
  llvm::SmallBitVector used_;
  std::set<std::string, std::less<>> seenNames_;
  std::set<std::string> matchedPatterns_;
};

} // namespace cleave

#endif // CLEAVE_LIB_DIALECT_CLEAVE_TRANSFORMS_STRATEGYTABLES_H
