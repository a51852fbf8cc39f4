// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "core/safetensors.h"

#include "absl/strings/str_split.h"
#include "base/checked.h"
#include "core/tensor.h"
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <sys/stat.h>

namespace cleave::rt {
namespace {

using nlohmann::json;

constexpr char kSingleFile[] = "model.safetensors";
constexpr char kIndexFile[] = "model.safetensors.index.json";
constexpr uint64_t kMaxHeaderBytes = 100 << 20; // what the format allows

bool exists(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

/// Parses JSON; an error says where it stops being JSON, and a key that comes twice in one object
/// is an error too.
StatusOr<json> parseJson(std::span<const uint8_t> text, absl::string_view what) {
  // Nesting is bounded by hand: the parser itself does not recurse, but a value that deep is not
  // anything that is looked for.
  constexpr int kMaxDepth = 16;
  std::string repeated;
  std::vector<std::set<std::string>> keys;
  auto callback = [&](int depth, json::parse_event_t event, json &value) {
    if (depth > kMaxDepth)
      throw std::length_error("it is nested too deeply");
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end && !keys.empty())
      keys.pop_back();
    else if (event == json::parse_event_t::key && !keys.empty() &&
             !keys.back().insert(value.get<std::string>()).second)
      repeated = value.get<std::string>();
    return true;
  };
  json parsed;
  try {
    parsed = json::parse(text.begin(), text.end(), callback);
  } catch (const std::exception &e) {
    // Without the exception's own name, in brackets.
    absl::string_view reason = e.what();
    if (size_t end = reason.find("] "); end != absl::string_view::npos)
      reason.remove_prefix(end + 2);
    return absl::DataLossError(absl::StrCat(what, " is not JSON: ", printable(reason)));
  }
  if (!repeated.empty())
    return absl::DataLossError(
        absl::StrCat(what, " has the key '", printable(repeated), "' twice"));
  if (!parsed.is_object())
    return absl::DataLossError(absl::StrCat(what, " is not a JSON object"));
  return parsed;
}

/// Reads an array of non-negative integers.
std::optional<std::vector<uint64_t>> readNumbers(const json &value) {
  if (!value.is_array())
    return std::nullopt;
  std::vector<uint64_t> result;
  for (const json &item : value) {
    if (!item.is_number_unsigned())
      return std::nullopt;
    result.push_back(item.get<uint64_t>());
  }
  return result;
}

} // namespace

StatusOr<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open(const std::string &path) {
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);
  CLEAVE_ASSIGN_OR_RETURN(file->bytes_, Bytes::map(path));
  if (Status status = file->parse(file->bytes_->span()); !status.ok())
    return advise(annotate(status, printable(path)), "copy or download the file again");
  return file;
}

Status SafetensorsFile::parse(std::span<const uint8_t> file) {
  uint64_t headerBytes = 0;
  if (file.size() < 8)
    return absl::DataLossError(
        absl::StrCat("not a safetensors file: it has ", file.size(), " bytes"));
  std::memcpy(&headerBytes, file.data(), 8);
  if (headerBytes > file.size() - 8 || headerBytes > kMaxHeaderBytes)
    return absl::DataLossError(
        absl::StrCat("the header promises ", headerBytes, " bytes, the file has ", file.size()));
  std::span<const uint8_t> data = file.subspan(8 + headerBytes);
  CLEAVE_ASSIGN_OR_RETURN(json header, parseJson(file.subspan(8, headerBytes), "the header"));

  std::vector<std::pair<uint64_t, const std::string *>> begins;
  std::map<const std::string *, uint64_t> ends;
  uint64_t promised = 0;
  for (auto &[key, value] : header.items()) {
    if (key == "__metadata__")
      continue;
    auto fail = [&name = key](auto &&...parts) {
      return absl::DataLossError(absl::StrCat("tensor '", printable(name), "' ", parts...));
    };
    if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string() ||
        !value.contains("shape") || !value.contains("data_offsets"))
      return fail("lacks dtype, shape or data_offsets");
    CheckpointTensor tensor;
    tensor.dtypeName = value["dtype"].get<std::string>();
    tensor.dtype = dtypeFromName(tensor.dtypeName);
    auto shape = readNumbers(value["shape"]), offsets = readNumbers(value["data_offsets"]);
    if (!shape || shape->size() > kMaxRank)
      return fail("has a shape that is not a list of at most ", kMaxRank, " sizes");
    if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1])
      return fail("has data_offsets that are not a begin and an end");
    tensor.shape = *shape;
    auto [begin, end] = std::pair((*offsets)[0], (*offsets)[1]);
    if (tensor.dtype) {
      Checked bytes(sizeOf(*tensor.dtype));
      for (uint64_t s : tensor.shape)
        bytes = bytes * Checked(s);
      if (!bytes.equals(end - begin))
        return fail("of type ", tensor.dtypeName, " and shape ", shapeText(tensor.shape), " has ",
                    end - begin, " bytes of data");
    }
    promised = std::max(promised, end);
    if (end <= data.size())
      tensor.data = data.subspan(begin, end - begin);
    auto it = tensors_.emplace(key, std::move(tensor)).first;
    begins.emplace_back(begin, &it->first);
    ends[&it->first] = end;
  }
  if (promised > data.size())
    return absl::DataLossError(absl::StrCat("truncated: the header promises ", promised,
                                            " bytes of data, the file has ", data.size()));
  std::sort(begins.begin(), begins.end(), [&](const auto &a, const auto &b) {
    return a.first != b.first ? a.first < b.first : ends[a.second] < ends[b.second];
  });
  uint64_t covered = 0;
  const std::string *before = nullptr;
  for (auto [begin, name] : begins) {
    if (begin < covered)
      return absl::DataLossError(
          absl::StrCat("tensors '", printable(*before), "' and '", printable(*name), "' overlap"));
    if (begin > covered)
      return absl::DataLossError(absl::StrCat("bytes ", covered, " to ", begin, " before tensor '",
                                              printable(*name), "' belong to no tensor"));
    covered = ends[name];
    before = name;
  }
  if (covered != data.size())
    return absl::DataLossError(absl::StrCat("the header accounts for ", covered,
                                            " bytes of data, the file has ", data.size()));
  return absl::OkStatus();
}

