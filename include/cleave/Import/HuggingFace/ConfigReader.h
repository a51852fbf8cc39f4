// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Strict reading of a config.json, key by key.
#ifndef CLEAVE_IMPORT_HUGGINGFACE_CONFIGREADER_H
#define CLEAVE_IMPORT_HUGGINGFACE_CONFIGREADER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cleave {

/// Reads keys with their types and ranges checked. The first fault is kept and makes later reads
/// give harmless values, so that a caller reads all its keys and asks for the fault once. A fault
/// is one line: file, key, what was expected, what was found, what to do. An absent key and null
/// are the same thing.
class ConfigReader {
public:
  /// `path` is a model's folder or a JSON file.
  static llvm::Expected<ConfigReader> open(llvm::StringRef path);
  /// The same of a text in memory; `path` is what errors call it.
  static llvm::Expected<ConfigReader> parse(llvm::StringRef text, llvm::StringRef path);

  llvm::StringRef path() const { return filePath; }
  /// The text that was read.
  llvm::StringRef contents() const { return *source; }
  bool has(llvm::StringRef key) const { return find(key) != nullptr; }
  /// Present, if only as null: for the few keys where the two differ.
  bool isPresent(llvm::StringRef key) const { return root->contains(key.str()); }

  /// An integer in [1, 2^31).
  int64_t size(llvm::StringRef key);
  int64_t sizeOr(llvm::StringRef key, int64_t otherwise);
  std::optional<int64_t> optionalSize(llvm::StringRef key);
  /// An integer in [0, 2^31).
  int64_t countOr(llvm::StringRef key, int64_t otherwise);
  /// A finite number above 0.
  double positive(llvm::StringRef key);
  double positiveOr(llvm::StringRef key, double otherwise);
  /// A number of at least 0 and below 1.
  double chanceOr(llvm::StringRef key, double otherwise);
  bool flagOr(llvm::StringRef key, bool otherwise);
  std::string text(llvm::StringRef key);
  std::optional<std::string> optionalText(llvm::StringRef key);
  std::optional<std::vector<std::string>> optionalTexts(llvm::StringRef key);
  /// The object at `key`, to be read with faults and warnings going to this reader; nothing if
  /// there is none. The result must not outlive this reader.
  std::optional<ConfigReader> optionalObject(llvm::StringRef key);

  /// Refuses `key` if it is there with another value than `harmless` (JSON text).
  void refuseUnless(llvm::StringRef key, llvm::StringRef harmless, llvm::StringRef why);
  /// `key` has no influence on what is computed.
  void ignore(llvm::StringRef key) { used().insert(qualified(key)); }

  /// Records a fault at `key`: what was expected, and what to do.
  void fault(llvm::StringRef key, const llvm::Twine &expected, const llvm::Twine &advice);
  void warn(const llvm::Twine &what);
  bool failed() const { return !state->fault.empty(); }
  llvm::Error takeFault() const;

  /// Top-level keys that nothing above asked for.
  std::vector<std::string> unusedKeys() const;
  llvm::ArrayRef<std::string> warnings() const { return state->warnings; }

private:
  struct State {
    std::string fault;
    std::vector<std::string> warnings;
    llvm::StringSet<> used;
  };

  /// Null if the key is absent or null.
  const nlohmann::json *find(llvm::StringRef key) const;
  /// The same, and the key counts as used. With `required`, absence is a fault.
  const nlohmann::json *take(llvm::StringRef key, llvm::StringRef required = {});
  std::optional<int64_t> integer(llvm::StringRef key, const nlohmann::json &value, int64_t least);
  std::optional<double> number(llvm::StringRef key, const nlohmann::json &value);
  std::string qualified(llvm::StringRef key) const { return prefix + key.str(); }
  llvm::StringSet<> &used() { return state->used; }

  std::string filePath;
  std::shared_ptr<const std::string> source;
  std::string prefix; ///< "rope_scaling." inside that object
  std::shared_ptr<const nlohmann::json> document;
  const nlohmann::json *root = nullptr;
  std::shared_ptr<State> state;
};

} // namespace cleave

#endif // CLEAVE_IMPORT_HUGGINGFACE_CONFIGREADER_H
