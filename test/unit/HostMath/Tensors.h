// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Typed buffers for tests: filled from doubles, read back as doubles, with guard elements around
// them that show writes out of bounds.
#ifndef CLEAVE_TEST_UNIT_HOSTMATH_TENSORS_H
#define CLEAVE_TEST_UNIT_HOSTMATH_TENSORS_H

#include "cleave/schema/executable_generated.h"
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

namespace cleave::test {

/// Seeded from the command line of the test, or from the case's number: a failure names its seed.
using Random = std::mt19937_64;
inline int64_t pick(Random &random, int64_t from, int64_t to) {
  return from + int64_t(random() % uint64_t(to - from + 1));
}
inline bool chance(Random &random, int oneIn) { return random() % uint64_t(oneIn) == 0; }
/// Roughly normal, mean 0, deviation 1.
inline double normal(Random &random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i)
    sum += double(random() >> 11) * 0x1p-53;
  return sum;
}

inline uint16_t toBf16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

class Buffer {
public:
  Buffer(fb::DType dtype, int64_t count) : dtype_(dtype), count_(count) {
    bytes_.resize(size_t(count + 2 * kGuard) * size_t(width()), kGuardByte);
  }
  void *data() { return bytes_.data() + kGuard * width(); }
  int64_t size() const { return count_; }

  void set(int64_t i, double x) {
    char *at = bytes_.data() + (kGuard + i) * width();
    switch (dtype_) {
    case fb::DType::BF16: {
      uint16_t y = toBf16(float(x));
      std::memcpy(at, &y, 2);
      return;
    }
    case fb::DType::F16: {
      _Float16 y = _Float16(x);
      std::memcpy(at, &y, 2);
      return;
    }
    default: {
      float y = float(x);
      std::memcpy(at, &y, 4);
    }
    }
  }
  double get(int64_t i) const {
    const char *at = bytes_.data() + (kGuard + i) * width();
    if (dtype_ == fb::DType::F32) {
      float x;
      std::memcpy(&x, at, 4);
      return x;
    }
    uint16_t x;
    std::memcpy(&x, at, 2);
    if (dtype_ == fb::DType::BF16)
      return std::bit_cast<float>(uint32_t(x) << 16);
    return double(std::bit_cast<_Float16>(x));
  }
  void fill(double x) {
    for (int64_t i = 0; i < count_; ++i)
      set(i, x);
  }
  void fillNormal(Random &random, double scale = 1) {
    for (int64_t i = 0; i < count_; ++i)
      set(i, scale * normal(random));
  }
  bool guardsIntact() const {
    size_t guard = size_t(kGuard * width());
    for (size_t i = 0; i < guard; ++i)
      if (bytes_[i] != kGuardByte || bytes_[bytes_.size() - 1 - i] != kGuardByte)
        return false;
    return true;
  }
  bool operator==(const Buffer &other) const { return bytes_ == other.bytes_; }

private:
  static constexpr int64_t kGuard = 32;
  static constexpr char kGuardByte = 0x5a;
  int64_t width() const { return dtype_ == fb::DType::F32 ? 4 : 2; }
  fb::DType dtype_;
  int64_t count_;
  std::vector<char> bytes_;
};

/// Aligned memory full of NaN, followed by a guard.
class Scratch {
public:
  explicit Scratch(size_t bytes)
      : bytes_(bytes),
        memory_(static_cast<unsigned char *>(::operator new(bytes + 64, std::align_val_t(64)))) {
    std::memset(memory_.get(), 0xff, bytes + 64);
  }
  void *get() { return memory_.get(); }
  bool guardIntact() const {
    for (size_t i = 0; i < 64; ++i)
      if (memory_.get()[bytes_ + i] != 0xff)
        return false;
    return true;
  }

private:
  struct Free {
    void operator()(void *p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  size_t bytes_;
  std::unique_ptr<unsigned char, Free> memory_;
};

} // namespace cleave::test

#endif // CLEAVE_TEST_UNIT_HOSTMATH_TENSORS_H
