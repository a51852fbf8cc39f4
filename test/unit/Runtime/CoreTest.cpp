// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Meshes, expressions, element types, and blocks of tensors.

#include "TestExecutable.h"
#include "base/checked.h"
#include "core/expr.h"
#include "core/tensor.h"
#include <cmath>
#include <gmock/gmock.h>

namespace cleave::rt::test {
namespace {

using testing::ElementsAre;

StatusOr<Mesh> makeMesh(std::vector<std::pair<std::string, uint32_t>> axes) {
  fb::MeshT mesh;
  for (auto &[name, size] : axes) {
    auto axis = std::make_unique<fb::MeshAxisT>();
    axis->name = name;
    axis->size = size;
    mesh.axes.push_back(std::move(axis));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Mesh::Pack(builder, &mesh));
  return Mesh::fromSchema(*flatbuffers::GetRoot<fb::Mesh>(builder.GetBufferPointer()));
}

TEST(Checked, RemembersOverflow) {
  EXPECT_TRUE((Checked(3) * Checked(4) + Checked(5)).equals(17));
  EXPECT_FALSE((Checked(1ull << 40) * Checked(1ull << 40)).valid());
  EXPECT_FALSE((Checked(1ull << 40) * Checked(1ull << 40) * Checked(0)).valid());
  EXPECT_FALSE((Checked(~0ull) + Checked(1)).valid());
  EXPECT_TRUE(checkedProduct({}).equals(1));
}

TEST(DType, Conversions) {
  EXPECT_EQ(floatToBf16(1.0f), 0x3f80);
  EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f808000u)), 0x3f80); // tie to even
  EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_EQ(floatToBf16(3.4e38f), 0x7f80); // rounds to infinity
  EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(std::bit_cast<float>(0x7f800001u)))));
  // Every half converts to f32 and back.
  for (uint32_t i = 0; i < 0x10000; ++i) {
    float x = f16ToFloat(uint16_t(i));
    if (std::isnan(x))
      EXPECT_TRUE(std::isnan(f16ToFloat(floatToF16(x))));
    else
      EXPECT_EQ(floatToF16(x), i);
  }
  // And between two neighbours the nearer, on a tie the even one.
  for (uint32_t i = 0; i < 0x7bff; ++i) {
    float a = f16ToFloat(uint16_t(i)), b = f16ToFloat(uint16_t(i + 1)), middle = (a + b) / 2;
    EXPECT_EQ(floatToF16(middle), i % 2 ? i + 1 : i);
    EXPECT_EQ(floatToF16(std::nextafter(middle, 0.0f)), i);
    EXPECT_EQ(floatToF16(std::nextafter(middle, 1e9f)), i + 1);
  }
  EXPECT_EQ(floatToF16(65519.0f), 0x7bff);
  EXPECT_EQ(floatToF16(65520.0f), 0x7c00);
}

TEST(Mesh, CoordinatesAndGroups) {
  auto mesh = makeMesh({{"dp", 2}, {"tp", 8}});
  ASSERT_TRUE(mesh.ok());
  EXPECT_EQ(mesh->numDevices(), 16u);
  AxisPart dp{0, 1, 2}, tp{1, 1, 8}, major{1, 1, 2}, middle{1, 2, 2}, minor{1, 4, 2};
  std::vector<AxisPart> all{dp, tp}, swapped{tp, dp}, mid{middle}, outerInner{major, minor};
  for (uint32_t d = 0; d < 16; ++d) {
    EXPECT_EQ(mesh->coordinate(d, all), d);
    EXPECT_EQ(mesh->coordinate(d, swapped), d % 8 * 2 + d / 8);
    EXPECT_EQ(mesh->coordinate(d, mid), d / 2 % 2);
    EXPECT_EQ(mesh->coordinate(d, outerInner), d / 4 % 2 * 2 + d % 2);
    for (const auto &parts : {all, swapped, mid, outerInner}) {
      std::vector<uint32_t> group = mesh->group(d, parts);
      ASSERT_EQ(group.size(), shardCount(parts));
      EXPECT_EQ(group[mesh->coordinate(d, parts)], d);
      for (uint32_t i = 0; i < group.size(); ++i)
        EXPECT_EQ(mesh->coordinate(group[i], parts), i);
    }
  }
  EXPECT_THAT(mesh->group(5, mid), ElementsAre(5, 7));
  EXPECT_EQ(mesh->group(5, {}), std::vector<uint32_t>{5});
  EXPECT_EQ(mesh->toString(tp), "\"tp\"");
  EXPECT_EQ(mesh->toString(middle), "\"tp\":(2)2");
  EXPECT_TRUE(Mesh::overlap(tp, middle));
  EXPECT_FALSE(Mesh::overlap(major, middle));
  EXPECT_FALSE(Mesh::overlap(dp, tp));
}

