// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#include "drivers/host/gemm.h"
#include "Tensors.h"
#include "drivers/host/float_conversion.h"
#include "drivers/host/gemm_plans.h"
#include "drivers/host/onednn_thread.h"
#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>
#include <thread>

namespace {

using namespace cleave;
using cleave::host::GemmCache, cleave::host::GemmDesc, cleave::host::GemmPlan;
using cleave::test::Buffer, cleave::test::chance, cleave::test::pick, cleave::test::Random;
using cleave::test::Scratch;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr fb::DType kTypes[] = {fb::DType::F32, fb::DType::BF16, fb::DType::F16};

std::string describe(const GemmDesc &d) {
  auto list = [](const std::array<int64_t, 3> &x) {
    return "(" + std::to_string(x[0]) + "," + std::to_string(x[1]) + "," + std::to_string(x[2]) +
           ")";
  };
  return std::string(fb::EnumNameDType(d.dtypeAB)) + "->" + fb::EnumNameDType(d.dtypeC) + " " +
         std::to_string(d.batch) + " x " + std::to_string(d.m) + " x " + std::to_string(d.n) +
         " x " + std::to_string(d.k) + " a" + list(d.aStrides) + " b" + list(d.bStrides) + " c" +
         list(d.cStrides) + (d.accumulate ? " accumulate" : "");
}

/// Strides of an operand: row-major or column-major, dense or padded; the batch outermost, between
/// the two, or shared.
std::array<int64_t, 3> randomStrides(Random &random, int64_t batch, int64_t rows, int64_t columns,
                                     bool mayShare, bool mayBeColumnMajor = true) {
  bool columnMajor = mayBeColumnMajor && chance(random, 2);
  int64_t inner = columnMajor ? rows : columns, outer = columnMajor ? columns : rows;
  int64_t pad = chance(random, 2) ? 0 : pick(random, 1, 9);
  int64_t outerStride, batchStride;
  if (chance(random, 3)) { // [outer, batch, inner], as heads lie in an activation
    batchStride = inner + pad;
    outerStride = batch * batchStride;
  } else {
    outerStride = inner + pad;
    batchStride = outer * outerStride + (chance(random, 2) ? 0 : pick(random, 1, 9));
  }
  if (mayShare && chance(random, 3))
    batchStride = 0;
  std::array<int64_t, 3> strides = {batchStride, columnMajor ? 1 : outerStride,
                                    columnMajor ? outerStride : 1};
  // Strides of dimensions of size 1 do not matter.
  const int64_t sizes[] = {batch, rows, columns};
  for (int i = 0; i < 3; ++i)
    if (sizes[i] == 1 && chance(random, 2) && (i == 0 || sizes[3 - i] == 1 || strides[3 - i] == 1))
      strides[size_t(i)] = pick(random, 0, 50);
  return strides;
}

GemmDesc randomDesc(Random &random, fb::DType dtype) {
  GemmDesc desc;
  desc.dtypeAB = dtype;
  desc.dtypeC = chance(random, 2) ? fb::DType::F32 : dtype;
  auto size = [&] {
    return chance(random, 5)   ? 1
           : chance(random, 3) ? 16 * pick(random, 1, 8)
                               : pick(random, 1, 90);
  };
  desc.batch = chance(random, 2) ? 1 : pick(random, 2, 5);
  desc.m = size();
  desc.n = size();
  desc.k = size();
  desc.aStrides = randomStrides(random, desc.batch, desc.m, desc.k, true);
  desc.bStrides = randomStrides(random, desc.batch, desc.k, desc.n, true);
  desc.cStrides = randomStrides(random, desc.batch, desc.m, desc.n, false);
  desc.accumulate = chance(random, 3);
  return desc;
}

int64_t span(const std::array<int64_t, 3> &strides, int64_t batch, int64_t rows, int64_t columns) {
  if (batch == 0 || rows == 0 || columns == 0)
    return 0;
  return (batch - 1) * strides[0] + (rows - 1) * strides[1] + (columns - 1) * strides[2] + 1;
}

struct Case {
  GemmDesc desc;
  Buffer a, b, c;

  explicit Case(const GemmDesc &desc)
      : desc(desc), a(desc.dtypeAB, span(desc.aStrides, desc.batch, desc.m, desc.k)),
        b(desc.dtypeAB, span(desc.bStrides, desc.batch, desc.k, desc.n)),
        c(desc.dtypeC, span(desc.cStrides, desc.batch, desc.m, desc.n)) {}

