// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/Layout.h"

#include <gtest/gtest.h>

using namespace cleave;

namespace {

const Mesh kMesh({{"a", 4}, {"b", 6}, {"c", 2}});
constexpr AxisRef kA{0, 1, 4}, kA0{0, 1, 2}, kA1{0, 2, 2};
constexpr AxisRef kB{1, 1, 6}, kB0{1, 1, 2}, kB1{1, 2, 3}, kBOther0{1, 1, 3}, kBOther1{1, 3, 2};
constexpr AxisRef kC{2, 1, 2};

TEST(AxisRefTest, Overlap) {
  EXPECT_TRUE(kA.overlaps(kA0));
  EXPECT_TRUE(kA1.overlaps(kA));
  EXPECT_FALSE(kA0.overlaps(kA1));
  EXPECT_FALSE(kA.overlaps(kB));
  EXPECT_FALSE(kB0.overlaps(kB1));
  EXPECT_FALSE(kBOther1.overlaps(kBOther0));
  // (1)2 and (3)2 of 6 cover no common range, but no factoring of 6 has both.
  EXPECT_TRUE(kB0.overlaps(kBOther1));
  EXPECT_TRUE(kB1.overlaps(kBOther0));
  EXPECT_TRUE(kB0.overlaps(kBOther0));
}

TEST(MeshTest, CountsAndNames) {
  EXPECT_EQ(kMesh.numDevices(), 48);
  EXPECT_EQ(Mesh().numDevices(), 1);
  EXPECT_EQ(kMesh.findAxis("b"), 1u);
  EXPECT_EQ(kMesh.findAxis("z"), std::nullopt);
  EXPECT_EQ(kMesh.axis(1), kB);
}

TEST(MeshTest, EqualityLooksAtNamesSizesAndOrder) {
  EXPECT_TRUE(kMesh == Mesh({{"a", 4}, {"b", 6}, {"c", 2}}));
  EXPECT_FALSE(kMesh == Mesh({{"a", 4}, {"b", 6}, {"d", 2}}));
  EXPECT_FALSE(kMesh == Mesh({{"a", 4}, {"b", 6}}));
  EXPECT_FALSE(Mesh({{"a", 2}}, {0, 1}) == Mesh({{"a", 2}}, {1, 0}));
}

TEST(MeshTest, Coordinates) {
  int64_t device = (3 * 6 + 4) * 2 + 1; // a=3, b=4, c=1
  EXPECT_EQ(kMesh.coordinate(device, kA), 3);
  EXPECT_EQ(kMesh.coordinate(device, kB), 4);
  EXPECT_EQ(kMesh.coordinate(device, kC), 1);
  EXPECT_EQ(kMesh.coordinate(device, kA0), 1);
  EXPECT_EQ(kMesh.coordinate(device, kB0), 1); // 4 = 1*3 + 1
  EXPECT_EQ(kMesh.coordinate(device, kB1), 1);
  EXPECT_EQ(kMesh.coordinate(device, kBOther0), 2); // 4 = 2*2 + 0
  EXPECT_EQ(kMesh.coordinate(device, kBOther1), 0);
  EXPECT_EQ(kMesh.coordinate(device, {kC, kA}), 1 * 4 + 3);
  EXPECT_EQ(kMesh.coordinate(device, llvm::ArrayRef<AxisRef>()), 0);
}

TEST(MeshTest, GroupIsOrderedByCoordinate) {
  llvm::SmallVector<AxisRef> axes{kC, kB0};
  for (int64_t device = 0; device < kMesh.numDevices(); ++device) {
    auto group = kMesh.group(device, axes);
    ASSERT_EQ(group.size(), 4u);
    for (auto [index, member] : llvm::enumerate(group)) {
      EXPECT_EQ(kMesh.coordinate(member, axes), int64_t(index));
      for (AxisRef other : {kA, kB1})
        EXPECT_EQ(kMesh.coordinate(member, other), kMesh.coordinate(device, other));
    }
    EXPECT_EQ(group[kMesh.coordinate(device, axes)], device);
  }
}

TEST(AxisListTest, AppendMergesAdjacentDigits) {
  AxisList list;
  appendAxis(list, kA0);
  appendAxis(list, AxisRef{2, 1, 1}); // size 1 is no axis
  appendAxis(list, kA1);
  EXPECT_EQ(list, AxisList{kA});
  appendAxis(list, kB1);
  appendAxis(list, kB0); // minor before major: two parts
  EXPECT_EQ(list, (AxisList{kA, kB1, kB0}));
  EXPECT_EQ(shardCount(list), 24);
  EXPECT_EQ(canonicalAxes({kB0, kB1, kC}), (AxisList{kB, kC}));
  EXPECT_EQ(sortedAxes({kC, kB1, kA, kB0}), (AxisList{kA, kB, kC}));
}

TEST(AxisListTest, TakeMajor) {
  AxisRef ref = kB;
  EXPECT_EQ(takeMajor(ref, 2), AxisList{kB0});
  EXPECT_EQ(ref, kB1);
  EXPECT_EQ(takeMajor(ref, 3), AxisList{kB1});
  EXPECT_EQ(ref.size, 1u);
}

TEST(AxisListTest, CommonPrefix) {
  EXPECT_EQ(commonPrefix({kA, kB}, {kA, kC}), AxisList{kA});
  EXPECT_EQ(commonPrefix({kA}, {kA0}), AxisList{kA0});
  EXPECT_EQ(commonPrefix({kA0, kA1, kB}, {kA, kB0}), (AxisList{kA, kB0}));
  EXPECT_EQ(commonPrefix({kA0, kB}, {kA, kB}), AxisList{kA0});
  EXPECT_EQ(commonPrefix({kB}, {kC}), AxisList{});
  EXPECT_EQ(commonPrefix({kB0}, {kBOther0}), AxisList{}); // 2 and 3 share no factor
  AxisRef four{0, 1, 4}, six{0, 1, 6};                    // of an axis of size 12
  EXPECT_EQ(commonPrefix({four}, {six}), (AxisList{{0, 1, 2}}));
}

TEST(AxisListTest, RemovePrefix) {
  EXPECT_EQ(removePrefix({kA, kB}, {kA}), AxisList{kB});
  EXPECT_EQ(removePrefix({kA, kB}, {kA0}), (AxisList{kA1, kB}));
  EXPECT_EQ(removePrefix({kA, kB}, {kA, kB0}), AxisList{kB1});
  EXPECT_EQ(removePrefix({kA, kB}, {}), (AxisList{kA, kB}));
  EXPECT_EQ(removePrefix({kA, kB}, {kA, kB}), AxisList{});
  EXPECT_EQ(removePrefix({kA, kB}, {kB}), std::nullopt);
  EXPECT_EQ(removePrefix({kA0}, {kA}), std::nullopt);
}

TEST(AxisListTest, SubtractAxes) {
  EXPECT_EQ(subtractAxes({kA, kB, kC}, {kB}), (AxisList{kA, kC}));
  EXPECT_EQ(subtractAxes({kC, kA}, {kA0}), (AxisList{kC, kA1}));
  EXPECT_EQ(subtractAxes({kA, kB}, {kA1, kB0}), (AxisList{kA0, kB1}));
  AxisRef eight{0, 1, 8}, middle{0, 2, 2};
  EXPECT_EQ(subtractAxes({eight}, {middle}), (AxisList{{0, 1, 2}, {0, 4, 2}}));
  EXPECT_EQ(subtractAxes({kB0}, {kBOther1}), AxisList{}); // another factoring goes as a whole
}

TEST(AxisListTest, Overlap) {
  EXPECT_TRUE(axesOverlap({kC, kA1}, {kA}));
  EXPECT_FALSE(axesOverlap({kC, kA1}, {kA0, kB}));
  EXPECT_FALSE(axesOverlap({}, {kA}));
}

//===------------------------------------------------------------------------------------------===//
// Layout
//===------------------------------------------------------------------------------------------===//

TEST(LayoutTest, LocalAndValidSizes) {
  EXPECT_EQ(localSize(4, 3), 2);
  EXPECT_EQ(validSize(4, 3, 0), 2);
  EXPECT_EQ(validSize(4, 3, 1), 2);
  EXPECT_EQ(validSize(4, 3, 2), 0); // an empty shard
  EXPECT_EQ(localSize(509, 8), 64);
  EXPECT_EQ(validSize(509, 8, 7), 61);
  EXPECT_EQ(localSize(1, 8), 1);
  EXPECT_EQ(localSize(0, 8), 0);
  EXPECT_EQ(validSize(5, 8, 6), 0);
  for (int64_t n = 0; n < 40; ++n)
    for (int64_t k = 1; k < 12; ++k) {
      int64_t sum = 0;
      for (int64_t c = 0; c < k; ++c)
        sum += validSize(n, k, c);
      EXPECT_EQ(sum, n) << n << " over " << k;
    }
}

TEST(LayoutTest, LocalShape) {
  Layout layout{{{kA}, {}, {kB1, kC}}, {kB0}};
  EXPECT_EQ(localShape({10, 7, 12}, layout), (llvm::SmallVector<int64_t>{3, 7, 2}));
  EXPECT_EQ(localElements({10, 7, 12}, layout), 42);
  EXPECT_FALSE(isEven({10, 7, 12}, layout));
  EXPECT_TRUE(isEven({8, 7, 12}, layout));
}

TEST(LayoutTest, AlignmentIsEqualityOfBlocks) {
  // The definition: element by element, the nested split and the flat one agree on the shard.
  for (int64_t n = 0; n < 40; ++n)
    for (int64_t outer = 1; outer < 7; ++outer)
      for (int64_t inner = 1; inner < 7; ++inner) {
        bool same = true;
        int64_t flat = localSize(n, outer * inner), block = localSize(n, outer);
        for (int64_t i = 0; i < n; ++i)
          same &= i / flat == i / block * inner + i % block / localSize(block, inner);
        EXPECT_EQ(isAligned(n, outer, inner), same) << n << " over " << outer << " x " << inner;
      }
}

TEST(LayoutTest, UsedAxesAndReplicated) {
  Layout layout{{{kA}, {}, {kB1}}, {kB0}};
  EXPECT_EQ(layout.usedAxes(), (AxisList{kA, kB1, kB0}));
  EXPECT_FALSE(layout.isReplicated());
  EXPECT_TRUE(Layout::replicated(3).isReplicated());
  Layout partial = Layout::replicated(1);
  partial.partial = {kA};
  EXPECT_FALSE(partial.isReplicated());
}

TEST(LayoutTest, EqualityAndHash) {
  Layout x{{{kA}, {}}, {}}, y = x;
  y.partialKind = Reduction::Max; // without partial axes the kind says nothing
  EXPECT_EQ(x, y);
  EXPECT_EQ(hash_value(x), hash_value(y));
  x.partial = y.partial = {kC};
  EXPECT_NE(x, y);
  EXPECT_NE(hash_value(x), hash_value(y));
  Layout swapped{{{}, {kA}}, {kC}};
  EXPECT_NE(x, swapped);
  EXPECT_NE(hash_value(x), hash_value(swapped));
}

TEST(LayoutTest, Text) {
  EXPECT_EQ(toString(kMesh, Layout{{{kA}, {}}, {}}), R"([{"a"}, {}])");
  EXPECT_EQ(toString(kMesh, Layout{{{kB1, kC}}, {kA}}), R"([{"b":(2)3, "c"}] partial=sum{"a"})");
  EXPECT_EQ(toString(kMesh, Layout{{{}}, {kA0, kC}, Reduction::Max}),
            R"([{}] partial=max{"a":(1)2, "c"})");
  EXPECT_EQ(toString(kMesh, Layout::replicated(0)), "[]");
}

} // namespace
