// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The seed of a random test: the same in every run, so that a change and not chance decides whether
// it passes. CLEAVE_TEST_SEED=N replays or explores another seed.
#ifndef CLEAVE_TEST_UNIT_LAYOUT_SEED_H
#define CLEAVE_TEST_UNIT_LAYOUT_SEED_H

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace cleave::test {

inline uint32_t seedFromEnvironment() {
  if (const char *text = std::getenv("CLEAVE_TEST_SEED"))
    return std::strtoul(text, nullptr, 10);
  return 1;
}

inline std::string replayText(uint32_t seed, int round) {
  return "CLEAVE_TEST_SEED=" + std::to_string(seed) + " round " + std::to_string(round);
}

} // namespace cleave::test

#endif // CLEAVE_TEST_UNIT_LAYOUT_SEED_H
