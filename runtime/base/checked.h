// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on sizes that come from a file: an overflow is remembered, never wrapped around.
#ifndef CLEAVE_RUNTIME_BASE_CHECKED_H
#define CLEAVE_RUNTIME_BASE_CHECKED_H

#include <cstdint>
#include <initializer_list>

namespace cleave::rt {

/// An unsigned 64-bit size that turns invalid on overflow and stays so.
class Checked {
public:
  Checked(uint64_t value) : value_(value) {}
  bool valid() const { return valid_; }
  /// The value; only meaningful if valid().
  uint64_t value() const { return value_; }
  /// True if the value is valid and at most `limit`.
  bool atMost(uint64_t limit) const { return valid_ && value_ <= limit; }
  bool equals(uint64_t other) const { return valid_ && value_ == other; }

  friend Checked operator*(Checked a, Checked b) {
    Checked r(0);
    r.valid_ = !__builtin_mul_overflow(a.value_, b.value_, &r.value_) && a.valid_ && b.valid_;
    return r;
  }
  friend Checked operator+(Checked a, Checked b) {
    Checked r(0);
    r.valid_ = !__builtin_add_overflow(a.value_, b.value_, &r.value_) && a.valid_ && b.valid_;
    return r;
  }

private:
  uint64_t value_;
  bool valid_ = true;
};

inline Checked checkedProduct(std::initializer_list<uint64_t> factors) {
  Checked r(1);
  for (uint64_t f : factors)
    r = r * Checked(f);
  return r;
}

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_BASE_CHECKED_H
