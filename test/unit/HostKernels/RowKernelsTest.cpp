// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whole kernels, compiled and run, against plain loops.

#include "LoadedKernels.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

namespace {

using cleave::test::Buffer;
using cleave::test::fromBF16;
using cleave::test::LoadedKernels;
using cleave::test::toBF16;

void fill(Buffer<float> &buffer, unsigned seed, float low = -3, float high = 3) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(low, high);
  for (float &value : buffer)
    value = values(random);
}

const char *const kMaps = R"(
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
)";

/// h = x + y; n = h * rsqrt(mean(h^2) + eps) * w. One kernel, two outputs.
TEST(RowKernels, ResidualAndRmsNorm) {
  LoadedKernels kernels(std::string(kMaps) + R"(
func.func @k(%x: tensor<13x77xf32>, %y: tensor<13x77xf32>, %w: tensor<77xf32>)
    -> (tensor<13x77xf32>, tensor<13x77xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<13x77xf32>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %y : tensor<13x77xf32>, tensor<13x77xf32>) outs(%e : tensor<13x77xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<13x77xf32>
  %e1 = tensor.empty() : tensor<13xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<13xf32>) -> tensor<13xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%h : tensor<13x77xf32>) outs(%f : tensor<13xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %sq = arith.mulf %a, %a : f32
    %s = arith.addf %acc, %sq fastmath<reassoc, contract> : f32
    linalg.yield %s : f32
  } -> tensor<13xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #col, #id], iterator_types = ["parallel", "parallel"]}
    ins(%h, %sum, %w : tensor<13x77xf32>, tensor<13xf32>, tensor<77xf32>) outs(%e : tensor<13x77xf32>) {
  ^bb0(%a: f32, %t: f32, %g: f32, %o: f32):
    %c = arith.constant 77.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %m = arith.divf %t, %c : f32
    %me = arith.addf %m, %eps : f32
    %r = math.rsqrt %me : f32
    %p = arith.mulf %a, %r : f32
    %q = arith.mulf %p, %g : f32
    linalg.yield %q : f32
  } -> tensor<13x77xf32>
  return %h, %n : tensor<13x77xf32>, tensor<13x77xf32>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  Buffer<float> x(13 * 77), y(13 * 77), w(77), h(13 * 77), n(13 * 77);
  fill(x, 1), fill(y, 2), fill(w, 3);
  kernels.call("k", {x.data(), y.data(), w.data(), h.data(), n.data()});
  for (int i = 0; i < 13; ++i) {
    double sum = 0;
    for (int j = 0; j < 77; ++j) {
      float v = x[i * 77 + j] + y[i * 77 + j];
      ASSERT_EQ(h[i * 77 + j], v);
      sum += static_cast<double>(v) * v;
    }
    for (int j = 0; j < 77; ++j) {
      double expected = h[i * 77 + j] / std::sqrt(sum / 77 + 1e-5) * w[j];
      ASSERT_NEAR(n[i * 77 + j], expected, 2e-6 * (1 + std::fabs(expected)));
    }
  }
}

/// Three phases a row: maximum, sum of exponentials, result.
TEST(RowKernels, SoftmaxOverTheLastDimension) {
  LoadedKernels kernels(std::string(kMaps) + R"(
func.func @k(%x: tensor<9x100xf32>) -> tensor<9x100xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<9x100xf32>
  %e1 = tensor.empty() : tensor<9xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<9xf32>) -> tensor<9xf32>
  %f1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<9xf32>) -> tensor<9xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<9x100xf32>) outs(%f1 : tensor<9xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.maximumf %acc, %a : f32
    linalg.yield %s : f32
  } -> tensor<9xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %max : tensor<9x100xf32>, tensor<9xf32>) outs(%e : tensor<9x100xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %d = arith.subf %a, %m : f32
    %s = math.exp %d : f32
    linalg.yield %s : f32
  } -> tensor<9x100xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%p : tensor<9x100xf32>) outs(%f0 : tensor<9xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a fastmath<reassoc, contract> : f32
    linalg.yield %s : f32
  } -> tensor<9xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%p, %sum : tensor<9x100xf32>, tensor<9xf32>) outs(%e : tensor<9x100xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %s = arith.divf %a, %m : f32
    linalg.yield %s : f32
  } -> tensor<9x100xf32>
  return %y : tensor<9x100xf32>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  Buffer<float> x(900), y(900);
  fill(x, 4, -20, 20);
  x[17] = -INFINITY;
  kernels.call("k", {x.data(), y.data()});
  for (int i = 0; i < 9; ++i) {
    double max = -INFINITY, sum = 0;
    for (int j = 0; j < 100; ++j)
      max = std::max<double>(max, x[i * 100 + j]);
    for (int j = 0; j < 100; ++j)
      sum += std::exp(x[i * 100 + j] - max);
    for (int j = 0; j < 100; ++j)
      ASSERT_NEAR(y[i * 100 + j], std::exp(x[i * 100 + j] - max) / sum, 1e-6);
  }
}

