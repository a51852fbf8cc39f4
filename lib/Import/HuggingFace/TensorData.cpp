// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Elements of safetensors: conversions at load, and the writer.

#include "cleave/Import/HuggingFace/Json.h"
#include "cleave/Import/HuggingFace/Safetensors.h"
#include "cleave/Output/AtomicFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include <bit>
#include <cmath>

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace cleave::safetensors {
namespace {

float floatOfBF16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

float floatOfF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) { // zero and subnormals: mantissa x 2^-24
    float magnitude = std::ldexp(float(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

/// Reads every element as the little-endian `Stored` and converts it.
template <typename Stored, typename Out, typename Convert>
std::vector<Out> convertAll(StringRef bytes, Convert convert) {
  std::vector<Out> result(bytes.size() / sizeof(Stored));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = convert(llvm::support::endian::read<Stored, llvm::endianness::little>(
        bytes.data() + i * sizeof(Stored)));
  return result;
}

template <typename Stored, typename Out> std::vector<Out> castAll(StringRef bytes) {
  return convertAll<Stored, Out>(bytes, [](Stored value) { return static_cast<Out>(value); });
}

Error refuse(TensorRef tensor, const Twine &expected) {
  return llvm::createStringError(tensor.file->path() + ": tensor " + quoteText(tensor.info->name) +
                                 ": expected " + expected + ", found " +
                                 nameOf(tensor.info->dtype));
}

/// The float types; nothing for any other.
template <typename Out> std::optional<std::vector<Out>> floatElements(TensorRef tensor) {
  StringRef bytes = tensor.file->bytes(*tensor.info);
  switch (tensor.info->dtype) {
  case DType::F64:
    return castAll<double, Out>(bytes);
  case DType::F32:
    return castAll<float, Out>(bytes);
  case DType::BF16:
    return convertAll<uint16_t, Out>(bytes, floatOfBF16);
  case DType::F16:
    return convertAll<uint16_t, Out>(bytes, floatOfF16);
  default:
    return std::nullopt;
  }
}

/// The integer types of at most 32 bits and I64; nothing for any other.
template <typename Out> std::optional<std::vector<Out>> integerElements(TensorRef tensor) {
  StringRef bytes = tensor.file->bytes(*tensor.info);
  switch (tensor.info->dtype) {
  case DType::I64:
    return castAll<int64_t, Out>(bytes);
  case DType::I32:
    return castAll<int32_t, Out>(bytes);
  case DType::U32:
    return castAll<uint32_t, Out>(bytes);
  case DType::I16:
    return castAll<int16_t, Out>(bytes);
  case DType::U16:
    return castAll<uint16_t, Out>(bytes);
  case DType::I8:
    return castAll<int8_t, Out>(bytes);
  case DType::U8:
    return castAll<uint8_t, Out>(bytes);
  case DType::Bool:
    return convertAll<uint8_t, Out>(bytes, [](uint8_t value) { return Out(value != 0); });
  default:
    return std::nullopt;
  }
}

} // namespace

Expected<std::vector<double>> readDoubles(TensorRef tensor) {
  if (auto values = floatElements<double>(tensor))
    return std::move(*values);
  // Not I64: a double would round large values.
  if (tensor.info->dtype != DType::I64)
    if (auto values = integerElements<double>(tensor))
      return std::move(*values);
  return refuse(tensor, "F32, BF16, F16, F64 or integers of at most 32 bits");
}

Expected<std::vector<float>> readFloats(TensorRef tensor) {
  if (auto values = floatElements<float>(tensor))
    return std::move(*values);
  return refuse(tensor, "F32, BF16, F16 or F64");
}

Expected<std::vector<int64_t>> readIntegers(TensorRef tensor) {
  if (auto values = integerElements<int64_t>(tensor))
    return std::move(*values);
  if (tensor.info->dtype != DType::U64)
    return refuse(tensor, "integers");
  auto values = castAll<uint64_t, int64_t>(tensor.file->bytes(*tensor.info));
  if (llvm::any_of(values, [](int64_t value) { return value < 0; }))
    return refuse(tensor, "integers below 2^63");
  return values;
}

namespace {

/// The length field and the header, padded with spaces so that the tensors begin at a multiple
/// of 8.
Expected<std::string> headerOf(llvm::ArrayRef<const TensorToWrite *> tensors,
                               llvm::ArrayRef<std::pair<std::string, std::string>> metadata) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  for (const auto &[key, value] : metadata)
    root["__metadata__"][key] = value;
  uint64_t offset = 0;
  for (const TensorToWrite *tensor : tensors) {
    TensorInfo info{tensor->name, tensor->dtype, tensor->shape};
    uint64_t bytes = uint64_t(info.elementCount()) * byteSize(tensor->dtype);
    if (bytes != tensor->bytes.size())
      return llvm::createStringError("tensor " + quoteText(tensor->name) + ": " +
                                     formatShape(tensor->shape) + " of " + nameOf(tensor->dtype) +
                                     " has " + Twine(bytes) + " bytes, and " +
                                     Twine(tensor->bytes.size()) + " are given");
    if (root.contains(tensor->name) || tensor->name == "__metadata__")
      return llvm::createStringError("tensor name " + quoteText(tensor->name) +
                                     " is already taken");
    auto &entry = root[tensor->name];
    entry["dtype"] = nameOf(tensor->dtype).str();
    entry["shape"] = nlohmann::ordered_json::array();
    for (int64_t size : tensor->shape)
      entry["shape"].push_back(size);
    entry["data_offsets"] = {offset, offset + bytes};
    offset += bytes;
  }
  // Invalid UTF-8 in a name is replaced, since dump() has no other way to report it than throwing.
  std::string header = root.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string length(8, '\0');
  llvm::support::endian::write64le(length.data(), header.size());
  return length + header;
}

} // namespace

Error write(StringRef path, llvm::ArrayRef<TensorToWrite> tensors,
            llvm::ArrayRef<std::pair<std::string, std::string>> metadata) {
  // Wide elements first: then every tensor is aligned to its element. Otherwise the order given.
  llvm::SmallVector<const TensorToWrite *> order;
  for (const TensorToWrite &tensor : tensors)
    order.push_back(&tensor);
  llvm::sort(order, [](const TensorToWrite *a, const TensorToWrite *b) {
    return std::pair(-byteSize(a->dtype), a) < std::pair(-byteSize(b->dtype), b);
  });
  Expected<std::string> header = headerOf(order, metadata);
  if (!header)
    return llvm::createStringError(path + ": " + llvm::toString(header.takeError()));
  llvm::SmallVector<StringRef> parts{*header};
  for (const TensorToWrite *tensor : order)
    parts.push_back(tensor->bytes);
  return writeFileAtomically(path, parts);
}

} // namespace cleave::safetensors
