// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The built-in strategy, and how a file changes it.

#include "StrategyTables.h"

#include "llvm/ADT/StringExtras.h"
#include <limits>

using namespace cleave;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef kKvHeads = "kv_heads", kGroups = "q_groups";
static constexpr StringRef kRoles = "dp (batch), fsdp (batch and parameters), tp (tensors)";

static Error fail(const Twine &text) { return llvm::createStringError(text); }

static bool isRole(StringRef name) { return name == "dp" || name == "fsdp" || name == "tp"; }

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

Expected<StrategyTables> StrategyTables::create(const Mesh &mesh, StrategyFile file,
                                                bool sequenceParallel, int zero,
                                                llvm::SmallBitVector given) {
  StrategyTables tables(mesh);
  tables.zero_ = zero;
  tables.sequenceParallel_ = sequenceParallel;
  tables.used_ = std::move(given);
  std::set<std::string> named;
  file.forEachAxis([&](const NamedAxis &axis) { named.insert(axis.name); });
  for (auto [index, axis] : llvm::enumerate(mesh.axes()))
    if (!isRole(axis.name) && !named.count(axis.name) && !tables.used_.test(index))
      return fail("mesh axis \"" + axis.name + "\" has no role; known roles are " + kRoles +
                  ": rename the axis, or give it logical axes in a strategy file");
  auto roleAxis = [&](StringRef name) -> std::optional<AxisRef> {
    std::optional<uint32_t> index = mesh.findAxis(name);
    if (!index || mesh.axes()[*index].size < 2)
      return std::nullopt;
    return mesh.axis(*index);
  };
  tables.tp_ = roleAxis("tp");
  // In the mesh's order, so that a tensor's storage nests as the batch does.
  for (const Mesh::Axis &axis : mesh.axes()) {
    std::optional<AxisRef> ref = roleAxis(axis.name);
    if (!ref || (axis.name != "dp" && axis.name != "fsdp"))
      continue;
    if (axis.name == "fsdp" || zero >= 3)
      appendAxis(tables.storage_, *ref);
    if (axis.name == "fsdp" || zero >= 1)
      appendAxis(tables.optimizerStorage_, *ref);
  }
  if (Error error = tables.resolveTable(file.weights, tables.weights_))
    return std::move(error);
  if (Error error = tables.resolveTable(file.activations, tables.activations_))
    return std::move(error);
  tables.inputs_ = tables.activations_;
  tables.addBuiltIn(sequenceParallel);
  tables.file_ = std::move(file);
  return tables;
}

/// Axes of roles that the mesh lacks are left out: they have one device.
Expected<AxisList> StrategyTables::resolve(const NamedAxes &axes) const {
  AxisList list;
  for (const NamedAxis &named : axes) {
    std::optional<uint32_t> index = mesh_->findAxis(named.name);
    if (!index && isRole(named.name))
      continue;
    if (!index) {
      std::string known = llvm::join(
          llvm::map_range(mesh_->axes(), [](const Mesh::Axis &axis) { return axis.name; }), ", ");
      return fail("the strategy names the mesh axis \"" + named.name + "\"; the mesh has " + known +
                  ", and known roles are " + kRoles);
    }
    AxisRef ref = mesh_->axis(*index);
    if (named.size != 0) {
      uint64_t covered = uint64_t(named.preSize) * named.size;
      if (ref.size % covered != 0)
        return fail("the strategy names the part (" + Twine(named.preSize) + ")" +
                    Twine(named.size) + " of the mesh axis \"" + named.name + "\" of size " +
                    Twine(ref.size) + "; pre-size times size must divide it");
      ref = {*index, named.preSize, named.size};
    }
    if (axesOverlap(list, ref))
      return fail("the strategy names the mesh axis \"" + named.name + "\" twice in one list");
    appendAxis(list, ref);
  }
  return list;
}

Error StrategyTables::resolveTable(const StrategyFile::Table &table, Table &into) {
  for (const auto &[name, named] : table) {
    Expected<AxisList> axes = resolve(named);
    if (!axes)
      return axes.takeError();
    into.emplace(name, std::move(*axes));
  }
  return Error::success();
}