/// Halves rotated into each other, as rotary embeddings do: slices in, a concatenation out.
const char *const kRotate = R"(
#id = affine_map<(i, j) -> (i, j)>
func.func @k(%x: tensor<5x32xf32>, %c: tensor<5x16xf32>) -> tensor<5x32xf32> {
  %lo = tensor.extract_slice %x[0, 0] [5, 16] [1, 1] : tensor<5x32xf32> to tensor<5x16xf32>
  %hi = tensor.extract_slice %x[0, 16] [5, 16] [1, 1] : tensor<5x32xf32> to tensor<5x16xf32>
  %e = tensor.empty() : tensor<5x16xf32>
  %r:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%lo, %hi, %c : tensor<5x16xf32>, tensor<5x16xf32>, tensor<5x16xf32>)
    outs(%e, %e : tensor<5x16xf32>, tensor<5x16xf32>) {
  ^bb0(%a: f32, %b: f32, %f: f32, %o: f32, %p: f32):
    %af = arith.mulf %a, %f : f32
    %bf = arith.mulf %b, %f : f32
    %u = arith.subf %af, %b : f32
    %v = arith.addf %bf, %a : f32
    linalg.yield %u, %v : f32, f32
  } -> (tensor<5x16xf32>, tensor<5x16xf32>)
  %y = tensor.concat dim(1) %r#0, %r#1 : (tensor<5x16xf32>, tensor<5x16xf32>) -> tensor<5x32xf32>
  return %y : tensor<5x32xf32>
})";

TEST(RowKernels, SlicesAndConcatenation) {
  LoadedKernels kernels(kRotate);
  ASSERT_TRUE(kernels) << kernels.error();
  Buffer<float> x(160), c(80), y(160);
  fill(x, 5), fill(c, 6);
  kernels.call("k", {x.data(), c.data(), y.data()});
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 16; ++j) {
      float a = x[i * 32 + j], b = x[i * 32 + 16 + j], f = c[i * 16 + j];
      ASSERT_NEAR(y[i * 32 + j], a * f - b, 1e-6);
      ASSERT_NEAR(y[i * 32 + 16 + j], b * f + a, 1e-6);
    }
}

/// Rows of a table picked by ids, rows outside [offset, offset + 7) zero.
TEST(RowKernels, GatherWithOffset) {
  LoadedKernels kernels(std::string(kMaps) + R"(
func.func @k(%ids: tensor<6xi64>, %t: tensor<7x40xf32>, %offset: index) -> tensor<6x40xf32> {
  %e = tensor.empty() : tensor<6x40xf32>
  %first = arith.index_cast %offset : index to i64
  %y = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%ids : tensor<6xi64>) outs(%e : tensor<6x40xf32>) {
  ^bb0(%id: i64, %o: f32):
    %c0 = arith.constant 0 : i64
    %c6 = arith.constant 6 : i64
    %c7 = arith.constant 7 : i64
    %zero = arith.constant 0.0 : f32
    %local = arith.subi %id, %first : i64
    %in = arith.cmpi ult, %local, %c7 : i64
    %low = arith.maxsi %local, %c0 : i64
    %safe = arith.minsi %low, %c6 : i64
    %r = arith.index_cast %safe : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%r, %j] : tensor<7x40xf32>
    %s = arith.select %in, %v, %zero : f32
    linalg.yield %s : f32
  } -> tensor<6x40xf32>
  return %y : tensor<6x40xf32>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  Buffer<int64_t> ids(6);
  const int64_t values[] = {10, 16, 12, 3, 17, -9000000000000};
  std::copy(std::begin(values), std::end(values), ids.begin());
  Buffer<float> table(280), y(240);
  fill(table, 8);
  kernels.call("k", {ids.data(), table.data(), y.data()}, {10});
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 40; ++j) {
      int64_t row = ids[i] - 10;
      ASSERT_EQ(y[i * 40 + j], row >= 0 && row < 7 ? table[row * 40 + j] : 0.0f);
    }
}