  /// Numbers at the places of the operands, NaN between them, and in C unless it is read.
  void fill(Random &random) {
    a.fill(kNaN);
    b.fill(kNaN);
    c.fill(kNaN);
    each(desc.m, desc.k, desc.aStrides, [&](int64_t at) { a.set(at, test::normal(random)); });
    each(desc.k, desc.n, desc.bStrides, [&](int64_t at) { b.set(at, test::normal(random)); });
    if (desc.accumulate)
      each(desc.m, desc.n, desc.cStrides, [&](int64_t at) { c.set(at, test::normal(random)); });
  }
  template <typename F>
  void each(int64_t rows, int64_t columns, const std::array<int64_t, 3> &strides, F f) const {
    for (int64_t batch = 0; batch < desc.batch; ++batch)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          f(batch * strides[0] + i * strides[1] + j * strides[2]);
  }

  void run(const GemmPlan &plan) {
    Scratch scratch(plan.scratchBytes());
    absl::Status status =
        plan.run(a.data(), b.data(), c.data(), plan.scratchBytes() ? scratch.get() : nullptr);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(scratch.guardIntact() && a.guardsIntact() && b.guardsIntact() && c.guardsIntact());
  }

  /// Compares with sums in f64; `before` is what C was. Nothing between the elements of C may
  /// change.
  void check(const Buffer &before) const {
    double precision = desc.dtypeC == fb::DType::F32    ? 0
                       : desc.dtypeC == fb::DType::BF16 ? 0x1p-8
                                                        : 0x1p-11;
    double smallest = desc.dtypeC == fb::DType::F16 ? 0x1p-25 : 1e-30;
    std::vector<bool> written(size_t(c.size()));
    for (int64_t batch = 0; batch < desc.batch; ++batch)
      for (int64_t i = 0; i < desc.m; ++i)
        for (int64_t j = 0; j < desc.n; ++j) {
          int64_t at = batch * desc.cStrides[0] + i * desc.cStrides[1] + j * desc.cStrides[2];
          written[size_t(at)] = true;
          double sum = desc.accumulate ? before.get(at) : 0, size = std::abs(sum);
          for (int64_t l = 0; l < desc.k; ++l) {
            double term =
                a.get(batch * desc.aStrides[0] + i * desc.aStrides[1] + l * desc.aStrides[2]) *
                b.get(batch * desc.bStrides[0] + l * desc.bStrides[1] + j * desc.bStrides[2]);
            sum += term;
            size += std::abs(term);
          }
          ASSERT_NEAR(c.get(at), sum, 2e-6 * size + precision * std::abs(sum) + smallest)
              << "b=" << batch << " i=" << i << " j=" << j;
        }
    for (int64_t at = 0; at < c.size(); ++at)
      if (!written[size_t(at)])
        ASSERT_TRUE(std::isnan(c.get(at))) << "written between the elements of C, at " << at;
  }
};

TEST(GemmTest, AgreesWithTheDefinition) {
  std::set<std::string> methods;
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    Random random(seed);
    GemmDesc desc = randomDesc(random, kTypes[seed % 3]);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(desc));
    auto plan = GemmPlan::create(desc);
    ASSERT_TRUE(plan.ok()) << plan.status();
    SCOPED_TRACE((*plan)->method());
    methods.insert((*plan)->method());
    Case c(desc);
    c.fill(random);
    Buffer before = c.c;
    ASSERT_NO_FATAL_FAILURE(c.run(**plan));
    ASSERT_NO_FATAL_FAILURE(c.check(before));
    // Again: the same bits.
    Buffer once = c.c;
    c.c = before;
    ASSERT_NO_FATAL_FAILURE(c.run(**plan));
    ASSERT_TRUE(once == c.c);
  }
  EXPECT_GE(methods.size(), 2u) << "one method for everything: the test does not reach the others";
}

