// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random numbers of the interpreter.

#include "Interpreter/Philox.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using cleave::interpreter::philox;
using testing::ElementsAre;

namespace {

/// The vectors that come with the authors' own implementation.
TEST(Philox, KnownAnswers) {
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  uint32_t ones = 0xffffffff;
  EXPECT_THAT(philox({ones, ones, ones, ones}, {ones, ones}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

} // namespace
