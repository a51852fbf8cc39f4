// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Element types, their sizes and names, and conversion between the floating-point ones.
#ifndef CLEAVE_RUNTIME_BASE_DTYPE_H
#define CLEAVE_RUNTIME_BASE_DTYPE_H

#include "base/status.h"
#include "cleave/schema/executable_generated.h"
#include <bit>
#include <cstring>
#include <optional>

namespace cleave::rt {

using DType = fb::DType;

/// False for a byte from a file that names no type.
inline bool isKnown(DType type) { return type <= DType::MAX; }
uint64_t sizeOf(DType type);
/// Upper-case name as in safetensors: "F32", "BF16", "I64", "BOOL", ...
const char *nameOf(DType type);
/// The type a safetensors header names, if the runtime knows it.
std::optional<DType> dtypeFromName(absl::string_view name);
bool isFloat(DType type);

inline float bf16ToFloat(uint16_t x) { return std::bit_cast<float>(uint32_t(x) << 16); }
/// Round to nearest, ties to even; a NaN stays a NaN.
inline uint16_t floatToBf16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}
float f16ToFloat(uint16_t x);
uint16_t floatToF16(float x);

/// Converts `count` elements from one type to another: any two floating-point types, or equal
/// types. The buffers must not overlap and need no alignment.
void convertElements(DType from, const void *src, DType to, void *dst, uint64_t count);
/// True if convertElements can do it.
inline bool isConvertible(DType from, DType to) {
  return from == to || (isFloat(from) && isFloat(to));
}

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_BASE_DTYPE_H
