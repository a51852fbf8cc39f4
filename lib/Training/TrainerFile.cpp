// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "TrainerFile.h"

#include "cleave/Import/HuggingFace/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/xxhash.h"

using namespace cleave;
using namespace cleave::training;
using nlohmann::json;

/// Raised when an older reader could not read the file.
static constexpr uint64_t kFormatVersion = 1;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static std::string dump(const json &value, int indent = -1) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

static std::string hex(uint64_t value) { return llvm::utohexstr(value, /*LowerCase=*/true, 16); }

static json hashesJson(const TensorHashes &hashes) {
  json object = json::object();
  for (const auto &[name, hash] : hashes)
    object[name] = hex(hash);
  return object;
}

static std::string hashOfText(const std::string &text) {
  return hex(llvm::xxh3_64bits(llvm::arrayRefFromStringRef(text)));
}

std::string TrainerFile::text() const {
  json settings = json::object();
  for (const auto &[name, value] : progress.settings)
    settings[name] = value;
  json root = {{"format_version", kFormatVersion},
               {"step", progress.step},
               {"tokens_seen", progress.tokensSeen},
               {"data",
                {{"position", progress.dataPosition},
                 {"seed", progress.seed},
                 {"sequence", progress.sequence},
                 {"tokens", progress.dataTokens},
                 {"evaluation_fraction", progress.evaluationFraction}}},
               {"settings", settings},
               {"model_hashes", hashesJson(modelHashes)},
               {"optimizer_hashes", hashesJson(optimizerHashes)}};
  root["hash"] = hashOfText(dump(root));
  return dump(root, 2) + "\n";
}

namespace {

/// Takes fields from an object; the first fault is remembered.
class FieldReader {
public:
  explicit FieldReader(const json &object) : object_(object) {}

  void read(const char *name, uint64_t &value) {
    if (const json *field = find(name, &json::is_number_unsigned))
      value = field->get<uint64_t>();
  }
  void read(const char *name, double &value) {
    if (const json *field = find(name, &json::is_number))
      value = field->get<double>();
  }
  void read(const char *name, std::map<std::string, std::string> &value) {
    if (const json *field = find(name, &json::is_object))
      for (const auto &item : field->items()) {
        if (!item.value().is_string())
          fault_ = name;
        else
          value[item.key()] = item.value().get<std::string>();
      }
  }
  void read(const char *name, TensorHashes &value) {
    std::map<std::string, std::string> texts;
    read(name, texts);
    for (const auto &[tensor, text] : texts)
      if (llvm::StringRef(text).getAsInteger(16, value[tensor]))
        fault_ = name;
  }
  /// An object.
  const json *object(const char *name) { return find(name, &json::is_object); }

  const std::string &fault() const { return fault_; }

private:
  const json *find(const char *name, bool (json::*is)() const noexcept) {
    auto it = object_.find(name);
    if (it == object_.end() || !((*it).*is)()) {
      fault_ = name;
      return nullptr;
    }
    return &*it;
  }

  const json &object_;
  std::string fault_;
};

} // namespace

llvm::Expected<TrainerFile> TrainerFile::parse(llvm::StringRef text) {
  llvm::Expected<json> root = parseJson(text);
  if (!root)
    return makeError("damaged: " + llvm::toString(root.takeError()));
  if (!root->is_object())
    return makeError("damaged: it is no JSON object");
  uint64_t version = 0;
  FieldReader versionReader(*root);
  versionReader.read("format_version", version);
  if (versionReader.fault().empty() && version != kFormatVersion)
    return makeError("has format version " + llvm::Twine(version) + "; this cleave reads version " +
                     llvm::Twine(kFormatVersion));
  json unsealed = *root;
  unsealed.erase("hash");
  auto seal = root->find("hash");
  if (seal == root->end() || !seal->is_string() ||
      seal->get<std::string>() != hashOfText(dump(unsealed)))
    return makeError("damaged: its contents do not have the hash that it states");

  TrainerFile file;
  FieldReader reader(*root);
  reader.read("step", file.progress.step);
  reader.read("tokens_seen", file.progress.tokensSeen);
  reader.read("settings", file.progress.settings);
  reader.read("model_hashes", file.modelHashes);
  reader.read("optimizer_hashes", file.optimizerHashes);
  std::string fault = reader.fault();
  if (const json *data = reader.object("data")) {
    FieldReader fields(*data);
    fields.read("position", file.progress.dataPosition);
    fields.read("seed", file.progress.seed);
    fields.read("sequence", file.progress.sequence);
    fields.read("tokens", file.progress.dataTokens);
    fields.read("evaluation_fraction", file.progress.evaluationFraction);
    if (!fields.fault().empty())
      fault = "data." + fields.fault();
  } else {
    fault = "data";
  }
  if (!fault.empty())
    return makeError("damaged: field " + fault + " is missing or of another type");
  return file;
}

std::string cleave::training::safetensorsHeader(llvm::ArrayRef<CheckpointTensor> tensors) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t offset = 0;
  for (const CheckpointTensor &tensor : tensors) {
    uint64_t bytes = safetensors::byteSize(tensor.dtype);
    for (int64_t size : tensor.shape)
      bytes *= uint64_t(size);
    header[tensor.name] = {
        {"dtype", safetensors::nameOf(tensor.dtype).str()},
        {"shape", std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end())},
        {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' '); // So that the tensors are aligned.
  std::string length(8, '\0');
  llvm::support::endian::write64le(length.data(), text.size());
  return length + text;
}
