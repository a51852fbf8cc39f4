// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "base/dtype.h"

#include <algorithm>
#include <utility>

namespace cleave::rt {
namespace {

struct TypeInfo {
  const char *name;
  uint8_t size;
  bool isFloat;
};
constexpr TypeInfo kTypes[] = {
    {"F32", 4, true},  {"F64", 8, true},  {"BF16", 2, true}, {"F16", 2, true},  {"I64", 8, false},
    {"I32", 4, false}, {"I16", 2, false}, {"I8", 1, false},  {"U64", 8, false}, {"U32", 4, false},
    {"U16", 2, false}, {"U8", 1, false},  {"BOOL", 1, false}};
static_assert(std::size(kTypes) == size_t(DType::MAX) + 1);

template <typename T> T loadAt(const void *base, uint64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char *>(base) + i * sizeof(T), sizeof(T));
  return value;
}
template <typename T> void storeAt(void *base, uint64_t i, T value) {
  std::memcpy(static_cast<char *>(base) + i * sizeof(T), &value, sizeof(T));
}

double loadDouble(DType type, const void *base, uint64_t i) {
  switch (type) {
  case DType::F64:
    return loadAt<double>(base, i);
  case DType::BF16:
    return bf16ToFloat(loadAt<uint16_t>(base, i));
  case DType::F16:
    return f16ToFloat(loadAt<uint16_t>(base, i));
  default:
    return loadAt<float>(base, i);
  }
}

void storeDouble(DType type, void *base, uint64_t i, double value) {
  switch (type) {
  case DType::F64:
    return storeAt<double>(base, i, value);
  case DType::BF16:
    return storeAt<uint16_t>(base, i, floatToBf16(float(value)));
  case DType::F16:
    return storeAt<uint16_t>(base, i, floatToF16(float(value)));
  default:
    return storeAt<float>(base, i, float(value));
  }
}

} // namespace

uint64_t sizeOf(DType type) { return isKnown(type) ? kTypes[size_t(type)].size : 0; }
const char *nameOf(DType type) { return isKnown(type) ? kTypes[size_t(type)].name : "unknown"; }
bool isFloat(DType type) { return isKnown(type) && kTypes[size_t(type)].isFloat; }

std::optional<DType> dtypeFromName(absl::string_view name) {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (name == kTypes[i].name)
      return DType(i);
  return std::nullopt;
}

float f16ToFloat(uint16_t x) {
  uint32_t sign = uint32_t(x & 0x8000) << 16;
  uint32_t exponent = (x >> 10) & 0x1f, mantissa = x & 0x3ff;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero or subnormal: the mantissa counts units of 2^-24.
  float magnitude = float(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

uint16_t floatToF16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  uint16_t sign = uint16_t((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return sign | 0x7e00; // NaN
  if (magnitude >= 0x477ff000u)
    return sign | 0x7c00; // rounds to infinity
  if (magnitude < 0x38800000u) {
    // Subnormal result: adding 0.5 aligns the mantissa to units of 2^-24, rounding to even.
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | uint16_t(std::bit_cast<uint32_t>(shifted) - 0x3f000000u);
  }
  uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1);
  return sign | uint16_t((rounded - 0x38000000u) >> 13);
}

void convertElements(DType from, const void *src, DType to, void *dst, uint64_t count) {
  if (from == to) {
    std::memcpy(dst, src, count * sizeOf(from));
    return;
  }
  // The pairs that matter for loading weights get loops that vectorise.
  if (from == DType::BF16 && to == DType::F32) {
    for (uint64_t i = 0; i < count; ++i)
      storeAt<float>(dst, i, bf16ToFloat(loadAt<uint16_t>(src, i)));
    return;
  }
  if (from == DType::F32 && to == DType::BF16) {
    for (uint64_t i = 0; i < count; ++i)
      storeAt<uint16_t>(dst, i, floatToBf16(loadAt<float>(src, i)));
    return;
  }
  if (from == DType::F16 && to == DType::F32) {
    for (uint64_t i = 0; i < count; ++i)
      storeAt<float>(dst, i, f16ToFloat(loadAt<uint16_t>(src, i)));
    return;
  }
  for (uint64_t i = 0; i < count; ++i)
    storeDouble(to, dst, i, loadDouble(from, src, i));
}

} // namespace cleave::rt
