// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model's weight files taken together.

#include "cleave/Import/HuggingFace/Json.h"
#include "cleave/Import/HuggingFace/Safetensors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using nlohmann::json;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace cleave::safetensors {
namespace {

constexpr StringRef kSingleFile = "model.safetensors";
constexpr StringRef kIndexFile = "model.safetensors.index.json";
constexpr uint64_t kMaxIndexBytes = 100'000'000;

std::string join(StringRef folder, StringRef name) {
  llvm::SmallString<256> joined(folder);
  path::append(joined, name);
  return std::string(joined);
}

/// The index must not make us open files outside the model's folder. A link inside the folder may
/// point anywhere: download caches are built of such links.
bool staysInFolder(StringRef name) {
  if (name.empty() || path::is_absolute(name) ||
      llvm::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    return false;
  return llvm::none_of(llvm::make_range(path::begin(name), path::end(name)),
                       [](StringRef part) { return part == "." || part == ".."; });
}

} // namespace

bool Checkpoint::isPresent(StringRef folder) {
  return fs::exists(join(folder, kSingleFile)) || fs::exists(join(folder, kIndexFile));
}

Expected<Checkpoint> Checkpoint::open(StringRef where) {
  Checkpoint checkpoint;
  checkpoint.rootPath = where.str();
  std::string file = where.str();
  if (fs::is_directory(where)) {
    file = join(where, kSingleFile);
    if (!fs::exists(file))
      file = join(where, kIndexFile);
    if (!fs::exists(file))
      return llvm::createStringError(where + ": no weights: expected " + kSingleFile + " or " +
                                     kIndexFile + " in the folder");
  }
  Error error =
      StringRef(file).ends_with(".json") ? checkpoint.openIndex(file) : checkpoint.openSingle(file);
  if (error)
    return std::move(error);
  llvm::sort(checkpoint.sortedNames);
  return checkpoint;
}

void Checkpoint::add(StringRef name, TensorRef tensor) {
  tensors[name] = tensor;
  sortedNames.push_back(name.str());
}

Error Checkpoint::openSingle(StringRef where) {
  Expected<File> file = File::open(where);
  if (!file)
    return file.takeError();
  mapped.push_back(std::make_unique<File>(std::move(*file)));
  for (const TensorInfo &info : mapped.back()->tensors())
    add(info.name, {mapped.back().get(), &info});
  return Error::success();
}

Error Checkpoint::openIndex(StringRef where) {
  auto fault = [&](const Twine &what) { return llvm::createStringError(where + ": " + what); };
  uint64_t size = 0;
  if (std::error_code code = fs::file_size(where, size))
    return fault("cannot be read: " + code.message());
  if (size > kMaxIndexBytes)
    return fault("the index has " + Twine(size) + " bytes; at most " + Twine(kMaxIndexBytes) +
                 " are allowed");
  auto buffer = llvm::MemoryBuffer::getFile(where);
  if (!buffer)
    return fault("cannot be read: " + buffer.getError().message());
  Expected<json> root = parseJson((*buffer)->getBuffer());
  if (!root)
    return fault(llvm::toString(root.takeError()));
  if (!root->is_object() || !root->contains("weight_map") || !(*root)["weight_map"].is_object())
    return fault(
        "expected an object with \"weight_map\", an object from tensor names to file names");

  StringRef folder = path::parent_path(where);
  llvm::StringMap<File *> byFile;
  for (const auto &[name, entry] : (*root)["weight_map"].items()) {
    if (!entry.is_string())
      return fault("\"weight_map\": " + quoteText(name) + ": expected a file name, found " +
                   describeJson(entry));
    StringRef fileName = entry.get_ref<const std::string &>();
    if (!staysInFolder(fileName))
      return fault("\"weight_map\": " + quoteText(name) + ": file name " + quoteText(fileName) +
                   " leaves the model's folder; expected the name of a file beside the index or in "
                   "a folder below");
    File *&file = byFile[fileName];
    if (!file) {
      std::string location = join(folder, fileName);
      if (!fs::exists(location))
        return fault("\"weight_map\": tensor " + quoteText(name) + " should be in " +
                     quoteText(fileName) +
                     ", and there is no such file; copy or download the model again");
      Expected<File> opened = File::open(location);
      if (!opened)
        return opened.takeError();
      mapped.push_back(std::make_unique<File>(std::move(*opened)));
      file = mapped.back().get();
    }
    const TensorInfo *info = file->find(name);
    if (!info)
      return fault("\"weight_map\": tensor " + quoteText(name) + " should be in " +
                   quoteText(fileName) +
                   ", and that file has no such tensor; copy or download the model again");
    add(name, {file, info});
  }
  return Error::success();
}

} // namespace cleave::safetensors
