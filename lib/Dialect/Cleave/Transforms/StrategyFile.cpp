// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reading of strategy files.

#include "StrategyFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/JSON.h"

using namespace cleave;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static Error fail(const Twine &text) { return llvm::createStringError(text); }

/// `tp` or `tp:(1)2`.
static Expected<NamedAxis> parseAxis(StringRef text, const Twine &where) {
  auto [name, part] = text.split(':');
  NamedAxis axis{name.str()};
  if (!text.contains(':') && !name.empty())
    return axis;
  if (name.empty() || !part.consume_front("(") || part.consumeInteger(10, axis.preSize) ||
      !part.consume_front(")") || part.getAsInteger(10, axis.size) || axis.preSize < 1 ||
      axis.size < 2)
    return fail(where + " names the axis \"" + text +
                "\"; write \"tp\", or \"tp:(1)2\" for a part of an axis");
  return axis;
}

static Expected<NamedAxes> parseAxes(const llvm::json::Value &value, const Twine &where) {
  const llvm::json::Array *array = value.getAsArray();
  if (!array)
    return fail(where + " must be a list of mesh axes such as [\"tp\"], or []");
  NamedAxes axes;
  for (const llvm::json::Value &entry : *array) {
    std::optional<StringRef> text = entry.getAsString();
    if (!text)
      return fail(where + " must be a list of mesh axes such as [\"tp\"], or []");
    Expected<NamedAxis> axis = parseAxis(*text, where);
    if (!axis)
      return axis.takeError();
    axes.push_back(std::move(*axis));
  }
  return axes;
}

/// The entries of an object in the order of their keys, so that errors do not depend on hashing.
static std::map<std::string, const llvm::json::Value *> sorted(const llvm::json::Object &object) {
  std::map<std::string, const llvm::json::Value *> entries;
  for (const auto &[key, value] : object)
    entries.emplace(key.str(), &value);
  return entries;
}

static Error parseTable(const llvm::json::Value &value, StringRef name,
                        StrategyFile::Table &table) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return fail("\"" + name + "\" must be an object from logical axes to lists of mesh axes");
  for (const auto &[key, entry] : sorted(*object)) {
    Expected<NamedAxes> axes = parseAxes(*entry, "\"" + name + "\": \"" + key + "\"");
    if (!axes)
      return axes.takeError();
    table.emplace(key, std::move(*axes));
  }
  return Error::success();
}

static Error parseConstraints(const llvm::json::Value &value,
                              std::vector<StrategyFile::Constraint> &constraints) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return fail("\"constraints\" must be an object from parameter names to lists of mesh axes, one "
                "a dimension");
  for (const auto &[pattern, entry] : sorted(*object)) {
    std::string where = "\"constraints\": \"" + pattern + "\"";
    Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
    if (!glob)
      return fail(where + " is no glob pattern: " + llvm::toString(glob.takeError()));
    const llvm::json::Array *dims = entry->getAsArray();
    if (!dims)
      return fail(where +
                  " must be a list with the axes of each dimension, such as [[\"tp\"], []]");
    bool isExact = StringRef(pattern).find_first_of("*?[\\") == StringRef::npos;
    StrategyFile::Constraint constraint{pattern, {}, isExact};
    for (auto [index, dim] : llvm::enumerate(*dims)) {
      Expected<NamedAxes> axes = parseAxes(dim, where + ", dimension " + Twine(index) + ",");
      if (!axes)
        return axes.takeError();
      constraint.dims.push_back(std::move(*axes));
    }
    constraints.push_back(std::move(constraint));
  }
  return Error::success();
}

static Error parseEntry(StringRef key, const llvm::json::Value &value, StrategyFile &file) {
  if (key == "weights")
    return parseTable(value, key, file.weights);
  if (key == "activations")
    return parseTable(value, key, file.activations);
  if (key == "constraints")
    return parseConstraints(value, file.constraints);
  return fail("has the unknown key \"" + key +
              "\"; known are \"weights\", \"activations\" and \"constraints\"");
}

Expected<StrategyFile> cleave::parseStrategyFile(StringRef text) {
  Expected<llvm::json::Value> root = llvm::json::parse(text);
  if (!root)
    return fail("is not JSON: " + llvm::toString(root.takeError()));
  const llvm::json::Object *object = root->getAsObject();
  if (!object)
    return fail("must hold an object with \"weights\", \"activations\" or \"constraints\"");
  StrategyFile file;
  for (const auto &[key, value] : sorted(*object))
    if (Error error = parseEntry(key, *value, file))
      return std::move(error);
  return file;
}

bool StrategyFile::Constraint::matches(StringRef name) const {
  // A GlobPattern refers to its text, so it is not kept. That it parses has been checked.
  return isExact ? pattern == name : llvm::cantFail(llvm::GlobPattern::create(pattern)).match(name);
}

void StrategyFile::forEachAxis(llvm::function_ref<void(const NamedAxis &)> visit) const {
  for (const Table &table : {weights, activations})
    for (const auto &[name, axes] : table)
      llvm::for_each(axes, visit);
  for (const Constraint &constraint : constraints)
    for (const NamedAxes &axes : constraint.dims)
      llvm::for_each(axes, visit);
}