/// All ways to compute a product, also those that planProduct would not choose here.
TEST(GemmTest, EveryMethodAgreesWithTheDefinition) {
  int matmuls = 0, sgemms = 0, converted = 0;
  for (uint64_t seed = 5000; seed < 5400; ++seed) {
    Random random(seed);
    fb::DType dtype = kTypes[seed % 3];
    GemmDesc desc = randomDesc(random, dtype);
    desc.cStrides =
        randomStrides(random, desc.batch, desc.m, desc.n, false, /*mayBeColumnMajor=*/false);
    host::Product product = {dtype,  desc.dtypeC, desc.batch, desc.m, desc.n,
                             desc.k, {},          {},         {},     desc.accumulate};
    auto strides = [&](std::array<int64_t, 3> &s, int64_t rows, int64_t columns) {
      if (columns == 1)
        s = {s[0], std::max<int64_t>(s[1], 1), 1};
      else if (rows == 1)
        s = {s[0], s[2] == 1 ? columns : 1, s[2]};
      if (rows == 1 && columns == 1)
        s[1] = s[2] = 1;
      return host::MatrixStrides{desc.batch == 1 ? 0 : s[0], s[1], s[2]};
    };
    product.a = strides(desc.aStrides, desc.m, desc.k);
    product.b = strides(desc.bStrides, desc.k, desc.n);
    product.c = strides(desc.cStrides, desc.m, desc.n);
    if (product.c.column != 1)
      continue;
    std::vector<host::GemmPlanPtr> plans;
    if (dtype != fb::DType::F16 && (dtype == fb::DType::F32 || host::multipliesBf16()))
      for (bool batchLoop : {false, true})
        if (auto plan = host::planMatmul(product, batchLoop)) {
          ++matmuls;
          plans.push_back(std::move(plan));
        }
    if (dtype == fb::DType::F32) {
      ++sgemms;
      plans.push_back(host::planSgemm(product));
    } else {
      ++converted;
      plans.push_back(host::planConverted(product));
    }
    for (const host::GemmPlanPtr &plan : plans) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(desc) + " " + plan->method());
      Case c(desc);
      c.fill(random);
      Buffer before = c.c;
      ASSERT_NO_FATAL_FAILURE(c.run(*plan));
      ASSERT_NO_FATAL_FAILURE(c.check(before));
    }
  }
  EXPECT_GT(sgemms, 50);
  EXPECT_GT(converted, 100);
  if (host::multipliesBf16())
    EXPECT_GT(matmuls, 100);
}

// Larger than the blocks of the converted method, on each dimension.
TEST(GemmTest, ManyBlocks) {
  const int64_t sizes[][3] = {
      {1030, 9, 7}, {9, 1030, 7}, {7, 9, 1030}, {520, 516, 3}, {6, 513, 600}};
  for (auto [m, n, k] : sizes)
    for (fb::DType dtypeC : {fb::DType::F16, fb::DType::F32})
      for (bool accumulate : {false, true}) {
        GemmDesc desc;
        desc.dtypeAB = fb::DType::F16;
        desc.dtypeC = dtypeC;
        desc.m = m;
        desc.n = n;
        desc.k = k;
        desc.aStrides = {0, 1, desc.m};
        desc.bStrides = {0, 1, desc.k};
        desc.cStrides = {0, desc.n, 1};
        desc.accumulate = accumulate;
        SCOPED_TRACE(describe(desc));
        auto plan = GemmPlan::create(desc);
        ASSERT_TRUE(plan.ok()) << plan.status();
        Case c(desc);
        Random random(1);
        c.fill(random);
        Buffer before = c.c;
        ASSERT_NO_FATAL_FAILURE(c.run(**plan));
        ASSERT_NO_FATAL_FAILURE(c.check(before));
      }
}

// Halves of the rows where the primitive would ask for much scratch memory.
TEST(GemmTest, SplitsLargeScratch) {
  if (!host::multipliesBf16())
    GTEST_SKIP() << "this processor does not multiply bf16";
  GemmDesc desc;
  desc.dtypeAB = desc.dtypeC = fb::DType::BF16;
  desc.m = 1100;
  desc.n = 4096;
  desc.k = 2;
  desc.aStrides = {0, desc.k, 1};
  desc.bStrides = {0, desc.n, 1};
  desc.cStrides = {0, desc.n + 8, 1}; // not dense
  auto plan = GemmPlan::create(desc);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_LE((*plan)->scratchBytes(), size_t(16) << 20);
  EXPECT_GE((*plan)->scratchBytes(), size_t(8) << 20) << "not split";
  Case c(desc);
  Random random(1);
  c.fill(random);
  Buffer before = c.c;
  ASSERT_NO_FATAL_FAILURE(c.run(**plan));
  ASSERT_NO_FATAL_FAILURE(c.check(before));
}

