// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tensors: rounding, wrapping, random numbers, cutting and putting together.

#include "cleave/Interpreter/Tensor.h"
#include "cleave/Interpreter/Sharding.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace cleave;
using namespace cleave::interpreter;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Tensor, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(roundTo(1.0 + 0x1p-8, DType::BF16), 1.0);
  EXPECT_EQ(roundTo(1.0 + 3 * 0x1p-8, DType::BF16), 1.0 + 0x1p-6);
  EXPECT_EQ(roundTo(-1.0 - 0x1.8p-8, DType::BF16), -1.0 - 0x1p-7);
  EXPECT_EQ(roundTo(65519.0, DType::F16), 65504.0);
  EXPECT_EQ(roundTo(65520.0, DType::F16), kInfinity);
  EXPECT_EQ(roundTo(0x1p-25, DType::F16), 0.0);
  EXPECT_EQ(roundTo(0x1.8p-25, DType::F16), 0x1p-24);
  EXPECT_EQ(roundTo(-3.4e38, DType::BF16), -kInfinity);
  EXPECT_EQ(roundTo(16777217.0, DType::F32), 16777216.0);
  EXPECT_EQ(roundTo(0.1, DType::F64), 0.1);
  EXPECT_TRUE(std::isnan(roundTo(std::nan(""), DType::BF16)));
}

TEST(Tensor, WrapsIntegers) {
  EXPECT_EQ(wrap(128, DType::I8), -128);
  EXPECT_EQ(wrap(-1, DType::I1), 1);
  EXPECT_EQ(wrap(int64_t(1) << 31, DType::I32), -(int64_t(1) << 31));
}

TEST(Tensor, RandomNumbersFollowTheSeed) {
  Tensor a = randomTensor(DType::F32, {4, 5}, 1), b = randomTensor(DType::F32, {4, 5}, 1);
  EXPECT_EQ(a.floats, b.floats);
  EXPECT_NE(a.floats, randomTensor(DType::F32, {4, 5}, 2).floats);
  for (double value : a.floats)
    EXPECT_TRUE(value >= -1.0 && value <= 1.0 && roundTo(value, DType::F32) == value);
  Tensor ids = randomTensor(DType::I64, {1000}, 3, 7);
  EXPECT_THAT(ids.ints, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(7))));
  for (int64_t id = 0; id < 7; ++id)
    EXPECT_THAT(ids.ints, testing::Contains(id));
}

TEST(Tensor, ComparesNaNAndInfinities) {
  double nan = std::nan("");
  auto of = [](std::vector<double> values) {
    return Tensor::ofFloats(DType::F64, {int64_t(values.size())}, values);
  };
  EXPECT_EQ(compare(of({nan, kInfinity, 1}), of({nan, kInfinity, 1})).absolute, 0);
  EXPECT_EQ(compare(of({nan}), of({1})).relative, kInfinity);
  EXPECT_EQ(compare(of({kInfinity}), of({-kInfinity})).relative, kInfinity);
  Difference difference = compare(of({1, 100, 3}), of({1, 104, 2}));
  EXPECT_EQ(difference.absolute, 4);
  EXPECT_EQ(difference.relative, 0.5);
  EXPECT_EQ(difference.index, 2);
  EXPECT_FALSE(compare(of({1}), of({1, 2})).sameType);
}

class Sharding : public testing::Test {
protected:
  Mesh mesh{{{"x", 2}, {"y", 3}}};
  AxisRef x = mesh.axis(0), y = mesh.axis(1);

  static Tensor counting(llvm::ArrayRef<int64_t> shape) {
    Tensor tensor(DType::F64, shape);
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.floats[i] = double(i);
    return tensor;
  }
  std::vector<Tensor> cut(const Tensor &global, const Layout &layout) {
    std::vector<Tensor> parts;
    for (int64_t device = 0; device < mesh.numDevices(); ++device)
      parts.push_back(shardTensor(global, layout, mesh, device));
    return parts;
  }
  std::optional<Tensor> join(const std::vector<Tensor> &parts, llvm::ArrayRef<int64_t> shape,
                             const Layout &layout, std::string &error) {
    std::vector<const Tensor *> pointers;
    for (const Tensor &part : parts)
      pointers.push_back(&part);
    return assembleTensor(pointers, shape, layout, mesh, error);
  }
};

TEST_F(Sharding, PaddingIsPoisonedAndShardsMayBeEmpty) {
  // 4 columns over 3: 2, 2, 0.
  Layout layout = Layout::replicated(2);
  layout.dims[1] = {y};
  std::vector<Tensor> parts = cut(counting({2, 4}), layout);
  EXPECT_THAT(parts[0].floats, ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(parts[4].floats, ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(parts[2].floats, testing::Each(testing::IsNan()));
  EXPECT_THAT(validShape({2, 4}, layout, mesh, 2), ElementsAre(2, 0));
}

TEST_F(Sharding, JoinsWhatItCut) {
  Layout layout = Layout::replicated(2);
  layout.dims[0] = {y};
  layout.dims[1] = {x};
  Tensor global = counting({5, 3});
  std::string error;
  std::optional<Tensor> joined = join(cut(global, layout), {5, 3}, layout, error);
  ASSERT_TRUE(joined) << error;
  EXPECT_EQ(joined->floats, global.floats);
}

TEST_F(Sharding, SumsPartialValues) {
  Layout layout = Layout::replicated(1);
  layout.dims[0] = {x};
  layout.partial = {y};
  Tensor global = counting({3});
  std::vector<Tensor> parts = cut(global, layout);
  EXPECT_THAT(parts[1].floats, ElementsAre(0, 0));
  for (Tensor &part : parts)
    part.floats[0] += 1.0;
  std::string error;
  std::optional<Tensor> joined = join(parts, {3}, layout, error);
  ASSERT_TRUE(joined) << error;
  EXPECT_THAT(joined->floats, ElementsAre(3, 1, 5));
  layout.partialKind = Reduction::Max;
  parts = cut(global, layout);
  EXPECT_EQ(parts[1].floats[0], -kInfinity);
  joined = join(parts, {3}, layout, error);
  ASSERT_TRUE(joined) << error;
  EXPECT_EQ(joined->floats, global.floats);
}

TEST_F(Sharding, DevicesThatDisagreeAreAnError) {
  Layout layout = Layout::replicated(1);
  layout.dims[0] = {x};
  std::vector<Tensor> parts = cut(counting({4}), layout);
  parts[4].floats[1] = 9;
  std::string error;
  EXPECT_FALSE(join(parts, {4}, layout, error));
  EXPECT_THAT(error, HasSubstr("devices 3 and 4 hold the same part and differ at element 3"));
  parts[4] = Tensor(DType::F64, {3});
  error.clear();
  EXPECT_FALSE(join(parts, {4}, layout, error));
  EXPECT_THAT(error, HasSubstr("device 4 holds tensor<3xf64>"));
}
} // namespace
