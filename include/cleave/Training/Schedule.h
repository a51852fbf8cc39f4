// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The learning rate of every step.
#ifndef CLEAVE_TRAINING_SCHEDULE_H
#define CLEAVE_TRAINING_SCHEDULE_H

#include <cstdint>
#include <string>

namespace cleave::training {

struct Schedule {
  enum class Kind { Constant, Cosine, Linear } kind = Kind::Constant;
  double peak = 3e-4, minimum = 0;
  uint64_t warmup = 0, steps = 1;

  /// Of a step counted from 0. It rises linearly to the peak over the first `warmup` steps, the
  /// first of which has peak / warmup, then stays or falls to the minimum, which the step after the
  /// last one would have.
  double learningRate(uint64_t step) const;
};

/// "constant", "cosine", "linear".
const char *nameOf(Schedule::Kind kind);
bool parseScheduleKind(const std::string &name, Schedule::Kind &kind);

} // namespace cleave::training

#endif // CLEAVE_TRAINING_SCHEDULE_H