// The bits of a product do not depend on where its operands lie in memory.
TEST(GemmTest, BitsDoNotDependOnAddresses) {
  for (fb::DType dtype : kTypes)
    for (int64_t m : {1, 7, 24, 100}) {
      GemmDesc desc;
      desc.dtypeAB = desc.dtypeC = dtype;
      desc.m = m;
      desc.n = 72;
      desc.k = 150;
      desc.aStrides = {0, desc.k, 1};
      desc.bStrides = {0, 1, desc.k};
      desc.cStrides = {0, desc.n, 1};
      auto plan = GemmPlan::create(desc);
      ASSERT_TRUE(plan.ok());
      size_t element = size_t(host::sizeOfElement(dtype));
      std::vector<char> expected;
      for (size_t shift = 0; shift < 64; shift += 4) {
        Random random(1);
        Case c(desc);
        c.fill(random);
        auto place = [&](Buffer &x) {
          std::vector<char> memory(size_t(x.size()) * element + 192);
          size_t misaligned = reinterpret_cast<uintptr_t>(memory.data()) % 64;
          std::memmove(memory.data() + 64 - misaligned + shift, x.data(),
                       size_t(x.size()) * element);
          return std::pair(std::move(memory), 64 - misaligned + shift);
        };
        auto [a, aAt] = place(c.a);
        auto [b, bAt] = place(c.b);
        auto [out, outAt] = place(c.c);
        Scratch scratch((*plan)->scratchBytes());
        ASSERT_TRUE(
            (*plan)->run(a.data() + aAt, b.data() + bAt, out.data() + outAt, scratch.get()).ok());
        std::vector<char> found(out.data() + outAt,
                                out.data() + outAt + size_t(c.c.size()) * element);
        if (shift == 0)
          expected = found;
        ASSERT_EQ(found, expected) << describe(desc) << " shift " << shift;
      }
    }
}

TEST(GemmTest, EmptySizes) {
  for (int which = 0; which < 4; ++which)
    for (bool accumulate : {false, true}) {
      GemmDesc desc;
      desc.batch = which == 0 ? 0 : 2;
      desc.m = which == 1 ? 0 : 3;
      desc.n = which == 2 ? 0 : 4;
      desc.k = which == 3 ? 0 : 5;
      desc.aStrides = {15, 5, 1};
      desc.bStrides = {20, 4, 1};
      desc.cStrides = {21, 7, 1}; // not dense: what lies between stays
      desc.accumulate = accumulate;
      auto plan = GemmPlan::create(desc);
      ASSERT_TRUE(plan.ok()) << plan.status();
      Buffer c(fb::DType::F32, 42);
      c.fill(7);
      ASSERT_TRUE((*plan)->run(nullptr, nullptr, c.data(), nullptr).ok());
      for (int64_t i = 0; i < c.size(); ++i) {
        bool element = which == 3 && !accumulate && i % 7 < 4;
        EXPECT_EQ(c.get(i), element ? 0 : 7) << which << " " << i;
      }
    }
}

TEST(GemmTest, RefusesWhatItCanNotDo) {
  GemmDesc good;
  good.batch = 2;
  good.m = 3;
  good.n = 4;
  good.k = 5;
  good.aStrides = {15, 5, 1};
  good.bStrides = {20, 4, 1};
  good.cStrides = {12, 4, 1};
  ASSERT_TRUE(GemmPlan::create(good).ok());
  auto refused = [&](auto change, const char *message) {
    GemmDesc desc = good;
    change(desc);
    auto plan = GemmPlan::create(desc);
    ASSERT_FALSE(plan.ok()) << message;
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(plan.status().message()), testing::HasSubstr(message));
  };
  refused([](GemmDesc &d) { d.dtypeAB = fb::DType::F64; }, "found F64");
  refused([](GemmDesc &d) { d.dtypeC = fb::DType::BF16; }, "C must be F32");
  refused([](GemmDesc &d) { d.m = -1; }, "m must not be negative");
  refused([](GemmDesc &d) { d.aStrides = {15, 5, 2}; }, "strides of A");
  refused([](GemmDesc &d) { d.aStrides = {15, 4, 1}; }, "strides of A");
  refused([](GemmDesc &d) { d.bStrides = {20, -4, 1}; }, "strides of B");
  refused([](GemmDesc &d) { d.bStrides = {-20, 4, 1}; }, "strides of B");
  refused([](GemmDesc &d) { d.cStrides = {0, 4, 1}; }, "batch stride of C");
  refused([](GemmDesc &d) { d.cStrides = {12, 1, 1}; }, "strides of C");
  refused([](GemmDesc &d) { d.aStrides[0] = std::numeric_limits<int64_t>::max(); },
          "A is larger than memory");
}