/// Whether a path of the index names something in its folder or in one below. A link there may
/// point anywhere: download caches are built of such links.
static bool staysInFolder(const std::string &path) {
  if (path.empty() || path.front() == '/' || path.back() == '/')
    return false;
  for (char c : path)
    if (static_cast<unsigned char>(c) < 0x20)
      return false;
  for (absl::string_view part : absl::StrSplit(path, '/'))
    if (part == "." || part == "..")
      return false;
  return true;
}

StatusOr<std::unique_ptr<Checkpoint>> Checkpoint::open(const std::string &folder) {
  std::unique_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->folder_ = folder;
  if (exists(folder + "/" + kSingleFile))
    return checkpoint;
  std::string index = folder + "/" + kIndexFile;
  if (!exists(index))
    return absl::NotFoundError(absl::StrCat("'", printable(folder), "' has neither ", kSingleFile,
                                            " nor ", kIndexFile,
                                            "; give the folder of the model's weights"));
  if (Status status = checkpoint->readIndex(index); !status.ok())
    return advise(annotate(status, printable(index)), "copy or download the model again");
  return checkpoint;
}

Status Checkpoint::readIndex(const std::string &path) {
  CLEAVE_ASSIGN_OR_RETURN(auto bytes, Bytes::map(path));
  CLEAVE_ASSIGN_OR_RETURN(json index, parseJson(bytes->span(), "the index"));
  if (!index.contains("weight_map") || !index["weight_map"].is_object())
    return absl::DataLossError("there is no weight_map");
  for (auto &[name, file] : index["weight_map"].items()) {
    if (!file.is_string())
      return absl::DataLossError(
          absl::StrCat("weight_map of '", printable(name), "' is not a file name"));
    std::string fileName = file.get<std::string>();
    if (!staysInFolder(fileName))
      return absl::InvalidArgumentError(
          absl::StrCat("weight_map of '", printable(name), "' is '", printable(fileName),
                       "', which is not the name of a file in this folder or in one below"));
    fileNames_[name] = fileName;
  }
  return absl::OkStatus();
}

std::string Checkpoint::fileOf(const std::string &name) const {
  auto it = fileNames_.find(name);
  return absl::StrCat(folder_, "/", it == fileNames_.end() ? kSingleFile : it->second);
}

StatusOr<const CheckpointTensor *> Checkpoint::find(const std::string &name) {
  if (!fileNames_.empty() && !fileNames_.count(name))
    return absl::NotFoundError(absl::StrCat(printable(folder_), "/", kIndexFile,
                                            ": there is no tensor '", printable(name),
                                            "'; give the weights of the compiled model"));
  std::string path = fileOf(name);
  std::unique_ptr<SafetensorsFile> &file = files_[path];
  if (!file) {
    CLEAVE_ASSIGN_OR_RETURN(file, SafetensorsFile::open(path));
  }
  auto it = file->tensors().find(name);
  if (it == file->tensors().end())
    return absl::NotFoundError(absl::StrCat(printable(path), ": there is no tensor '",
                                            printable(name),
                                            "'; give the weights of the compiled model"));
  return &it->second;
}

} // namespace cleave::rt
