// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Training/Schedule.h"
#include "cleave/Training/Initialization.h"
#include "cleave/Training/Random.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace cleave::training;
using testing::ElementsAre;

namespace {

TEST(Schedule, Constant) {
  Schedule schedule{Schedule::Kind::Constant, 1.0, 0.25, 4, 10};
  EXPECT_DOUBLE_EQ(schedule.learningRate(0), 0.25);
  EXPECT_DOUBLE_EQ(schedule.learningRate(3), 1);
  EXPECT_DOUBLE_EQ(schedule.learningRate(4), 1);
  EXPECT_DOUBLE_EQ(schedule.learningRate(100), 1);
}

TEST(Schedule, Linear) {
  Schedule schedule{Schedule::Kind::Linear, 1.0, 0.2, 2, 10};
  EXPECT_DOUBLE_EQ(schedule.learningRate(0), 0.5);
  EXPECT_DOUBLE_EQ(schedule.learningRate(2), 1);
  EXPECT_DOUBLE_EQ(schedule.learningRate(6), 0.6);
  EXPECT_DOUBLE_EQ(schedule.learningRate(10), 0.2);
  EXPECT_DOUBLE_EQ(schedule.learningRate(11), 0.2);
}

TEST(Schedule, Cosine) {
  Schedule schedule{Schedule::Kind::Cosine, 2.0, 1.0, 0, 12};
  EXPECT_DOUBLE_EQ(schedule.learningRate(0), 2);
  EXPECT_DOUBLE_EQ(schedule.learningRate(3), 1 + 0.5 * (1 + std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(schedule.learningRate(6), 1.5);
  EXPECT_DOUBLE_EQ(schedule.learningRate(12), 1);
}

TEST(Schedule, WarmupLongerThanTheRun) {
  Schedule schedule{Schedule::Kind::Cosine, 1.0, 0, 100, 10};
  EXPECT_DOUBLE_EQ(schedule.learningRate(9), 0.1);
  EXPECT_DOUBLE_EQ(schedule.learningRate(99), 1);
}

// The known answers published with the reference implementation of Random123.
TEST(Philox, KnownAnswers) {
  EXPECT_THAT(philox({0, 0, 0, 0}, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Initialization, ByName) {
  EXPECT_EQ(initializerOf("model.embed_tokens.weight", 2), Initializer::Normal);
  EXPECT_EQ(initializerOf("model.layers.3.mlp.up_proj.weight", 2), Initializer::Normal);
  EXPECT_EQ(initializerOf("model.layers.3.input_layernorm.weight", 1), Initializer::Ones);
  EXPECT_EQ(initializerOf("model.layers.3.self_attn.q_norm.weight", 1), Initializer::Ones);
  EXPECT_EQ(initializerOf("model.norm.weight", 1), Initializer::Ones);
  EXPECT_EQ(initializerOf("transformer.h.0.ln_1.weight", 1), Initializer::Ones);
  EXPECT_EQ(initializerOf("transformer.ln_f.bias", 1), Initializer::Zeros);
  EXPECT_EQ(initializerOf("transformer.h.0.attn.c_attn.bias", 1), Initializer::Zeros);
}

TEST(Initialization, NormalValues) {
  std::vector<float> values = initialValues("a.weight", 2, 40001, 3);
  double sum = 0, squares = 0, fourth = 0;
  for (float value : values) {
    sum += value;
    squares += double(value) * value;
    fourth += std::pow(double(value), 4);
  }
  double n = double(values.size()), variance = squares / n;
  EXPECT_NEAR(sum / n, 0, 4 * 0.02 / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(variance), 0.02, 0.0003);
  EXPECT_NEAR(fourth / n / (variance * variance), 3,
              0.15); // The kurtosis of a normal distribution.
  // A shorter tensor is the beginning; seed and name choose the stream.
  std::vector<float> shorter = initialValues("a.weight", 2, 1002, 3);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), values.begin()));
  EXPECT_NE(initialValues("a.weight", 2, 8, 4), initialValues("a.weight", 2, 8, 3));
  EXPECT_NE(initialValues("b.weight", 2, 8, 3), initialValues("a.weight", 2, 8, 3));
  EXPECT_THAT(initialValues("norm.weight", 1, 3, 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(initialValues("a.bias", 1, 3, 3), ElementsAre(0, 0, 0));
}

} // namespace