TEST(GemmTest, CacheSharesPlans) {
  GemmCache cache;
  Random random(1);
  GemmDesc first = randomDesc(random, fb::DType::F32), second = first;
  second.accumulate = !first.accumulate;
  auto one = cache.get(first), other = cache.get(second), again = cache.get(first);
  ASSERT_TRUE(one.ok() && other.ok() && again.ok());
  EXPECT_EQ(*one, *again);
  EXPECT_NE(*one, *other);
  EXPECT_EQ((*one)->desc(), first);
  EXPECT_EQ(cache.scratchBytes(), std::max((*one)->scratchBytes(), (*other)->scratchBytes()));
  GemmDesc bad = first;
  bad.m = -1;
  EXPECT_FALSE(cache.get(bad).ok());
}

// Many threads with one plan, each with its own operands.
TEST(GemmTest, ThreadsShareAPlan) {
  for (fb::DType dtype : {fb::DType::F32, fb::DType::BF16}) {
    GemmDesc desc;
    desc.dtypeAB = desc.dtypeC = dtype;
    desc.m = 40;
    desc.n = 48;
    desc.k = 64;
    desc.aStrides = {0, desc.k, 1};
    desc.bStrides = {0, 1, desc.k};
    desc.cStrides = {0, desc.n, 1};
    auto plan = GemmPlan::create(desc);
    ASSERT_TRUE(plan.ok());
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        Random random(t);
        Case c(desc);
        c.fill(random);
        c.run(**plan);
        Buffer once = c.c;
        for (int i = 0; i < 300; ++i) {
          c.c.fill(kNaN);
          c.run(**plan);
          wrong[t] += !(once == c.c);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_THAT(wrong, testing::Each(0));
  }
}

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
int threadsOfProcess() {
  return int(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

// oneDNN would use all cores: neither making nor running a plan starts a thread, and the program's
// own setting stays.
TEST(GemmTest, UsesTheCallingThreadOnly) {
  omp_set_num_threads(4);
  int before = threadsOfProcess();
  for (fb::DType dtype : kTypes)
    for (int64_t m : {4, 512}) {
      GemmDesc desc;
      desc.dtypeAB = desc.dtypeC = dtype;
      desc.m = m;
      desc.n = desc.k = 512;
      desc.aStrides = {0, desc.k, 1};
      desc.bStrides = {0, 1, desc.k};
      desc.cStrides = {0, desc.n + 4, 1};
      auto plan = GemmPlan::create(desc);
      ASSERT_TRUE(plan.ok());
      Case c(desc);
      Random random(1);
      c.fill(random);
      ASSERT_NO_FATAL_FAILURE(c.run(**plan));
      EXPECT_EQ(threadsOfProcess(), before) << (*plan)->method();
    }
  EXPECT_EQ(omp_get_max_threads(), 4);
}
#endif

// Every half-precision number survives the way to f32 and back; every f32 is rounded as defined.
TEST(FloatConversionTest, AllHalves) {
  std::vector<uint16_t> halves(65536), back(halves.size());
  for (size_t i = 0; i < halves.size(); ++i)
    halves[i] = uint16_t(i);
  std::vector<float> wide(halves.size());
  host::bf16ToF32(halves.data(), wide.data(), int64_t(wide.size()));
  host::f32ToBf16(wide.data(), back.data(), int64_t(wide.size()));
  for (size_t i = 0; i < halves.size(); ++i) {
    if (std::isnan(wide[i]))
      EXPECT_EQ(back[i], halves[i] | 0x40);
    else
      EXPECT_EQ(back[i], halves[i]);
  }
  host::f16ToF32(halves.data(), wide.data(), int64_t(wide.size()));
  host::f32ToF16(wide.data(), back.data(), int64_t(wide.size()));
  for (size_t i = 0; i < halves.size(); ++i) {
    if (std::isnan(wide[i]))
      EXPECT_EQ(back[i], halves[i] | 0x200);
    else
      EXPECT_EQ(back[i], halves[i]);
  }
  // Halfway between two bf16 numbers goes to the even one, just beyond it away.
  float ties[] = {0x1.01p0f, 0x1.03p0f, 0x1.010002p0f, 0x1.00fffep0f};
  uint16_t rounded[4];
  host::f32ToBf16(ties, rounded, 4);
  EXPECT_THAT(rounded, testing::ElementsAre(0x3f80, 0x3f82, 0x3f81, 0x3f80));
}

} // namespace
