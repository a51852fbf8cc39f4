// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Import/HuggingFace/ConfigReader.h"
#include "cleave/Import/HuggingFace/Json.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <cstdint>

using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using nlohmann::json;
namespace fs = llvm::sys::fs;

namespace cleave {
namespace {

/// No configuration comes near; a larger file is something else.
constexpr uint64_t kMaxBytes = 16 << 20;
constexpr int64_t kMaxInteger = INT32_MAX;

constexpr StringRef kAddKey = "add the key as the model's authors give it";
constexpr StringRef kCorrectKey = "correct the value";

} // namespace

Expected<ConfigReader> ConfigReader::open(StringRef path) {
  llvm::SmallString<256> file(path);
  if (fs::is_directory(path))
    llvm::sys::path::append(file, "config.json");
  auto fault = [&](const Twine &what) { return llvm::createStringError(file + ": " + what); };
  fs::file_status status;
  if (std::error_code code = fs::status(file, status))
    return fault("cannot be read: " + code.message() +
                 "; expected a model's folder with config.json, or a config.json");
  if (!fs::is_regular_file(status))
    return fault("expected a file");
  if (status.getSize() > kMaxBytes)
    return fault("has " + Twine(status.getSize()) +
                 " bytes: too large for a configuration; give a model's folder or its config.json");
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return fault("cannot be read: " + buffer.getError().message());
  return parse((*buffer)->getBuffer(), file);
}

Expected<ConfigReader> ConfigReader::parse(StringRef text, StringRef file) {
  auto fault = [&](const Twine &what) { return llvm::createStringError(file + ": " + what); };
  Expected<json> value = parseJson(text);
  if (!value)
    return fault(llvm::toString(value.takeError()) + "; expected a configuration as JSON");
  if (!value->is_object())
    return fault("expected an object of configuration keys, found " + describeJson(*value));
  ConfigReader reader;
  reader.filePath = file.str();
  reader.source = std::make_shared<const std::string>(text.str());
  reader.document = std::make_shared<const json>(std::move(*value));
  reader.root = reader.document.get();
  reader.state = std::make_shared<State>();
  return reader;
}

const json *ConfigReader::find(StringRef key) const {
  auto found = root->find(key.str());
  return found == root->end() || found->is_null() ? nullptr : &*found;
}

const json *ConfigReader::take(StringRef key, StringRef required) {
  ignore(key);
  const json *value = find(key);
  if (!value && !required.empty())
    fault(key, required, kAddKey);
  return value;
}

void ConfigReader::fault(StringRef key, const Twine &expected, const Twine &advice) {
  if (failed())
    return;
  const json *value = find(key);
  std::string found = value ? describeJson(*value) : isPresent(key) ? "null" : "no such key";
  state->fault = (filePath + ": \"" + prefix + key + "\": expected " + expected + ", found " +
                  found + "; " + advice)
                     .str();
}

void ConfigReader::warn(const Twine &what) {
  state->warnings.push_back((filePath + ": " + what).str());
}

llvm::Error ConfigReader::takeFault() const {
  return failed() ? llvm::createStringError(state->fault) : llvm::Error::success();
}

std::optional<int64_t> ConfigReader::integer(StringRef key, const json &value, int64_t least) {
  // A number beyond 64 bits is read as floating point and so is refused here too.
  if (value.is_number_integer()) {
    bool tooLarge = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(kMaxInteger);
    if (!tooLarge && value.get<int64_t>() >= least)
      return value.get<int64_t>();
  }
  fault(key, "an integer from " + Twine(least) + " to " + Twine(kMaxInteger), kCorrectKey);
  return std::nullopt;
}

std::optional<double> ConfigReader::number(StringRef key, const json &value) {
  if (value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0)
    return value.get<double>();
  fault(key, "a positive number", kCorrectKey);
  return std::nullopt;
}

int64_t ConfigReader::size(StringRef key) {
  const json *value = take(key, "a positive integer");
  return value ? integer(key, *value, 1).value_or(1) : 1;
}

int64_t ConfigReader::sizeOr(StringRef key, int64_t otherwise) {
  const json *value = take(key);
  return value ? integer(key, *value, 1).value_or(1) : otherwise;
}

std::optional<int64_t> ConfigReader::optionalSize(StringRef key) {
  const json *value = take(key);
  return value ? integer(key, *value, 1) : std::nullopt;
}

int64_t ConfigReader::countOr(StringRef key, int64_t otherwise) {
  const json *value = take(key);
  return value ? integer(key, *value, 0).value_or(0) : otherwise;
}

double ConfigReader::positive(StringRef key) {
  const json *value = take(key, "a positive number");
  return value ? number(key, *value).value_or(1) : 1;
}

double ConfigReader::positiveOr(StringRef key, double otherwise) {
  const json *value = take(key);
  return value ? number(key, *value).value_or(1) : otherwise;
}

double ConfigReader::chanceOr(StringRef key, double otherwise) {
  const json *value = take(key);
  if (!value)
    return otherwise;
  double chance = value->is_number() ? value->get<double>() : -1;
  if (chance >= 0 && chance < 1)
    return chance;
  fault(key, "a number of at least 0 and below 1", kCorrectKey);
  return otherwise;
}

bool ConfigReader::flagOr(StringRef key, bool otherwise) {
  const json *value = take(key);
  if (!value)
    return otherwise;
  if (value->is_boolean())
    return value->get<bool>();
  fault(key, "true or false", kCorrectKey);
  return otherwise;
}

std::string ConfigReader::text(StringRef key) {
  if (!take(key, "a string"))
    return "";
  return optionalText(key).value_or("");
}

std::optional<std::string> ConfigReader::optionalText(StringRef key) {
  const json *value = take(key);
  if (!value)
    return std::nullopt;
  if (value->is_string())
    return value->get<std::string>();
  fault(key, "a string", kCorrectKey);
  return std::nullopt;
}

std::optional<std::vector<std::string>> ConfigReader::optionalTexts(StringRef key) {
  const json *value = take(key);
  if (!value)
    return std::nullopt;
  std::vector<std::string> texts;
  bool isList = value->is_array();
  if (isList)
    for (const json &element : *value) {
      isList &= element.is_string();
      texts.push_back(element.is_string() ? element.get<std::string>() : "");
    }
  if (isList)
    return texts;
  fault(key, "a list of strings", kCorrectKey);
  return std::nullopt;
}

std::optional<ConfigReader> ConfigReader::optionalObject(StringRef key) {
  const json *value = take(key);
  if (!value)
    return std::nullopt;
  if (!value->is_object()) {
    fault(key, "an object", kCorrectKey);
    return std::nullopt;
  }
  ConfigReader reader = *this;
  reader.prefix = qualified(key) + ".";
  reader.root = value;
  return reader;
}

void ConfigReader::refuseUnless(StringRef key, StringRef harmless, StringRef why) {
  const json *value = take(key);
  if (!value)
    return;
  Expected<json> other = parseJson(harmless);
  if (!other) {
    fault(key, "a value that Cleave knows", llvm::toString(other.takeError()));
    return;
  }
  if (*value != *other)
    fault(key, other->is_null() ? Twine("null or no such key") : Twine(harmless), why);
}

std::vector<std::string> ConfigReader::unusedKeys() const {
  std::vector<std::string> keys;
  for (const auto &[key, value] : document->items())
    if (!state->used.contains(key))
      keys.push_back(key);
  return keys;
}

} // namespace cleave
