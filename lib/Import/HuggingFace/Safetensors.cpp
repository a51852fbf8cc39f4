// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One safetensors file: the header and its checks.

#include "cleave/Import/HuggingFace/Safetensors.h"
#include "cleave/Import/HuggingFace/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using nlohmann::json;

namespace cleave::safetensors {
namespace {

/// What the format's own library accepts.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kLengthBytes = 8;
constexpr size_t kMaxRank = 64;

struct DTypeRow {
  StringRef name;
  int64_t bytes;
};
/// In the order of DType.
constexpr DTypeRow kDTypes[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
                                {"U16", 2},  {"I16", 2}, {"F16", 2}, {"BF16", 2},    {"U32", 4},
                                {"I32", 4},  {"F32", 4}, {"U64", 8}, {"I64", 8},     {"F64", 8}};

Error fault(const Twine &what) { return llvm::createStringError(what); }

/// The bytes that a tensor of this type and shape has, or nothing on overflow.
std::optional<uint64_t> bytesOf(DType dtype, llvm::ArrayRef<int64_t> shape) {
  int64_t bytes = byteSize(dtype);
  for (int64_t size : shape)
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  return bytes;
}

Expected<uint64_t> readOffset(const json &value, StringRef tensor) {
  if (!value.is_number_unsigned())
    return fault("tensor " + quoteText(tensor) +
                 ": \"data_offsets\": expected two non-negative integers, found " +
                 describeJson(value));
  return value.get<uint64_t>();
}

/// Reads one entry of the header.
Expected<TensorInfo> readTensor(StringRef name, const json &entry) {
  auto at = [&](StringRef key) {
    return ("tensor " + quoteText(name) + ": \"" + key + "\": ").str();
  };
  if (!entry.is_object())
    return fault("tensor " + quoteText(name) +
                 ": expected an object with dtype, shape and data_offsets, found " +
                 describeJson(entry));
  for (StringRef key : {"dtype", "shape", "data_offsets"})
    if (!entry.contains(key.str()))
      return fault("tensor " + quoteText(name) + ": \"" + key + "\" is missing");

  TensorInfo info;
  info.name = name.str();
  const json &dtype = entry["dtype"];
  std::optional<DType> known;
  if (dtype.is_string())
    known = dtypeOf(dtype.get_ref<const std::string &>());
  if (!known)
    return fault(at("dtype") + "expected one of BOOL, U8, I8, ..., F16, BF16, F32, F64, found " +
                 describeJson(dtype));
  info.dtype = *known;

  const json &shape = entry["shape"];
  if (!shape.is_array() || shape.size() > kMaxRank)
    return fault(at("shape") + "expected a list of at most " + Twine(kMaxRank) + " sizes, found " +
                 describeJson(shape));
  for (const json &size : shape) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t(INT64_MAX))
      return fault(at("shape") + "expected non-negative integers, found " + describeJson(size));
    info.shape.push_back(size.get<int64_t>());
  }

  const json &offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2)
    return fault(at("data_offsets") + "expected [begin, end], found " + describeJson(offsets));
  if (auto begin = readOffset(offsets[0], name))
    info.begin = *begin;
  else
    return begin.takeError();
  if (auto end = readOffset(offsets[1], name))
    info.end = *end;
  else
    return end.takeError();
  if (info.begin > info.end)
    return fault(at("data_offsets") + "begin " + Twine(info.begin) + " lies behind end " +
                 Twine(info.end));

  std::optional<uint64_t> bytes = bytesOf(info.dtype, info.shape);
  if (!bytes)
    return fault(at("shape") + formatShape(info.shape) + " of " + nameOf(info.dtype) +
                 " has more than 2^63 bytes");
  if (*bytes != info.end - info.begin)
    return fault("tensor " + quoteText(name) + ": " + formatShape(info.shape) + " of " +
                 nameOf(info.dtype) + " needs " + Twine(*bytes) + " bytes, but data_offsets [" +
                 Twine(info.begin) + ", " + Twine(info.end) + "] hold " +
                 Twine(info.end - info.begin));
  return info;
}

