// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The loops of a reduction. Included once by each file of an instruction set, and by nothing else.
// Only this file's own functions are used: an inline function of a shared header, compiled for a
// larger processor, could be the one that the linker keeps for everyone.
#include "drivers/host/reduce.h"

namespace {

using cleave::host::ReduceArgs;

using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

template <typename T> inline T minOf(T a, T b) { return a < b ? a : b; }

inline float bf16ToFloat(uint16_t x) { return __builtin_bit_cast(float, uint32_t(x) << 16); }
inline uint16_t floatToBf16(float x) {
  uint32_t bits = __builtin_bit_cast(uint32_t, x);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  return uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40 : rounded);
}

struct Half {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};

template <typename T> struct Accumulator {
  using Type = T;
  static T load(T x) { return x; }
  static T store(T x) { return x; }
};
template <> struct Accumulator<Bf16> {
  using Type = float;
  static float load(Bf16 x) { return bf16ToFloat(x.bits); }
  static Bf16 store(float x) { return {floatToBf16(x)}; }
};
template <> struct Accumulator<Half> {
  using Type = float;
  static float load(Half x) { return float(__builtin_bit_cast(_Float16, x.bits)); }
  static Half store(float x) { return {__builtin_bit_cast(uint16_t, _Float16(x))}; }
};

struct Sum {
  template <typename T> static T apply(T a, T b) {
    if constexpr (__is_floating_point(T))
      return a + b;
    else // wraps around
      return T(uint64_t(a) + uint64_t(b));
  }
};
// A NaN on either side gives a NaN.
struct Max {
  template <typename T> static T apply(T a, T b) { return a > b || a != a ? a : b; }
};
struct Min {
  template <typename T> static T apply(T a, T b) { return a < b || a != a ? a : b; }
};

template <typename T, typename Op> void reduceAs(const ReduceArgs &args) {
  using A = Accumulator<T>;
  using Acc = typename A::Type;
  constexpr uint64_t kChunk = 1024;
  alignas(64) Acc acc[kChunk];
  alignas(64) T result[kChunk];
  for (uint64_t begin = 0; begin < args.count; begin += kChunk) {
    uint64_t n = minOf(kChunk, args.count - begin);
    const T *first = static_cast<const T *>(args.sources[0]) + args.sourceBegin + begin;
    for (uint64_t i = 0; i < n; ++i)
      acc[i] = A::load(first[i]);
    unsigned s = 1;
    for (; s + 1 < args.numSources; s += 2) {
      const T *a = static_cast<const T *>(args.sources[s]) + args.sourceBegin + begin;
      const T *b = static_cast<const T *>(args.sources[s + 1]) + args.sourceBegin + begin;
      for (uint64_t i = 0; i < n; ++i)
        acc[i] = Op::apply(Op::apply(acc[i], A::load(a[i])), A::load(b[i]));
    }
    if (s < args.numSources) {
      const T *a = static_cast<const T *>(args.sources[s]) + args.sourceBegin + begin;
      for (uint64_t i = 0; i < n; ++i)
        acc[i] = Op::apply(acc[i], A::load(a[i]));
    }
    for (uint64_t i = 0; i < n; ++i)
      result[i] = A::store(acc[i]);
    for (unsigned d = 0; d < args.numDestinations; ++d)
      __builtin_memcpy(static_cast<T *>(args.destinations[d]) + args.destinationBegin + begin,
                       result, n * sizeof(T));
  }
}

template <typename T> void reduceTyped(const ReduceArgs &args) {
  switch (args.reduction) {
  case 0:
    return reduceAs<T, Sum>(args);
  case 1:
    return reduceAs<T, Max>(args);
  default:
    return reduceAs<T, Min>(args);
  }
}

void reduce(const ReduceArgs &args) {
  switch (args.dtype) {
  case 0:
    return reduceTyped<float>(args);
  case 1:
    return reduceTyped<double>(args);
  case 2:
    return reduceTyped<Bf16>(args);
  case 3:
    return reduceTyped<Half>(args);
  case 4:
    return reduceTyped<int64_t>(args);
  case 5:
    return reduceTyped<std::int32_t>(args);
  case 6:
    return reduceTyped<std::int16_t>(args);
  case 7:
    return reduceTyped<std::int8_t>(args);
  case 8:
    return reduceTyped<uint64_t>(args);
  case 9:
    return reduceTyped<uint32_t>(args);
  case 10:
    return reduceTyped<uint16_t>(args);
  default: // U8 and I1
    return reduceTyped<std::uint8_t>(args);
  }
}

} // namespace
