// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each op of the graph dialect that can be part of a kernel, compiled, against plain C++.

#include "LoadedKernels.h"

#include "cleave/Training/Random.h"

#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace {

using cleave::test::Buffer;
using cleave::test::fromBF16;
using cleave::test::LoadedKernels;
using cleave::test::toBF16;

constexpr int kSize = 257;

struct Unary {
  const char *op;
  double (*reference)(double);
  float low, high;
};

const Unary kUnary[] = {
    {"graph.negate %x", [](double x) { return -x; }, -4, 4},
    {"graph.abs %x", [](double x) { return std::fabs(x); }, -4, 4},
    {"graph.sign %x", [](double x) { return double((x > 0) - (x < 0)); }, -4, 4},
    {"graph.exp %x", [](double x) { return std::exp(x); }, -20, 20},
    {"graph.expm1 %x", [](double x) { return std::expm1(x); }, -4, 4},
    {"graph.log %x", [](double x) { return std::log(x); }, 1e-3f, 20},
    {"graph.log1p %x", [](double x) { return std::log1p(x); }, -0.5f, 20},
    {"graph.sqrt %x", [](double x) { return std::sqrt(x); }, 0, 20},
    {"graph.rsqrt %x", [](double x) { return 1 / std::sqrt(x); }, 1e-3f, 20},
    {"graph.tanh %x", [](double x) { return std::tanh(x); }, -8, 8},
    {"graph.logistic %x", [](double x) { return 1 / (1 + std::exp(-x)); }, -100, 100},
    {"graph.sin %x", [](double x) { return std::sin(x); }, -40, 40},
    {"graph.cos %x", [](double x) { return std::cos(x); }, -40, 40},
    {"graph.erf %x", [](double x) { return std::erf(x); }, -4, 4},
    {"graph.floor %x", [](double x) { return std::floor(x); }, -4, 4},
    {"graph.ceil %x", [](double x) { return std::ceil(x); }, -4, 4},
    {"graph.relu %x", [](double x) { return std::fmax(x, 0); }, -4, 4},
    {"graph.silu %x", [](double x) { return x / (1 + std::exp(-x)); }, -30, 30},
    {"graph.gelu none %x", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }, -8,
     8},
    {"graph.gelu tanh %x",
     [](double x) {
       return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     },
     -8, 8},
};

std::string unaryText(const std::string &type) {
  std::string text;
  int number = 0;
  for (const Unary &unary : kUnary)
    text += "exec.kernel @k" + std::to_string(number++) + "(%x: " + type + ") -> " + type +
            " {\n  %0 = " + unary.op + " : " + type + "\n  exec.yield %0 : " + type + "\n}\n";
  return text;
}

TEST(GraphOps, UnaryF32) {
  LoadedKernels kernels(unaryText("tensor<257xf32>"));
  ASSERT_TRUE(kernels) << kernels.error();
  std::mt19937 random(1);
  int number = 0;
  for (const Unary &unary : kUnary) {
    Buffer<float> x(kSize), y(kSize);
    std::uniform_real_distribution<float> values(unary.low, unary.high);
    for (float &value : x)
      value = values(random);
    kernels.call(("k" + std::to_string(number++)).c_str(), {x.data(), y.data()});
    for (int i = 0; i < kSize; ++i) {
      double expected = unary.reference(x[i]);
      ASSERT_NEAR(y[i], expected, 5e-7 * std::max(1.0, std::fabs(expected))) << unary.op << x[i];
    }
  }
}

TEST(GraphOps, UnaryBF16) {
  LoadedKernels kernels(unaryText("tensor<257xbf16>"), "x86-64-v3");
  ASSERT_TRUE(kernels) << kernels.error();
  std::mt19937 random(2);
  int number = 0;
  for (const Unary &unary : kUnary) {
    Buffer<uint16_t> x(kSize), y(kSize);
    std::uniform_real_distribution<float> values(unary.low, unary.high);
    for (uint16_t &value : x)
      value = toBF16(values(random));
    kernels.call(("k" + std::to_string(number++)).c_str(), {x.data(), y.data()});
    for (int i = 0; i < kSize; ++i) {
      double expected = unary.reference(fromBF16(x[i]));
      ASSERT_NEAR(fromBF16(y[i]), expected, 1.0 / 256 * std::fabs(expected) + 1e-6)
          << unary.op << fromBF16(x[i]);
    }
  }
}

