// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Dialect/Exec/Transforms/MemoryPacking.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace cleave::exec;

namespace {

/// What two items that live at one time share, as a message; empty if nothing.
std::string faultOf(const std::vector<MemoryItem> &items, int64_t size) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].offset < 0 || items[i].offset + items[i].bytes > size)
      return "item " + std::to_string(i) + " is not inside the region";
    for (size_t j = 0; j < i; ++j)
      if (items[i].bytes && items[j].bytes && items[i].begin <= items[j].end &&
          items[j].begin <= items[i].end && items[i].offset < items[j].offset + items[j].bytes &&
          items[j].offset < items[i].offset + items[i].bytes)
        return "items " + std::to_string(j) + " and " + std::to_string(i) + " share bytes";
  }
  return "";
}

TEST(MemoryPackingTest, NothingNeedsNothing) {
  std::vector<MemoryItem> items;
  EXPECT_EQ(packMemory(items), 0);
  EXPECT_EQ(largestLiveSum(items), 0);
}

TEST(MemoryPackingTest, OneAfterTheOtherShare) {
  std::vector<MemoryItem> items = {{0, 1, 64}, {2, 3, 128}, {4, 4, 64}};
  EXPECT_EQ(largestLiveSum(items), 128);
  EXPECT_EQ(packMemory(items), 128);
  EXPECT_EQ(faultOf(items, 128), "");
}

TEST(MemoryPackingTest, BothEndsOfALifeCount) {
  std::vector<MemoryItem> items = {{0, 2, 64}, {2, 3, 64}};
  EXPECT_EQ(packMemory(items), 128);
  EXPECT_EQ(faultOf(items, 128), "");
}

// A training step: every layer keeps some values until its backward, and needs others at once.
TEST(MemoryPackingTest, NestedLivesPackToTheBound) {
  std::vector<MemoryItem> items;
  const int64_t layers = 100;
  for (int64_t layer = 0; layer < layers; ++layer) {
    int64_t forward = 4 * layer, backward = 8 * layers - 4 * layer;
    items.push_back({forward, backward, 4096});
    items.push_back({forward + 1, backward - 1, 1024});
    items.push_back({forward, forward + 2, 16384});
    items.push_back({backward - 2, backward, 8192});
  }
  int64_t size = packMemory(items);
  EXPECT_EQ(faultOf(items, size), "");
  EXPECT_LE(double(size), 1.005 * double(largestLiveSum(items)));
}

TEST(MemoryPackingTest, RandomLivesDoNotShare) {
  double worst = 1;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
    std::vector<MemoryItem> items;
    int64_t slots = 1 + below(200), longest = 1 + below(slots);
    for (int64_t i = 0, n = 1 + below(300); i < n; ++i) {
      int64_t begin = below(slots);
      items.push_back(
          {begin, std::min(slots - 1, begin + below(longest)), 64 * below(below(4) ? 8 : 200)});
    }
    int64_t size = packMemory(items);
    ASSERT_EQ(faultOf(items, size), "") << "seed " << seed;
    int64_t bound = largestLiveSum(items);
    ASSERT_GE(size, bound) << "seed " << seed;
    worst = std::max(worst, double(size) / double(std::max<int64_t>(bound, 1)));
  }
  EXPECT_LT(worst, 1.3);
}

} // namespace