/// bf16 in and out, f32 inside: rounding between fused ops must not happen.
TEST(RowKernels, BFloat16RoundsOnce) {
  for (const char *target : {"x86-64-v3", "native"}) {
    LoadedKernels kernels(R"(
#id = affine_map<(i) -> (i)>
func.func @k(%x: tensor<1000xbf16>, %y: tensor<1000xbf16>) -> tensor<1000xbf16> {
  %e = tensor.empty() : tensor<1000xbf16>
  %p = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
    ins(%x, %y : tensor<1000xbf16>, tensor<1000xbf16>) outs(%e : tensor<1000xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    %af = arith.extf %a : bf16 to f32
    %bf = arith.extf %b : bf16 to f32
    %m = arith.mulf %af, %bf : f32
    %t = arith.truncf %m : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<1000xbf16>
  %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
    ins(%p, %x : tensor<1000xbf16>, tensor<1000xbf16>) outs(%e : tensor<1000xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    %af = arith.extf %a : bf16 to f32
    %bf = arith.extf %b : bf16 to f32
    %m = arith.subf %af, %bf : f32
    %t = arith.truncf %m : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<1000xbf16>
  return %q : tensor<1000xbf16>
})",
                          target);
    ASSERT_TRUE(kernels) << kernels.error();
    Buffer<uint16_t> x(1000), y(1000), z(1000);
    std::mt19937 random(9);
    std::uniform_real_distribution<float> values(-4, 4);
    for (int i = 0; i < 1000; ++i)
      x[i] = toBF16(values(random)), y[i] = toBF16(values(random));
    x[3] = 0x7fc0; // a NaN stays one
    kernels.call("k", {x.data(), y.data(), z.data()});
    for (int i = 0; i < 1000; ++i) {
      if (i == 3) {
        ASSERT_TRUE(std::isnan(fromBF16(z[i])));
        continue;
      }
      // The product of two bf16 numbers is exact in f32.
      float expected = fromBF16(x[i]) * fromBF16(y[i]) - fromBF16(x[i]);
      ASSERT_EQ(z[i], toBF16(expected)) << i;
    }
  }
}

TEST(RowKernels, PadReshapeAndConstants) {
  LoadedKernels kernels(R"(
#id = affine_map<(i, j) -> (i, j)>
#swap = affine_map<(i, j) -> (j, i)>
func.func @k(%x: tensor<2x12xf32>) -> tensor<4x8xf32> {
  %fill = arith.constant -1.0 : f32
  %t = tensor.expand_shape %x [[0], [1, 2]] output_shape [2, 3, 4] : tensor<2x12xf32> into tensor<2x3x4xf32>
  %s = tensor.collapse_shape %t [[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
  %p = tensor.pad %s low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %fill : f32
  } : tensor<6x4xf32> to tensor<8x4xf32>
  %c = arith.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#swap, affine_map<(i, j) -> (i, 0)>, #id], iterator_types = ["parallel", "parallel"]}
    ins(%p, %c : tensor<8x4xf32>, tensor<4x1xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
})");
  ASSERT_TRUE(kernels) << kernels.error();
  Buffer<float> x(24), y(32);
  fill(x, 10);
  kernels.call("k", {x.data(), y.data()});
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) {
      float value = j == 0 || j == 7 ? -1.0f : x[(j - 1) * 4 + i];
      ASSERT_EQ(y[i * 8 + j], value * (i + 1));
    }
}

/// Equal text gives equal bytes, and each target its own.
TEST(RowKernels, BothBaselinesRun) {
  LoadedKernels v3(kRotate, "x86-64-v3"), native(kRotate, "native");
  ASSERT_TRUE(v3) << v3.error();
  ASSERT_TRUE(native) << native.error();
  EXPECT_EQ(v3.isa(), "x86-64-v3");
  EXPECT_EQ(native.isa().rfind("native:", 0), 0u);
  Buffer<float> x(160), c(80), y(160), z(160);
  fill(x, 5), fill(c, 6);
  v3.call("k", {x.data(), c.data(), y.data()});
  native.call("k", {x.data(), c.data(), z.data()});
  for (int i = 0; i < 160; ++i)
    ASSERT_NEAR(y[i], z[i], 1e-6);
}

/// The object names what it needs: libm where it calls it, otherwise nothing.
TEST(RowKernels, DependsOnLibmOnly) {
  auto text = [](const char *op) {
    return std::string("exec.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {\n  %0 = graph.") +
           op + " %x : tensor<64xf32>\n  exec.yield %0 : tensor<64xf32>\n}";
  };
  LoadedKernels sine(text("sin")), exponential(text("exp"));
  ASSERT_TRUE(sine) << sine.error();
  ASSERT_TRUE(exponential) << exponential.error();
  EXPECT_NE(sine.object().find("libm.so.6"), std::string::npos);
  EXPECT_EQ(exponential.object().find("lib"), std::string::npos);
}

TEST(RowKernels, EqualModulesGiveEqualBytes) {
  LoadedKernels first(kRotate, "x86-64-v4"), second(kRotate, "x86-64-v4");
  EXPECT_FALSE(first.object().empty());
  EXPECT_EQ(first.object(), second.object());
}

TEST(RowKernels, UnknownCpuIsAnError) {
  LoadedKernels kernels(kRotate, "pentium-xii");
  EXPECT_FALSE(kernels);
  EXPECT_EQ(kernels.error(), "the kernels do not compile");
}

} // namespace
