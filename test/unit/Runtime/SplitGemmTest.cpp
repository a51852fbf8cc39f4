// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Products in pieces: each element is computed once, and right.

#include "TestExecutable.h"
#include "base/dtype.h"
#include "drivers/host/split_gemm.h"

namespace cleave::rt::test {
namespace {

using host::GemmDesc;

struct Case {
  int64_t batch, m, n, k;
  uint32_t maxPieces, pieces;
};

TEST(SplitGemm, PiecesMakeTheWhole) {
  const Case cases[] = {
      {1, 1000, 96, 70, 16, 3}, // by rows, not more than 256 rows allow
      {1, 600, 96, 70, 16, 2},  // the last is shorter
      {1, 300, 96, 70, 16, 1},  // too few rows to cut
      {1, 2, 3000, 400, 4, 1},  // little work
      {1, 4, 3000, 800, 4, 4},  // by columns
      {7, 100, 90, 200, 3, 3},  // by batch
      {2, 700, 90, 200, 4, 2},  // few in the batch: by rows
      {1, 1000, 96, 70, 1, 1},
  };
  for (const Case &c : cases)
    for (bool transposeC : {false, true}) {
      SCOPED_TRACE(absl::StrCat(c.batch, " x ", c.m, " x ", c.n, " x ", c.k));
      GemmDesc desc;
      desc.batch = c.batch;
      desc.m = c.m;
      desc.n = c.n;
      desc.k = c.k;
      desc.aStrides = {c.m * c.k, c.k, 1};
      desc.bStrides = {c.n * c.k, 1, c.k};
      desc.cStrides = transposeC ? std::array<int64_t, 3>{c.m * c.n, 1, c.m}
                                 : std::array<int64_t, 3>{c.m * c.n, c.n, 1};
      host::GemmCache cache;
      auto split = host::SplitGemm::create(desc, c.maxPieces, cache);
      ASSERT_TRUE(split.ok()) << split.status().message();
      EXPECT_EQ(split->pieces(), c.pieces);
      std::vector<float> a = randomFloats(size_t(c.batch * c.m * c.k), 1),
                         b = randomFloats(size_t(c.batch * c.k * c.n), 2),
                         result(size_t(c.batch * c.m * c.n), NAN);
      void *scratch = std::aligned_alloc(64, (split->scratchBytes() + 127) / 64 * 64);
      split->bind(a.data(), b.data(), result.data());
      for (uint32_t p = split->pieces(); p-- > 0;)
        ASSERT_TRUE(split->run(p, scratch).ok());
      std::free(scratch);
      // Every fourth element, so that the test stays short.
      for (int64_t x = 0; x < c.batch; ++x)
        for (int64_t i = 0; i < c.m; ++i)
          for (int64_t j = i % 4; j < c.n; j += 4) {
            double sum = 0;
            for (int64_t l = 0; l < c.k; ++l)
              sum +=
                  double(a[size_t((x * c.m + i) * c.k + l)]) * b[size_t((x * c.n + j) * c.k + l)];
            ASSERT_NEAR(
                result[size_t(x * desc.cStrides[0] + i * desc.cStrides[1] + j * desc.cStrides[2])],
                sum, 1e-4)
                << x << ", " << i << ", " << j;
          }
    }
}

} // namespace
} // namespace cleave::rt::test