// The ends of short rows are stored under a mask, for which vectors are taken apart.
TEST(GraphOps, ShortRowsIn16Bits) {
  constexpr int kLongest = 33;
  for (std::string type : {"bf16", "f16"}) {
    std::string text;
    for (int n = 1; n <= kLongest; ++n) {
      std::string shape = "tensor<" + std::to_string(n) + "x", narrow = shape + type + ">",
                  wide = shape + "f32>", name = std::to_string(n);
      text += "exec.kernel @convert" + name + "(%x: " + wide + ") -> " + narrow +
              " {\n  %0 = graph.convert %x : " + wide + " -> " + narrow +
              "\n  exec.yield %0 : " + narrow + "\n}\n";
      text += "exec.kernel @choose" + name + "(%x: " + narrow + ", %y: " + narrow + ") -> " +
              narrow + " {\n  %0 = graph.compare lt %x, %y : (" + narrow + ", " + narrow + ") -> " +
              shape + "i1>\n  %1 = graph.select %0, %x, %y : (" + shape + "i1>, " + narrow + ", " +
              narrow + ") -> " + narrow + "\n  exec.yield %1 : " + narrow + "\n}\n";
    }
    auto narrowed = [&](float value) {
      return type == "bf16" ? toBF16(value) : __builtin_bit_cast(uint16_t, _Float16(value));
    };
    for (const char *target : {"native", "x86-64-v3"}) {
      LoadedKernels kernels(text, target);
      ASSERT_TRUE(kernels) << kernels.error();
      for (int n = 1; n <= kLongest; ++n) {
        Buffer<float> x(n), y(n);
        Buffer<uint16_t> a(n), b(n + 1), c(n + 1);
        b[n] = c[n] = 0x1234;
        for (int i = 0; i < n; ++i) {
          x[i] = 0.37f * float(i) - 3;
          y[i] = float(i % 3) - 1;
        }
        std::string name = std::to_string(n);
        kernels.call(("convert" + name).c_str(), {y.data(), a.data()});
        kernels.call(("convert" + name).c_str(), {x.data(), b.data()});
        kernels.call(("choose" + name).c_str(), {a.data(), b.data(), c.data()});
        for (int i = 0; i < n; ++i) {
          ASSERT_EQ(b[i], narrowed(x[i])) << type << " " << target << " " << n << " " << i;
          ASSERT_EQ(c[i], narrowed(std::min(x[i], y[i]))) << type << " " << target << " " << n;
        }
        ASSERT_EQ(b[n], 0x1234);
        ASSERT_EQ(c[n], 0x1234);
      }
    }
  }
}

TEST(GraphOps, IntegersNeverTrap) {
  LoadedKernels kernels(R"(
exec.kernel @div(%x: tensor<8xi64>, %y: tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>) {
  %0 = graph.divide %x, %y : tensor<8xi64>
  %1 = graph.remainder %x, %y : tensor<8xi64>
  exec.yield %0, %1 : tensor<8xi64>, tensor<8xi64>
}
exec.kernel @shift(%x: tensor<8xi32>, %y: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>) {
  %0 = graph.shift_left %x, %y : tensor<8xi32>
  %1 = graph.shift_right_logical %x, %y : tensor<8xi32>
  exec.yield %0, %1 : tensor<8xi32>, tensor<8xi32>
}
exec.kernel @convert(%x: tensor<8xf32>) -> (tensor<8xi32>, tensor<8xi1>, tensor<8xf64>) {
  %0 = graph.convert %x : tensor<8xf32> -> tensor<8xi32>
  %1 = graph.convert %x : tensor<8xf32> -> tensor<8xi1>
  %2 = graph.convert %1 : tensor<8xi1> -> tensor<8xf64>
  exec.yield %0, %1, %2 : tensor<8xi32>, tensor<8xi1>, tensor<8xf64>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  constexpr int64_t low = std::numeric_limits<int64_t>::min();
  {
    Buffer<int64_t> x(8), y(8), quotient(8), rest(8);
    const int64_t xs[] = {7, -7, low, 5, low, 0, -9, 9}, ys[] = {2, 2, -1, 0, 0, 3, -4, -4};
    const int64_t quotients[] = {3, -3, low, -1, -1, 0, 2, -2};
    const int64_t rests[] = {1, -1, 0, 5, low, 0, -1, 1};
    std::copy(xs, xs + 8, x.data()), std::copy(ys, ys + 8, y.data());
    kernels.call("div", {x.data(), y.data(), quotient.data(), rest.data()});
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(quotient[i], quotients[i]) << i;
      EXPECT_EQ(rest[i], rests[i]) << i;
    }
  }
  {
    Buffer<int32_t> x(8), y(8), left(8), right(8);
    const int32_t xs[] = {1, 1, 1, -1, -1, -8, 3, 3}, ys[] = {0, 31, 32, 1, 31, 1, -1, 40};
    const int32_t lefts[] = {
        1, std::numeric_limits<int32_t>::min(), 0, -2, std::numeric_limits<int32_t>::min(), -16, 0,
        0};
    const int32_t rights[] = {1, 0, 0, 0x7fffffff, 1, 0x7ffffffc, 0, 0};
    std::copy(xs, xs + 8, x.data()), std::copy(ys, ys + 8, y.data());
    kernels.call("shift", {x.data(), y.data(), left.data(), right.data()});
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(left[i], lefts[i]) << i;
      EXPECT_EQ(right[i], rights[i]) << i;
    }
  }
  {
    Buffer<float> x(8);
    Buffer<int32_t> whole(8);
    Buffer<uint8_t> truth(8);
    Buffer<double> number(8);
    const float xs[] = {1.9f, -1.9f, 3e9f, -3e9f, NAN, INFINITY, -INFINITY, 0.0f};
    const int32_t wholes[] = {1, -1,         2147483647,      -2147483647 - 1,
                              0, 2147483647, -2147483647 - 1, 0};
    std::copy(xs, xs + 8, x.data());
    kernels.call("convert", {x.data(), whole.data(), truth.data(), number.data()});
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(whole[i], wholes[i]) << i;
      EXPECT_EQ(truth[i], i < 7) << i;
      EXPECT_EQ(number[i], i < 7) << i;
    }
  }
}