/// What the file has not said.
void StrategyTables::addBuiltIn(bool sequenceParallel) {
  AxisList batch;
  for (auto [index, axis] : llvm::enumerate(mesh_->axes()))
    if (axis.name == "dp" || axis.name == "fsdp")
      appendAxis(batch, mesh_->axis(index));
  activations_.emplace("batch", batch);
  inputs_.emplace("batch", batch);
  if (!tp_)
    return;
  // "kv_heads" and "q_groups" depend on sizes, see headAxes.
  for (Table *table : {&weights_, &activations_})
    for (StringRef name : {"vocab", "mlp"})
      table->emplace(name.str(), AxisList{*tp_});
  // Inputs stay whole in the sequence: each device looks up all tokens in its part of the
  // vocabulary.
  if (sequenceParallel)
    activations_.emplace("seq", AxisList{*tp_});
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

HeadSplit cleave::splitHeads(int64_t kvHeads, int64_t groups, int64_t shards) {
  if (groups <= 1)
    return {shards, 1};
  HeadSplit best{1, shards};
  auto key = [&](int64_t kvShards) {
    int64_t localKv = localSize(kvHeads, kvShards);
    return std::tuple(localKv * localSize(groups, shards / kvShards), localKv, kvShards);
  };
  for (int64_t kvShards = 2; kvShards <= shards; ++kvShards)
    if (shards % kvShards == 0 && key(kvShards) < key(best.kvShards))
      best = {kvShards, shards / kvShards};
  return best;
}

static std::optional<int64_t> sizeOf(const NamedShape &shape, StringRef name) {
  for (auto [dimName, size] : llvm::zip(shape.names, shape.sizes))
    if (dimName == name)
      return size;
  return std::nullopt;
}

void StrategyTables::noteHeads(const NamedShape &shape) {
  std::optional<int64_t> kv = sizeOf(shape, kKvHeads), groups = sizeOf(shape, kGroups);
  if (kv && groups)
    groups_.emplace(*kv, *groups);
}

AxisList StrategyTables::headAxes(const NamedShape &shape, bool kvHeads) const {
  std::optional<int64_t> kv = sizeOf(shape, kKvHeads), groups = sizeOf(shape, kGroups);
  if (!tp_ || !kv)
    return {};
  if (!groups) {
    auto known = groups_.find(*kv);
    groups = known == groups_.end() ? 1 : known->second;
  }
  HeadSplit split = splitHeads(*kv, *groups, tp_->size);
  AxisRef rest = *tp_;
  AxisList major = takeMajor(rest, split.kvShards);
  if (kvHeads)
    return major;
  AxisList minor;
  appendAxis(minor, rest);
  return minor;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

AxisList StrategyTables::axesOf(StrategyTable table, const NamedShape &shape, unsigned dim) const {
  const Table &entries = table == StrategyTable::Weights       ? weights_
                         : table == StrategyTable::Activations ? activations_
                                                               : inputs_;
  StringRef name = shape.names[dim];
  auto entry = entries.find(name);
  if (entry != entries.end())
    return entry->second;
  if (name == kKvHeads || name == kGroups)
    return headAxes(shape, name == kKvHeads);
  return {};
}

Layout StrategyTables::layoutOf(StrategyTable table, const NamedShape &shape) {
  Layout layout = Layout::replicated(shape.names.size());
  for (auto [dim, size] : llvm::enumerate(shape.sizes)) {
    seenNames_.insert(shape.names[dim].str());
    if (size < 2)
      continue;
    layout.dims[dim] = subtractAxes(axesOf(table, shape, dim), layout.usedAxes());
    shardsBatch_ |= shape.names[dim] == "batch" && !layout.dims[dim].empty();
  }
  noteUse(layout);
  return layout;
}

void StrategyTables::noteUse(const Layout &layout) {
  for (const AxisRef &axis : layout.usedAxes())
    used_.set(axis.axis);
}

Expected<const StrategyFile::Constraint *> StrategyTables::findConstraint(StringRef name) {
  const StrategyFile::Constraint *found = nullptr;
  for (const StrategyFile::Constraint &constraint : file_.constraints) {
    if (!constraint.matches(name))
      continue;
    matchedPatterns_.insert(constraint.pattern);
    if (constraint.isExact)
      return &constraint;
    if (found)
      return fail("parameter \"" + name + "\" matches two constraints, \"" + found->pattern +
                  "\" and \"" + constraint.pattern +
                  "\"; make the patterns disjoint, or name the parameter itself");
    found = &constraint;
  }
  return found;
}

Expected<Layout> StrategyTables::parameterLayout(StringRef name, const NamedShape &shape) {
  Expected<const StrategyFile::Constraint *> constraint = findConstraint(name);
  if (!constraint)
    return constraint.takeError();
  if (!*constraint)
    return layoutOf(StrategyTable::Weights, shape);
  if ((*constraint)->dims.size() != shape.sizes.size()) {
    std::string dims;
    for (auto [dimName, size] : llvm::zip(shape.names, shape.sizes))
      dims += (dims.empty() ? "" : ", ") + dimName.str() + "=" + std::to_string(size);
    return fail("constraint \"" + (*constraint)->pattern + "\" lists axes for " +
                Twine((*constraint)->dims.size()) + " dimensions, but parameter \"" + name +
                "\" has " + Twine(shape.sizes.size()) + " [" + dims + "]");
  }
  Layout layout = Layout::replicated(shape.sizes.size());
  for (auto [dim, named] : llvm::enumerate((*constraint)->dims)) {
    Expected<AxisList> axes = resolve(named);
    if (!axes)
      return axes.takeError();
    if (axesOverlap(layout.usedAxes(), *axes))
      return fail("constraint \"" + (*constraint)->pattern + "\" uses an axis for two dimensions");
    layout.dims[dim] = *axes;
  }
  noteUse(layout);
  return layout;
}

//===----------------------------------------------------------------------===//
// Storage of parameters and optimizer states
//===----------------------------------------------------------------------===//

/// The free dimension that wastes the least on padding; of equal ones the largest. An "embed"
/// dimension that divides goes first.
static std::optional<unsigned> chooseFreeDim(const NamedShape &shape, const Layout &layout,
                                             int64_t shards) {
  std::optional<unsigned> best;
  // Padded elements times the other's size compares the shares of padding.
  auto padded = [&](unsigned dim) { return localSize(shape.sizes[dim], shards) * shards; };
  auto isBetter = [&](unsigned dim, unsigned than) {
    int64_t size = shape.sizes[dim], other = shape.sizes[than];
    double share = double(padded(dim)) / size, otherShare = double(padded(than)) / other;
    return share != otherShare ? share < otherShare : size > other;
  };
  for (auto [dim, size] : llvm::enumerate(shape.sizes)) {
    if (size < 2 || !layout.dims[dim].empty())
      continue;
    if (shape.names[dim] == "embed" && size % shards == 0)
      return dim;
    if (!best || isBetter(dim, *best))
      best = dim;
  }
  return best;
}

bool StrategyTables::shardStorage(const NamedShape &shape, bool optimizer, Layout &layout) {
  // A constraint may have placed some of the axes.
  AxisList axes = subtractAxes(storage(optimizer), layout.usedAxes());
  if (axes.empty())
    return true;
  int64_t shards = shardCount(axes);
  std::optional<unsigned> dim = chooseFreeDim(shape, layout, shards);
  // A sharded dimension takes the axes if its blocks divide, so that they alone can be gathered.
  for (auto [index, size] : llvm::enumerate(shape.sizes))
    if (!dim && size >= 2 && isAligned(size, shardCount(layout.dims[index]), shards))
      dim = index;
  if (!dim)
    return false;
  for (const AxisRef &axis : axes)
    appendAxis(layout.dims[*dim], axis);
  noteUse(layout);
  zeroShards_ = true;
  return true;
}

Layout StrategyTables::gathered(const Layout &layout) const {
  Layout gathered = layout;
  for (AxisList &axes : gathered.dims)
    axes = subtractAxes(axes, storage_);
  return gathered;
}

//===----------------------------------------------------------------------===//
// Warnings
//===----------------------------------------------------------------------===//

std::vector<std::string> StrategyTables::warnings() const {
  std::vector<std::string> lines;
  for (auto [index, axis] : llvm::enumerate(mesh_->axes())) {
    if (axis.size < 2)
      continue;
    constexpr llvm::StringLiteral kNoRows = "no batch or microbatch has two rows or more";
    AxisRef whole = mesh_->axis(index);
    if (used_.test(index)) {
      if (axis.name == "dp" && seenNames_.count("batch") && !shardsBatch_ &&
          axesOverlap(inputs_.at("batch"), whole))
        lines.push_back("mesh axis \"dp\" (size " + std::to_string(axis.size) +
                        ") shards what is stored only: " + kNoRows.str() +
                        "; its devices compute the same thing");
      continue;
    }
    StringRef why = axis.name == "dp"     ? StringRef(kNoRows)
                    : axis.name == "fsdp" ? "no parameter has a dimension of two elements or more"
                    : axis.name == "tp"
                        ? "no value has a logical axis vocab, mlp, kv_heads or q_groups of two "
                          "elements or more"
                        : "no value has the logical axes that the strategy file gives it";
    lines.push_back("mesh axis \"" + axis.name + "\" (size " + std::to_string(axis.size) +
                    ") finds nothing to shard: " + why.str() +
                    "; its devices compute the same thing, so leave it out of the mesh");
  }
  if (sequenceParallel_ && !tp_)
    lines.push_back("sequence-parallel finds nothing to shard: the mesh has no axis \"tp\" of two "
                    "devices or more");
  bool hasData = llvm::any_of(
      mesh_->axes(), [](const Mesh::Axis &axis) { return axis.name == "dp" && axis.size >= 2; });
  if (zero_ > 0 && !hasData)
    lines.push_back("zero " + std::to_string(zero_) +
                    " finds nothing to shard: the mesh has no axis \"dp\" of two devices or more");
  else if (zero_ > 0 && !zeroShards_)
    lines.push_back("zero " + std::to_string(zero_) +
                    " finds nothing to shard: the program has no " +
                    (zero_ < 3 ? "optimizer state" : "parameter or optimizer state") +
                    " of two elements or more");
  for (const auto &[table, entries] :
       {std::pair("weights", &file_.weights), std::pair("activations", &file_.activations)})
    for (const auto &[name, axes] : *entries)
      if (!seenNames_.count(name))
        lines.push_back("the strategy file's entry \"" + name + "\" in \"" + table +
                        "\" has no effect: no value has this logical axis; the values have " +
                        llvm::join(seenNames_, ", "));
  for (const StrategyFile::Constraint &constraint : file_.constraints)
    if (!matchedPatterns_.count(constraint.pattern))
      lines.push_back("the strategy file's constraint \"" + constraint.pattern +
                      "\" has no effect: no parameter has such a name");
  return lines;
}