StatusOr<int64_t> value(Code code, std::vector<uint32_t> coords = {}, uint32_t repetitions = 1,
                        uint32_t repetition = 0) {
  flatbuffers::FlatBufferBuilder builder;
  auto e = expr(std::move(code));
  builder.Finish(fb::Expr::Pack(builder, e.get()));
  const auto &table = *flatbuffers::GetRoot<fb::Expr>(builder.GetBufferPointer());
  CLEAVE_RETURN_IF_ERROR(checkExpr(table, coords.size(), repetitions));
  return evaluate(table, coords, repetition);
}

TEST(Expr, Values) {
  EXPECT_EQ(*value({0, 7}), 7);
  EXPECT_EQ(*value({1, 1}, {3, 4}), 4);
  EXPECT_EQ(*value({0, 7, 0, 5, 3, 0}), 2);
  EXPECT_EQ(*value({0, 7, 0, 5, 4, 0, 0, 1, 2, 0}), 36);
  EXPECT_EQ(*value({0, 7, 0, 5, 5, 0}), 5);
  EXPECT_EQ(*value({0, 7, 0, 5, 6, 0}), 7);
  // Division rounds down, and the remainder goes with it.
  for (int64_t a : {-7, -6, 0, 6, 7})
    for (int64_t b : {-3, -1, 1, 3}) {
      int64_t q = *value({0, a, 0, b, 7, 0}), r = *value({0, a, 0, b, 8, 0});
      EXPECT_EQ(q, int64_t(std::floor(double(a) / double(b))));
      EXPECT_EQ(r, a - q * b);
    }
  EXPECT_EQ(*value({0, INT64_MIN, 0, -1, 8, 0}), 0);
  EXPECT_FALSE(value({0, INT64_MIN, 0, -1, 7, 0}).ok());
  EXPECT_FALSE(value({0, INT64_MAX, 0, 1, 2, 0}).ok());
  EXPECT_FALSE(value({10, 0}).ok());
  // The repetition's number, twice 2 and the coordinate; of as many as the segment has.
  EXPECT_EQ(*value({9, 3, 0, 2, 4, 0, 1, 0, 2, 0}, {5}, 3, 2), 9);
  EXPECT_FALSE(value({9, 3}, {}, 4).ok());
  EXPECT_FALSE(value({9, 0}).ok());
  Code deep;
  for (int i = 0; i < 100; ++i)
    deep.insert(deep.end(), {0, 1});
  EXPECT_FALSE(value(deep).ok());
}

TEST(Tensor, ScatterAndGatherEveryLayout) {
  auto mesh = makeMesh({{"a", 2}, {"b", 3}});
  ASSERT_TRUE(mesh.ok());
  const std::vector<std::vector<AxisPart>> choices = {
      {}, {{0, 1, 2}}, {{1, 1, 3}}, {{0, 1, 2}, {1, 1, 3}}, {{1, 1, 3}, {0, 1, 2}}};
  for (uint64_t rows : {1, 4, 6, 7})
    for (const auto &first : choices)
      for (const auto &second : choices) {
        bool overlaps = false;
        for (const AxisPart &p : first)
          for (const AxisPart &q : second)
            overlaps |= Mesh::overlap(p, q);
        if (overlaps)
          continue;
        TensorInfo t;
        t.dtype = DType::F32;
        t.shape = {rows, 3, 5};
        t.dims = {first, {}, second};
        for (size_t d = 0; d < 3; ++d) {
          uint64_t n = shardCount(t.dims[d]);
          t.localShape.push_back((t.shape[d] + n - 1) / n);
        }
        std::vector<float> global = randomFloats(rows * 15, 1), back(global.size());
        uint64_t local = t.localShape[0] * t.localShape[1] * t.localShape[2];
        uint64_t written = 0;
        for (uint32_t d = 0; d < mesh->numDevices(); ++d) {
          std::vector<float> shard(local, NAN);
          ShardBox box = shardBox(t, *mesh, d);
          scatterBlock(t, box, global.data(), {DType::F32, rowMajorStrides(t.shape, t.dtype)},
                       shard.data());
          for (uint64_t i = 0; i < t.localShape[0]; ++i)
            for (uint64_t j = 0; j < t.localShape[1]; ++j)
              for (uint64_t k = 0; k < t.localShape[2]; ++k) {
                float x = shard[(i * t.localShape[1] + j) * t.localShape[2] + k];
                uint64_t gi = mesh->coordinate(d, first) * t.localShape[0] + i;
                uint64_t gk = mesh->coordinate(d, second) * t.localShape[2] + k;
                if (gi < rows && gk < 5)
                  ASSERT_EQ(x, global[(gi * 3 + j) * 5 + gk]);
                else
                  ASSERT_TRUE(std::isnan(x));
              }
          if (!isFirstReplica(t, *mesh, d))
            continue;
          gatherBlock(t, box, shard.data(), back.data());
          written += box.valid[0] * box.valid[1] * box.valid[2];
        }
        EXPECT_EQ(back, global);
        EXPECT_EQ(written, global.size()); // each element from exactly one device
      }
}

} // namespace
} // namespace cleave::rt::test
