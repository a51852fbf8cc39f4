// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Training/Schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace cleave::training;

double Schedule::learningRate(uint64_t step) const {
  if (step < warmup)
    return peak * double(step + 1) / double(warmup);
  if (kind == Kind::Constant)
    return peak;
  double length = steps > warmup ? double(steps - warmup) : 1;
  double done = std::min(1.0, double(step - warmup) / length);
  double left = kind == Kind::Linear ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return minimum + (peak - minimum) * left;
}

const char *cleave::training::nameOf(Schedule::Kind kind) {
  switch (kind) {
  case Schedule::Kind::Constant:
    return "constant";
  case Schedule::Kind::Cosine:
    return "cosine";
  case Schedule::Kind::Linear:
    return "linear";
  }
  return "";
}

bool cleave::training::parseScheduleKind(const std::string &name, Schedule::Kind &kind) {
  for (Schedule::Kind candidate :
       {Schedule::Kind::Constant, Schedule::Kind::Cosine, Schedule::Kind::Linear})
    if (name == nameOf(candidate)) {
      kind = candidate;
      return true;
    }
  return false;
}