TEST(GraphOps, BinaryAndChoice) {
  LoadedKernels kernels(R"(
exec.kernel @k(%x: tensor<64xf32>, %y: tensor<64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %p = graph.compare le %x, %y : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %0 = graph.select %p, %x, %y : (tensor<64xi1>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = graph.maximum %x, %y : tensor<64xf32>
  %2 = graph.power %y, %x : tensor<64xf32>
  %3 = graph.remainder %x, %y : tensor<64xf32>
  %4 = graph.clamp %x, %y, %1 : tensor<64xf32>
  exec.yield %0, %1, %2, %3, %4 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  Buffer<float> x(64), y(64), a(64), b(64), c(64), d(64), e(64);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> xs(-3, 3), ys(0.5f, 3);
  for (int i = 0; i < 64; ++i)
    x[i] = xs(random), y[i] = ys(random);
  x[5] = NAN;
  kernels.call("k", {x.data(), y.data(), a.data(), b.data(), c.data(), d.data(), e.data()});
  for (int i = 0; i < 64; ++i) {
    if (i == 5) {
      EXPECT_EQ(a[i], y[i]); // a comparison with NaN is false
      EXPECT_TRUE(std::isnan(b[i]));
      continue;
    }
    EXPECT_EQ(a[i], std::min(x[i], y[i]));
    EXPECT_EQ(b[i], std::max(x[i], y[i]));
    EXPECT_NEAR(c[i], std::pow(y[i], x[i]), 1e-5);
    EXPECT_NEAR(d[i], std::fmod(x[i], y[i]), 1e-6);
    EXPECT_EQ(e[i], std::min(std::max(x[i], y[i]), b[i]));
  }
}

TEST(GraphOps, MovingElements) {
  LoadedKernels kernels(R"(
exec.kernel @k(%x: tensor<4x6xf32>, %o: index) -> (tensor<6x4xf32>, tensor<2x3xf32>, tensor<7x8xf32>,
    tensor<4x9xf32>, tensor<3x8xf32>, tensor<4x6xf32>) {
  %0 = graph.transpose %x perm [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %1 = graph.slice %x [1:4:2, 0:6:2] : tensor<4x6xf32> -> tensor<2x3xf32>
  %c = graph.constant dense<-1.0> : tensor<f32>
  %2 = graph.pad %x, %c low [0, 3] high [0, -1] interior [1, 0]
      : (tensor<4x6xf32>, tensor<f32>) -> tensor<7x8xf32>
  %s = graph.slice %x [0:4, 3:6] : tensor<4x6xf32> -> tensor<4x3xf32>
  %3 = graph.concatenate %x, %s dim 1 : (tensor<4x6xf32>, tensor<4x3xf32>) -> tensor<4x9xf32>
  %4 = graph.reshape %x : tensor<4x6xf32> -> tensor<3x8xf32>
  %5 = graph.iota dim 1 offset %o : tensor<4x6xf32>
  exec.yield %0, %1, %2, %3, %4, %5 : tensor<6x4xf32>, tensor<2x3xf32>, tensor<7x8xf32>,
    tensor<4x9xf32>, tensor<3x8xf32>, tensor<4x6xf32>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  Buffer<float> x(24), t(24), s(6), p(56), c(36), r(24), n(24);
  for (int i = 0; i < 24; ++i)
    x[i] = i * 0.5f;
  kernels.call("k", {x.data(), t.data(), s.data(), p.data(), c.data(), r.data(), n.data()}, {-5});
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 6; ++j) {
      EXPECT_EQ(t[j * 4 + i], x[i * 6 + j]);
      EXPECT_EQ(c[i * 9 + j], x[i * 6 + j]);
      EXPECT_EQ(n[i * 6 + j], j - 5);
    }
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(r[i], x[i]);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j)
      EXPECT_EQ(c[i * 9 + 6 + j], x[i * 6 + 3 + j]);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      EXPECT_EQ(s[i * 3 + j], x[(1 + 2 * i) * 6 + 2 * j]);
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 8; ++j)
      EXPECT_EQ(p[i * 8 + j], i % 2 || j < 3 ? -1 : x[i / 2 * 6 + j - 3]);
}

TEST(GraphOps, ReductionsDotAndEmbedding) {
  LoadedKernels kernels(R"(
exec.kernel @reduce(%x: tensor<4x33xbf16>) -> (tensor<4xbf16>, tensor<33xbf16>, tensor<bf16>) {
  %0 = graph.reduce sum %x dims [1] : tensor<4x33xbf16> -> tensor<4xbf16>
  %1 = graph.reduce max %x dims [0] : tensor<4x33xbf16> -> tensor<33xbf16>
  %2 = graph.reduce min %x dims [0, 1] : tensor<4x33xbf16> -> tensor<bf16>
  exec.yield %0, %1, %2 : tensor<4xbf16>, tensor<33xbf16>, tensor<bf16>
}
exec.kernel @dot(%x: tensor<3x4x5xf64>, %y: tensor<3x5x2xf64>) -> tensor<3x4x2xf64> {
  %0 = graph.dot_general %x, %y batch [0] x [0] contract [2] x [1]
      : (tensor<3x4x5xf64>, tensor<3x5x2xf64>) -> tensor<3x4x2xf64>
  exec.yield %0 : tensor<3x4x2xf64>
}
exec.kernel @rows(%ids: tensor<2x3xi32>, %table: tensor<5x7xbf16>, %o: index) -> tensor<2x3x7xbf16> {
  %0 = graph.embedding %ids, %table offset %o
      : (tensor<2x3xi32>, tensor<5x7xbf16>, index) -> tensor<2x3x7xbf16>
  exec.yield %0 : tensor<2x3x7xbf16>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  std::mt19937 random(4);
  std::uniform_real_distribution<float> values(-3, 3);
  {
    Buffer<uint16_t> x(4 * 33), sum(4), max(33), min(1);
    for (uint16_t &value : x)
      value = toBF16(values(random));
    kernels.call("reduce", {x.data(), sum.data(), max.data(), min.data()});
    float lowest = INFINITY;
    for (int i = 0; i < 4; ++i) {
      float total = 0;
      for (int j = 0; j < 33; ++j) {
        total += fromBF16(x[i * 33 + j]);
        lowest = std::min(lowest, fromBF16(x[i * 33 + j]));
      }
      EXPECT_NEAR(fromBF16(sum[i]), total, std::fabs(total) / 200 + 1e-5);
    }
    EXPECT_EQ(fromBF16(min[0]), lowest);
    for (int j = 0; j < 33; ++j) {
      float highest = -INFINITY;
      for (int i = 0; i < 4; ++i)
        highest = std::max(highest, fromBF16(x[i * 33 + j]));
      EXPECT_EQ(fromBF16(max[j]), highest);
    }
  }
  {
    Buffer<double> x(60), y(30), z(24);
    for (double &value : x)
      value = values(random);
    for (double &value : y)
      value = values(random);
    kernels.call("dot", {x.data(), y.data(), z.data()});
    for (int b = 0; b < 3; ++b)
      for (int m = 0; m < 4; ++m)
        for (int n = 0; n < 2; ++n) {
          double sum = 0;
          for (int k = 0; k < 5; ++k)
            sum += x[(b * 4 + m) * 5 + k] * y[(b * 5 + k) * 2 + n];
          EXPECT_NEAR(z[(b * 4 + m) * 2 + n], sum, 1e-12);
        }
  }
  {
    Buffer<int32_t> ids(6);
    Buffer<uint16_t> table(35), y(42);
    const int32_t numbers[] = {10, 14, 15, 9, -2000000000, 12};
    std::copy(numbers, numbers + 6, ids.data());
    for (uint16_t &value : table)
      value = toBF16(values(random));
    kernels.call("rows", {ids.data(), table.data(), y.data()}, {10});
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 7; ++j) {
        int row = ids[i] - 10;
        EXPECT_EQ(y[i * 7 + j], row >= 0 && row < 5 ? table[row * 7 + j] : 0);
      }
  }
}

TEST(GraphOps, NormsAndRotation) {
  LoadedKernels kernels(R"(
exec.kernel @rms(%x: tensor<5x96xf32>, %w: tensor<96xf32>) -> tensor<5x96xf32> {
  %0 = graph.rms_norm %x weight %w eps = 1.0e-05 : (tensor<5x96xf32>, tensor<96xf32>) -> tensor<5x96xf32>
  exec.yield %0 : tensor<5x96xf32>
}
exec.kernel @layer(%x: tensor<5x96xf32>, %w: tensor<96xf32>, %b: tensor<96xf32>) -> tensor<5x96xf32> {
  %0 = graph.layer_norm %x weight %w bias %b eps = 1.0e-05
      : (tensor<5x96xf32>, tensor<96xf32>, tensor<96xf32>) -> tensor<5x96xf32>
  exec.yield %0 : tensor<5x96xf32>
}
exec.kernel @rope(%p: tensor<4xi64>, %x: tensor<2x4x3x16xf32>) -> tensor<2x4x3x16xf32> {
  %cos, %sin = graph.rope_table %p rotary_dim = 8 base = 1.0e+04
      : (tensor<4xi64>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %0 = graph.rope %x, %cos, %sin
      : (tensor<2x4x3x16xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x3x16xf32>
  exec.yield %0 : tensor<2x4x3x16xf32>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  std::mt19937 random(5);
  std::uniform_real_distribution<float> values(-3, 3);
  Buffer<float> x(480), w(96), b(96), y(480), z(480);
  for (Buffer<float> *buffer : {&x, &w, &b})
    for (float &value : *buffer)
      value = values(random);
  kernels.call("rms", {x.data(), w.data(), y.data()});
  kernels.call("layer", {x.data(), w.data(), b.data(), z.data()});
  for (int i = 0; i < 5; ++i) {
    double sum = 0, squares = 0, variance = 0;
    for (int j = 0; j < 96; ++j)
      sum += x[i * 96 + j], squares += double(x[i * 96 + j]) * x[i * 96 + j];
    for (int j = 0; j < 96; ++j)
      variance += std::pow(x[i * 96 + j] - sum / 96, 2);
    for (int j = 0; j < 96; ++j) {
      double v = x[i * 96 + j];
      EXPECT_NEAR(y[i * 96 + j], v / std::sqrt(squares / 96 + 1e-5) * w[j], 5e-6);
      EXPECT_NEAR(z[i * 96 + j], (v - sum / 96) / std::sqrt(variance / 96 + 1e-5) * w[j] + b[j],
                  5e-6);
    }
  }
  Buffer<int64_t> p(4);
  const int64_t positions[] = {0, 1, 77, 131071};
  std::copy(positions, positions + 4, p.data());
  Buffer<float> r(2 * 4 * 3 * 16);
  kernels.call("rope", {p.data(), x.data(), r.data()});
  for (int row = 0; row < 24; ++row)
    for (int j = 0; j < 16; ++j) {
      double angle = positions[row / 3 % 4] * std::pow(1e4, -(j % 4) / 4.0);
      float cos = std::cos(angle), sin = std::sin(angle);
      const float *v = x.data() + row * 16;
      double expected = j < 4   ? v[j] * cos - v[j + 4] * sin
                        : j < 8 ? v[j] * cos + v[j - 4] * sin
                                : v[j];
      EXPECT_NEAR(r[row * 16 + j], expected, 1e-6);
    }
}

/// Reductions of two depths in one kernel: over the vocabulary, then over the rows.
TEST(GraphOps, CrossEntropyInOneKernel) {
  LoadedKernels kernels(R"(
exec.kernel @k(%x: tensor<3x5x211xf32>, %l: tensor<3x5xi64>) -> (tensor<f32>, tensor<f32>) {
  %0, %1 = graph.cross_entropy %x, %l ignore_index = -100
      : (tensor<3x5x211xf32>, tensor<3x5xi64>) -> (tensor<f32>, tensor<f32>)
  exec.yield %0, %1 : tensor<f32>, tensor<f32>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  Buffer<float> x(15 * 211), loss(1), count(1);
  Buffer<int64_t> labels(15);
  std::mt19937 random(6);
  std::uniform_real_distribution<float> values(-20, 20);
  for (float &value : x)
    value = values(random);
  double sum = 0;
  for (int i = 0; i < 15; ++i) {
    labels[i] = i % 4 == 3 ? -100 : i * 14;
    double max = -INFINITY, total = 0;
    for (int j = 0; j < 211; ++j)
      max = std::max<double>(max, x[i * 211 + j]);
    for (int j = 0; j < 211; ++j)
      total += std::exp(x[i * 211 + j] - max);
    if (labels[i] >= 0)
      sum += std::log(total) + max - x[i * 211 + labels[i]];
  }
  kernels.call("k", {x.data(), labels.data(), loss.data(), count.data()});
  EXPECT_EQ(count[0], 12);
  EXPECT_NEAR(loss[0], sum / 12, 1e-5);
}

/// Dropout as #graph.dropout describes it: what an element is multiplied by.
struct Dropped {
  uint64_t seed, step, site;
  double rate;

  float operator()(uint64_t position) const {
    uint64_t counter = position / 64 * 16 + position % 16;
    std::array<uint32_t, 4> words = cleave::training::philox(
        {uint32_t(counter), uint32_t(counter >> 32), uint32_t(site), uint32_t(step)}, seed);
    return words[position / 16 % 4] < std::round(rate * 0x1p32) ? 0.0f : float(1 / (1 - rate));
  }
};

TEST(GraphOps, Dropout) {
  LoadedKernels kernels(R"(
exec.kernel @plain(%x: tensor<7x331xf32>, %s: tensor<i64>, %n: tensor<i64>) -> tensor<7x331xf32> {
  %0 = graph.dropout %x seed %s step %n <rate = 0.3, site = 4000000000>
      : (tensor<7x331xf32>, tensor<i64>, tensor<i64>) -> tensor<7x331xf32>
  exec.yield %0 : tensor<7x331xf32>
}
exec.kernel @part(%x: tensor<3x5x40xbf16>, %r: tensor<3x5x40xbf16>, %s: tensor<i64>, %n: tensor<i64>, %o: index, %site: index) -> tensor<3x5x40xbf16> {
  %0 = graph.dropout %x seed %s step %n offset %o site %site <rate = 0.75, site = 3, start = 7, strides = [6000, 120, 1]>
      : (tensor<3x5x40xbf16>, tensor<i64>, tensor<i64>, index, index) -> tensor<3x5x40xbf16>
  %1 = graph.add %0, %r : tensor<3x5x40xbf16>
  exec.yield %1 : tensor<3x5x40xbf16>
}
exec.kernel @wide(%x: tensor<64xf64>, %s: tensor<i64>, %n: tensor<i64>) -> (tensor<64xf64>, tensor<64xf64>) {
  %0 = graph.dropout %x seed %s step %n <rate = 0.5, site = 0>
      : (tensor<64xf64>, tensor<i64>, tensor<i64>) -> tensor<64xf64>
  %1 = graph.dropout %x <rate = 0.5, site = 0> : (tensor<64xf64>) -> tensor<64xf64>
  exec.yield %0, %1 : tensor<64xf64>, tensor<64xf64>
}
)");
  ASSERT_TRUE(kernels) << kernels.error();
  Buffer<int64_t> seed(1), step(1);
  seed[0] = -8446744073709551617 + 5;
  step[0] = 0x1234567890;
  Buffer<float> x(7 * 331), y(7 * 331);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i % 11 ? 1.0f + i : NAN; // what is dropped is 0, whatever it was
  kernels.call("plain", {x.data(), seed.data(), step.data(), y.data()});
  Dropped plain{uint64_t(seed[0]), uint64_t(step[0]), 4000000000, 0.3};
  size_t kept = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    float factor = plain(i);
    kept += factor != 0;
    if (factor == 0)
      ASSERT_EQ(y[i], 0) << i;
    else if (i % 11)
      ASSERT_FLOAT_EQ(y[i], x[i] * factor) << i;
    else
      ASSERT_TRUE(std::isnan(y[i])) << i;
  }
  // Within four standard deviations of what the rate says.
  EXPECT_NEAR(double(kept) / double(x.size()), 0.7, 4 * std::sqrt(0.21 / double(x.size())));

  Buffer<uint16_t> narrow(600), residual(600), sum(600);
  for (size_t i = 0; i < 600; ++i) {
    narrow[i] = toBF16(float(i % 50));
    residual[i] = toBF16(float(i % 7));
  }
  int64_t offset = (int64_t(1) << 40) + 11, site = 90;
  kernels.call("part", {narrow.data(), residual.data(), seed.data(), step.data(), sum.data()},
               {offset, site});
  Dropped part{uint64_t(seed[0]), uint64_t(step[0]), 93, 0.75};
  for (int64_t i = 0; i < 600; ++i) {
    float factor = part(uint64_t(7 + offset + i / 200 * 6000 + i / 40 % 5 * 120 + i % 40));
    ASSERT_EQ(fromBF16(sum[i]), fromBF16(toBF16(float(i % 50) * factor + float(i % 7)))) << i;
  }

  Buffer<double> wide(64), dropped(64), same(64);
  for (int i = 0; i < 64; ++i)
    wide[i] = i + 1;
  seed[0] = step[0] = 0;
  kernels.call("wide", {wide.data(), seed.data(), step.data(), dropped.data(), same.data()});
  // The words of Philox4x32-10 for zeros: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  EXPECT_EQ(dropped[0], 0);
  for (int i : {16, 32, 48})
    EXPECT_EQ(dropped[i], 2 * (i + 1));
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(same[i], i + 1);
}

/// Sums over leading dimensions, and sums at positions that are data, are made in the output.
TEST(GraphOps, SumsInTheOutputsMemory) {
  LoadedKernels kernels(R"(
exec.kernel @columns(%x: tensor<4x3x5xf32>) -> tensor<5xf32> {
  %0 = graph.negate %x : tensor<4x3x5xf32>
  %1 = graph.reduce sum %0 dims [0, 1] : tensor<4x3x5xf32> -> tensor<5xf32>
  exec.yield %1 : tensor<5xf32>
}
exec.kernel @middle(%x: tensor<4x3x5xf32>) -> tensor<4x5xf32> {
  %0 = graph.reduce max %x dims [1] : tensor<4x3x5xf32> -> tensor<4x5xf32>
  exec.yield %0 : tensor<4x5xf32>
}
exec.kernel @scatter(%x: tensor<2x5x3xf32>, %i: tensor<2x3xi32>, %u: tensor<2x2x3x3xf32>) -> tensor<2x5x3xf32> {
  %0 = graph.scatter_add %x, %i, %u axis 1
      : (tensor<2x5x3xf32>, tensor<2x3xi32>, tensor<2x2x3x3xf32>) -> tensor<2x5x3xf32>
  exec.yield %0 : tensor<2x5x3xf32>
}
exec.kernel @rows(%i: tensor<2x3xi64>, %g: tensor<2x3x3xf32>, %o: index) -> tensor<5x3xf32> {
  %0 = graph.embedding_grad %i, %g offset %o : (tensor<2x3xi64>, tensor<2x3x3xf32>, index) -> tensor<5x3xf32>
  exec.yield %0 : tensor<5x3xf32>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  Buffer<float> x(60), columns(5), middle(20);
  for (int n = 0; n < 60; ++n)
    x[n] = (n * 37) % 61 - 30;
  kernels.call("columns", {x.data(), columns.data()});
  kernels.call("middle", {x.data(), middle.data()});
  for (int c = 0; c < 5; ++c) {
    float sum = 0;
    for (int r = 0; r < 12; ++r)
      sum -= x[r * 5 + c];
    EXPECT_EQ(columns[c], sum);
    for (int a = 0; a < 4; ++a)
      EXPECT_EQ(middle[a * 5 + c],
                std::max({x[a * 15 + c], x[a * 15 + 5 + c], x[a * 15 + 10 + c]}));
  }
  const int64_t positions[] = {4, -1, 4, 0, 5, 2};
  Buffer<int32_t> i(6);
  Buffer<int64_t> ids(6);
  for (int n = 0; n < 6; ++n)
    i[n] = positions[n], ids[n] = positions[n] + 100;
  Buffer<float> sums(30), rows(15);
  kernels.call("scatter", {x.data(), i.data(), x.data() + 24, sums.data()});
  for (int a = 0; a < 2; ++a)
    for (int r = 0; r < 5; ++r)
      for (int c = 0; c < 3; ++c) {
        float expected = x[(a * 5 + r) * 3 + c];
        for (int p = 0; p < 6; ++p)
          expected += positions[p] == r ? x[24 + (a * 6 + p) * 3 + c] : 0;
        EXPECT_EQ(sums[(a * 5 + r) * 3 + c], expected);
      }
  kernels.call("rows", {ids.data(), x.data(), rows.data()}, {100});
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 3; ++c) {
      float expected = 0;
      for (int p = 0; p < 6; ++p)
        expected += positions[p] == r ? x[p * 3 + c] : 0;
      EXPECT_EQ(rows[r * 3 + c], expected);
    }
}

/// Positions that are data: in range, at the edges and absurd.
TEST(GraphOps, PositionsFromData) {
  LoadedKernels kernels(R"(
exec.kernel @gather(%x: tensor<2x5x3xf32>, %i: tensor<4xi64>) -> tensor<2x4x3xf32> {
  %0 = graph.gather %x, %i axis 1 : (tensor<2x5x3xf32>, tensor<4xi64>) -> tensor<2x4x3xf32>
  exec.yield %0 : tensor<2x4x3xf32>
}
exec.kernel @scatter(%x: tensor<5x3xbf16>, %i: tensor<4xi64>, %u: tensor<4x3xbf16>) -> tensor<5x3xbf16> {
  %0 = graph.scatter_add %x, %i, %u axis 0
      : (tensor<5x3xbf16>, tensor<4xi64>, tensor<4x3xbf16>) -> tensor<5x3xbf16>
  exec.yield %0 : tensor<5x3xbf16>
}
exec.kernel @slice(%x: tensor<4x8xf32>, %i: tensor<i64>, %j: tensor<i64>) -> (tensor<2x3xf32>, tensor<4x8xf32>) {
  %0 = graph.dynamic_slice %x, %i, %j : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  %1 = graph.negate %0 : tensor<2x3xf32>
  %2 = graph.dynamic_update_slice %x, %1, %i, %j
      : (tensor<4x8xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  exec.yield %0, %2 : tensor<2x3xf32>, tensor<4x8xf32>
}
exec.kernel @one(%x: tensor<4xf32>, %i: tensor<i32>, %u: tensor<f32>) -> tensor<4xf32> {
  %0 = graph.scatter_add %x, %i, %u axis 0 : (tensor<4xf32>, tensor<i32>, tensor<f32>) -> tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  Buffer<int64_t> i(4);
  const int64_t positions[] = {4, -1, 4, 0};
  std::copy(positions, positions + 4, i.data());
  {
    Buffer<float> x(30), y(24);
    for (int n = 0; n < 30; ++n)
      x[n] = n + 1;
    kernels.call("gather", {x.data(), i.data(), y.data()});
    for (int a = 0; a < 2; ++a)
      for (int p = 0; p < 4; ++p)
        for (int c = 0; c < 3; ++c)
          EXPECT_EQ(y[(a * 4 + p) * 3 + c],
                    positions[p] < 0 ? 0 : x[(a * 5 + positions[p]) * 3 + c]);
  }
  {
    Buffer<uint16_t> x(15), u(12), y(15);
    for (int n = 0; n < 15; ++n)
      x[n] = toBF16(n);
    for (int n = 0; n < 12; ++n)
      u[n] = toBF16(0.5f * n);
    kernels.call("scatter", {x.data(), i.data(), u.data(), y.data()});
    for (int r = 0; r < 5; ++r)
      for (int c = 0; c < 3; ++c) {
        float expected = r * 3 + c;
        for (int p = 0; p < 4; ++p)
          expected += positions[p] == r ? 0.5f * (p * 3 + c) : 0;
        EXPECT_EQ(fromBF16(y[r * 3 + c]), expected);
      }
  }
  for (auto [row, column] : {std::pair<int64_t, int64_t>{1, 2}, {-7, 6}, {int64_t(1) << 60, -3}}) {
    Buffer<float> x(32), part(6), y(32);
    Buffer<int64_t> r(1), c(1);
    for (int n = 0; n < 32; ++n)
      x[n] = n + 1;
    r[0] = row, c[0] = column;
    kernels.call("slice", {x.data(), r.data(), c.data(), part.data(), y.data()});
    int64_t top = std::clamp<int64_t>(row, 0, 2), left = std::clamp<int64_t>(column, 0, 5);
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 8; ++b) {
        bool inside = a >= top && a < top + 2 && b >= left && b < left + 3;
        EXPECT_EQ(y[a * 8 + b], inside ? -x[a * 8 + b] : x[a * 8 + b]);
        if (inside)
          EXPECT_EQ(part[(a - top) * 3 + b - left], x[a * 8 + b]);
      }
  }
  {
    Buffer<float> x(4), u(1), y(4);
    Buffer<int32_t> at(1);
    std::fill(x.begin(), x.end(), 1.0f);
    u[0] = 2.5f, at[0] = 3;
    kernels.call("one", {x.data(), at.data(), u.data(), y.data()});
    EXPECT_EQ(y[3], 3.5f);
    EXPECT_EQ(y[0], 1.0f);
  }
}

} // namespace
