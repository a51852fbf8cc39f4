// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/ShardClass.h"
#include "Seed.h"
#include "gtest/gtest.h"

using namespace cleave;

namespace {

/// What `device` of `count` holds of a dimension, by the rule itself.
int64_t held(int64_t size, int64_t count, int64_t device) {
  int64_t shard = (size + count - 1) / count;
  return std::clamp<int64_t>(size - device * shard, 0, shard);
}

TEST(ShardClass, SaysWhichDevicesAreFullCutAndEmpty) {
  for (int64_t size = 1; size <= 70; ++size)
    for (int64_t count = 1; count <= 16; ++count) {
      ShardClass shards = ShardClass::of(size, count);
      int64_t full = 0, cut = 0, shard = held(size, count, 0);
      for (int64_t device = 0; device < count; ++device) {
        int64_t rows = held(size, count, device);
        full += rows == shard;
        cut += rows > 0 && rows < shard;
      }
      EXPECT_EQ(shards.full, full) << size << " over " << count;
      EXPECT_EQ(shards.cut, cut == 1) << size << " over " << count;
      EXPECT_LE(cut, 1);
      EXPECT_EQ(shards.singleElement, shard == 1);
    }
}

TEST(ShardClass, SmallSizesAreAloneInTheirClass) {
  // Four rows over three: 2, 2, 0.
  EXPECT_EQ(smallestOfSameClasses(4, {3}), 4);
  EXPECT_EQ(smallestOfSameClasses(2, {1, 2, 4, 8}), 2);
  EXPECT_EQ(smallestOfSameClasses(8, {1, 2, 4, 8}), 8);
  EXPECT_EQ(smallestOfSameClasses(4096, {1, 2, 4, 8}), 16);
  EXPECT_EQ(smallestOfSameClasses(509, {8}), 15);
  EXPECT_EQ(smallestOfSameClasses(4096, {1, 2, 4, 8}, 100), 104);
  EXPECT_EQ(smallestOfSameClasses(12, {1, 2}, 50), 12);
  EXPECT_EQ(smallestOfSameClasses(12, {}), 1);
}

TEST(ShardClass, Divisors) {
  EXPECT_EQ(divisorsOf({}), (llvm::SmallVector<int64_t>{}));
  EXPECT_EQ(divisorsOf({8, 3, 1}), (llvm::SmallVector<int64_t>{1, 2, 3, 4, 8}));
}

TEST(ShardClass, RandomSizesKeepDivisibilityOrderAndEmptyDevices) {
  uint32_t seed = test::seedFromEnvironment();
  std::mt19937 random(seed);
  auto draw = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(test::replayText(seed, round));
    llvm::SmallVector<int64_t> axes;
    for (int64_t i = draw(1, 3); i > 0; --i)
      axes.push_back(draw(1, 8));
    if (axes.size() > 1)
      axes.push_back(axes[0] * axes[1]);
    llvm::SmallVector<int64_t> counts = divisorsOf(axes);
    int64_t size = draw(0, 1) ? draw(1, 64) : draw(1, 5000);
    int64_t least = draw(0, 1) ? 1 : draw(1, 300);
    int64_t small = smallestOfSameClasses(size, counts, least);
    EXPECT_LE(small, size);
    EXPECT_TRUE(small >= least || small == size);
    for (int64_t count : counts) {
      EXPECT_EQ(small % count == 0, size % count == 0);
      EXPECT_EQ(small < count, size < count);
      EXPECT_EQ(small == count, size == count);
      for (int64_t device = 0; device < count; ++device)
        EXPECT_EQ(held(small, count, device) == 0, held(size, count, device) == 0);
    }
    // None between is of the class.
    for (int64_t other = least; other < small; ++other)
      EXPECT_FALSE(haveSameClasses(other, size, counts));
  }
}

} // namespace