/// The byte ranges, sorted, must cover [0, size) exactly once.
Error checkCoverage(llvm::ArrayRef<TensorInfo> tensors, uint64_t size) {
  // First, because a file that was cut short is the usual fault and deserves its name.
  uint64_t promised = 0;
  for (const TensorInfo &tensor : tensors)
    promised = std::max(promised, tensor.end);
  if (promised > size)
    return fault("the file is truncated: its header promises " + Twine(promised) +
                 " bytes of tensors, and " + Twine(size) + " follow the header");
  uint64_t end = 0;
  const TensorInfo *last = nullptr;
  for (const TensorInfo &tensor : tensors) {
    if (tensor.begin < end)
      return fault("tensors " + quoteText(last->name) + " and " + quoteText(tensor.name) +
                   " overlap: bytes [" + Twine(last->begin) + ", " + Twine(last->end) + ") and [" +
                   Twine(tensor.begin) + ", " + Twine(tensor.end) + ")");
    if (tensor.begin > end)
      return fault("no tensor holds bytes [" + Twine(end) + ", " + Twine(tensor.begin) +
                   "), before tensor " + quoteText(tensor.name));
    end = tensor.end;
    last = &tensor;
  }
  if (end != size)
    return fault("no tensor holds bytes [" + Twine(end) + ", " + Twine(size) +
                 ") at the end of the file");
  return Error::success();
}

} // namespace

StringRef nameOf(DType dtype) { return kDTypes[size_t(dtype)].name; }

std::optional<DType> dtypeOf(StringRef name) {
  for (auto [index, row] : llvm::enumerate(kDTypes))
    if (row.name == name)
      return DType(index);
  return std::nullopt;
}

int64_t byteSize(DType dtype) { return kDTypes[size_t(dtype)].bytes; }

int64_t TensorInfo::elementCount() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string formatShape(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [index, size] : llvm::enumerate(shape))
    text += (index ? ", " : "") + std::to_string(size);
  return text + "]";
}

Expected<File> File::open(StringRef path) {
  llvm::sys::fs::file_status status;
  std::error_code code = llvm::sys::fs::status(path, status);
  if (!code && llvm::sys::fs::is_directory(status))
    code = std::make_error_code(std::errc::is_a_directory);
  if (code)
    return fault(path + ": cannot be read: " + code.message());
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fault(path + ": cannot be read: " + buffer.getError().message());
  File file;
  file.filePath = path.str();
  file.buffer = std::move(*buffer);
  if (Error error = file.parse(file.buffer->getBuffer()))
    return fault(path + ": " + llvm::toString(std::move(error)) +
                 "; copy or download the file again");
  return file;
}

Error File::parse(StringRef contents) {
  if (contents.size() < kLengthBytes)
    return fault("expected a safetensors file, found " + Twine(contents.size()) +
                 " bytes: the header's length alone has 8");
  uint64_t length = llvm::support::endian::read64le(contents.data());
  if (length > contents.size() - kLengthBytes)
    return fault("the header has " + Twine(length) +
                 " bytes by its length field, but the file has " + Twine(contents.size()) +
                 " in all: truncated, or not a safetensors file");
  if (length > kMaxHeaderBytes)
    return fault("the header has " + Twine(length) + " bytes; at most " + Twine(kMaxHeaderBytes) +
                 " are allowed");
  StringRef header = contents.substr(kLengthBytes, length);
  data = contents.drop_front(kLengthBytes + length);

  Expected<json> root = parseJson(header);
  if (!root)
    return fault("header: " + llvm::toString(root.takeError()));
  if (!root->is_object())
    return fault("header: expected an object, found " + describeJson(*root));
  for (const auto &[name, entry] : root->items()) {
    if (name == "__metadata__") {
      if (!entry.is_object())
        return fault("\"__metadata__\": expected an object, found " + describeJson(entry));
      for (const auto &[key, value] : entry.items()) {
        if (!value.is_string())
          return fault("\"__metadata__\": " + quoteText(key) + ": expected a string, found " +
                       describeJson(value));
        pairs.emplace_back(key, value.get_ref<const std::string &>());
      }
      continue;
    }
    Expected<TensorInfo> info = readTensor(name, entry);
    if (!info)
      return info.takeError();
    infos.push_back(std::move(*info));
  }
  // Empty tensors share their begin with the next one and go before it.
  llvm::sort(infos, [](const TensorInfo &a, const TensorInfo &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  for (auto [index, info] : llvm::enumerate(infos))
    byName[info.name] = index;
  return checkCoverage(infos, data.size());
}

const TensorInfo *File::find(StringRef name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &infos[found->second];
}

} // namespace cleave::safetensors
