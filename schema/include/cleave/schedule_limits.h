// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How much an entry's schedule may run, as the compiler holds to it and the loader checks it.
#ifndef CLEAVE_SCHEDULE_LIMITS_H
#define CLEAVE_SCHEDULE_LIMITS_H

#include <cstdint>

namespace cleave {

inline constexpr int64_t kMaxRepetitions = 1 << 14; ///< of a segment
inline constexpr int64_t kMaxInstructionRuns = 1
                                               << 24; ///< of all instructions of an entry together

} // namespace cleave

#endif // CLEAVE_SCHEDULE_LIMITS_H
