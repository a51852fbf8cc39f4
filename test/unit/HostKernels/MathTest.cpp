// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The polynomial functions against the C library in f64.

#include "LoadedKernels.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>

namespace {

using cleave::test::Buffer;
using cleave::test::LoadedKernels;

constexpr int64_t kSize = 65536;

std::string unaryKernels() {
  std::string text = "#id = affine_map<(i) -> (i)>\n";
  for (const char *name : {"exp", "log", "log1p", "expm1", "tanh", "erf", "rsqrt", "sin", "cos"}) {
    std::string function(name);
    text += "func.func @" + function +
            "(%x: tensor<65536xf32>) -> tensor<65536xf32> {\n"
            "  %e = tensor.empty() : tensor<65536xf32>\n"
            "  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = [\"parallel\"]}\n"
            "    ins(%x : tensor<65536xf32>) outs(%e : tensor<65536xf32>) {\n"
            "  ^bb0(%a: f32, %o: f32):\n"
            "    %r = math." +
            function +
            " %a : f32\n"
            "    linalg.yield %r : f32\n"
            "  } -> tensor<65536xf32>\n"
            "  return %y : tensor<65536xf32>\n"
            "}\n";
  }
  return text;
}

struct Case {
  const char *name;
  double (*reference)(double);
  float low, high;
};

/// Distance in units in the last place of f32 at `expected`; absolute below the normal range.
double unitsApart(float got, double expected) {
  float nearest = static_cast<float>(expected);
  if (std::isnan(nearest) || std::isinf(nearest) || std::isnan(got) || std::isinf(got))
    return (std::isnan(nearest) && std::isnan(got)) || nearest == got ? 0 : INFINITY;
  double magnitude = std::max(std::fabs(expected), 1.17549435e-38);
  double unit = std::ldexp(1.0, std::ilogb(magnitude) - 23);
  return std::fabs(got - expected) / unit;
}

TEST(Math, WithinTwoUnitsInTheLastPlace) {
  LoadedKernels kernels(unaryKernels());
  ASSERT_TRUE(kernels) << kernels.error();
  const Case cases[] = {
      {"exp", [](double x) { return std::exp(x); }, -86.6f, 88.7f},
      {"log", [](double x) { return std::log(x); }, 1e-6f, 1e6f},
      {"log", [](double x) { return std::log(x); }, 0.9f, 1.1f},
      {"log1p", [](double x) { return std::log1p(x); }, -0.9f, 100.0f},
      {"log1p", [](double x) { return std::log1p(x); }, -1e-3f, 1e-3f},
      {"expm1", [](double x) { return std::expm1(x); }, -10.0f, 20.0f},
      {"expm1", [](double x) { return std::expm1(x); }, -1e-3f, 1e-3f},
      {"tanh", [](double x) { return std::tanh(x); }, -12.0f, 12.0f},
      {"tanh", [](double x) { return std::tanh(x); }, -1.0f, 1.0f},
      {"erf", [](double x) { return std::erf(x); }, -5.0f, 5.0f},
      {"erf", [](double x) { return std::erf(x); }, -1.0f, 1.0f},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-6f, 1e6f},
      {"sin", [](double x) { return std::sin(x); }, -1e5f, 1e5f},
      {"cos", [](double x) { return std::cos(x); }, -1e5f, 1e5f},
  };
  std::mt19937 random(7);
  Buffer<float> x(kSize), y(kSize);
  for (const Case &test : cases) {
    std::uniform_real_distribution<float> values(test.low, test.high);
    for (float &value : x)
      value = values(random);
    kernels.call(test.name, {x.data(), y.data()});
    double worst = 0;
    float at = 0;
    for (int64_t i = 0; i < kSize; ++i) {
      double units = unitsApart(y[i], test.reference(x[i]));
      if (units > worst)
        worst = units, at = x[i];
    }
    double limit = std::string(test.name) == "log1p" || std::string(test.name) == "expm1" ? 4 : 2;
    EXPECT_LE(worst, limit) << test.name << " at " << at;
  }
}

TEST(Math, SpecialValues) {
  LoadedKernels kernels(unaryKernels());
  ASSERT_TRUE(kernels) << kernels.error();
  constexpr float inf = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  Buffer<float> x(kSize), y(kSize);
  auto at = [&](const char *name, float value) {
    std::fill(x.begin(), x.end(), value);
    kernels.call(name, {x.data(), y.data()});
    return y[kSize - 1];
  };
  EXPECT_EQ(at("exp", inf), inf);
  EXPECT_EQ(at("exp", 89.0f), inf);
  EXPECT_EQ(at("exp", -inf), 0.0f);
  EXPECT_EQ(at("exp", -200.0f), 0.0f);
  EXPECT_EQ(at("exp", 0.0f), 1.0f);
  EXPECT_TRUE(std::isnan(at("exp", nan)));
  EXPECT_EQ(at("log", 0.0f), -inf);
  EXPECT_EQ(at("log", inf), inf);
  EXPECT_EQ(at("log", 1.0f), 0.0f);
  EXPECT_TRUE(std::isnan(at("log", -1.0f)));
  EXPECT_TRUE(std::isnan(at("log", nan)));
  EXPECT_NEAR(at("log", 1e-40f), std::log(1e-40), 1e-4);
  EXPECT_EQ(at("log1p", 0.0f), 0.0f);
  EXPECT_EQ(at("log1p", -1.0f), -inf);
  EXPECT_EQ(at("log1p", inf), inf);
  EXPECT_EQ(at("expm1", 0.0f), 0.0f);
  EXPECT_EQ(at("expm1", -inf), -1.0f);
  EXPECT_EQ(at("expm1", inf), inf);
  EXPECT_EQ(at("tanh", inf), 1.0f);
  EXPECT_EQ(at("tanh", -inf), -1.0f);
  EXPECT_TRUE(std::isnan(at("tanh", nan)));
  EXPECT_EQ(at("erf", inf), 1.0f);
  EXPECT_EQ(at("erf", -inf), -1.0f);
  EXPECT_TRUE(std::isnan(at("erf", nan)));
}

} // namespace
