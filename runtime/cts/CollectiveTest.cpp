// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every collective against a plain implementation, over types, sizes that do not divide, and
// groups.

#include "Conformance.h"
#include <cmath>
#include <gmock/gmock.h>

namespace cleave::cts {
namespace {

using fb::CollectiveKind;
using fb::Reduction;
using hal::CollectiveCommand;
using rt::DType;
using Values = std::vector<double>;

uint64_t ceilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

double reduce(Reduction kind, double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  return kind == Reduction::Sum ? a + b : kind == Reduction::Max ? std::max(a, b) : std::min(a, b);
}

class Collective : public Conformance {
protected:
  /// Runs a collective in every group and returns each device's result. `unset` elements are NaN
  /// for floating-point types (poison) and -1 else.
  std::vector<Values> runCollective(const CollectiveCommand &base,
                                    const std::vector<hal::Group> &groups,
                                    const std::vector<Values> &sources, uint64_t resultElements) {
    uint64_t size = rt::sizeOf(base.dtype), srcBytes = sources[0].size() * size,
             dstBytes = resultElements * size;
    uint64_t dstAt = (srcBytes + 63) / 64 * 64;
    desc_.devices.assign(desc_.devices.size(), {});
    desc_.groups = groups;
    buffers_.clear();
    scratch(dstAt + dstBytes + 64);
    for (uint32_t g = 0; g < groups.size(); ++g)
      for (uint32_t r = 0; r < groups[g].size(); ++r) {
        uint32_t d = groups[g][r];
        write(d, 0, encode(base.dtype, sources[d]));
        CollectiveCommand c = base;
        c.group = g;
        c.rank = r;
        c.parts[0].src = slice(0, srcBytes);
        c.parts[0].dst = slice(dstAt, dstBytes);
        if (base.kind == CollectiveKind::Permute) { // a chain: from each to the next
          c.peer = r + 1 < groups[g].size() ? int64_t(r) + 1 : -1;
          c.source = int64_t(r) - 1;
        }
        add(d, c);
      }
    hal::Status status = run();
    EXPECT_EQ(status, absl::OkStatus());
    std::vector<Values> results;
    for (uint32_t d = 0; d < desc_.devices.size(); ++d) {
      results.push_back(decode(base.dtype, read(d, dstAt, dstBytes)));
      // Nothing beyond the result was touched.
      EXPECT_EQ(read(d, dstAt + dstBytes, 64), std::vector<uint8_t>(64, 0xff));
    }
    return results;
  }

  std::vector<Values> randomSources(uint64_t elements, uint64_t seed) {
    std::vector<Values> sources;
    for (size_t d = 0; d < desc_.devices.size(); ++d)
      sources.push_back(smallNumbers(elements, seed * 100 + d, 0, 15));
    return sources;
  }

  const std::vector<hal::Group> groups_ = {{0, 1, 2}, {5, 4, 3}}; ///< the second in another order
  static constexpr uint64_t kMembers = 3;
};
INSTANTIATE_TEST_SUITE_P(Cts, Collective, testing::ValuesIn(configurations()), nameOf);

const DType kAllTypes[] = {DType::F32, DType::F64, DType::BF16, DType::F16, DType::I64, DType::I32,
                           DType::I16, DType::I8,  DType::U64,  DType::U32, DType::U16, DType::U8};

TEST_P(Collective, AllReduce) {
  CLEAVE_CTS_START(6, "results");
  for (DType type : kAllTypes)
    for (Reduction reduction : {Reduction::Sum, Reduction::Max, Reduction::Min})
      for (uint64_t elements : {1, 63, 1000, 70001}) {
        if (elements > 1000 && type != DType::F32 && type != DType::BF16)
          continue;
        CollectiveCommand c;
        c.kind = CollectiveKind::AllReduce;
        c.reduction = reduction;
        c.dtype = type;
        c.parts[0].inner = elements;
        std::vector<Values> sources = randomSources(elements, elements);
        auto results = runCollective(c, groups_, sources, elements);
        for (const hal::Group &group : groups_)
          for (uint32_t d : group)
            for (uint64_t i = 0; i < elements; ++i) {
              double expected = sources[group[0]][i];
              for (size_t m = 1; m < group.size(); ++m)
                expected = reduce(reduction, expected, sources[group[m]][i]);
              ASSERT_EQ(results[d][i], expected)
                  << rt::nameOf(type) << " device " << d << " element " << i;
            }
      }
}

TEST_P(Collective, AllReduceInPlace) {
  CLEAVE_CTS_START(6, "results");
  scratch(4096 * 4);
  desc_.groups = groups_;
  std::vector<Values> sources = randomSources(4096, 5);
  for (uint32_t g = 0; g < 2; ++g)
    for (uint32_t r = 0; r < 3; ++r) {
      CollectiveCommand c;
      c.group = g;
      c.rank = r;
      c.parts[0].inner = 4096;
      c.parts[0].src = c.parts[0].dst = slice(0, 4096 * 4);
      write(groups_[g][r], 0, encode(DType::F32, sources[groups_[g][r]]));
      add(groups_[g][r], c);
    }
  ASSERT_EQ(run(), absl::OkStatus());
  for (const hal::Group &group : groups_)
    for (uint32_t d : group) {
      Values result = decode(DType::F32, read(d, 0, 4096 * 4));
      for (size_t i = 0; i < 4096; ++i)
        ASSERT_EQ(result[i], sources[group[0]][i] + sources[group[1]][i] + sources[group[2]][i]);
    }
}

TEST_P(Collective, SumsInTheOrderOfCoordinates) {
  CLEAVE_CTS_START(6, "results");
  // ((a + b) + c) in f32, also for bf16: the only order that gives these bits.
  std::vector<Values> sources;
  for (size_t d = 0; d < 6; ++d)
    sources.push_back(fractions(3000, 50 + d));
  for (DType type : {DType::F32, DType::BF16}) {
    CollectiveCommand c;
    c.dtype = type;
    c.parts[0].inner = 3000;
    auto results = runCollective(c, groups_, sources, 3000);
    for (const hal::Group &group : groups_)
      for (uint32_t d : group)
        for (size_t i = 0; i < 3000; ++i) {
          float sum = 0;
          for (size_t m = 0; m < 3; ++m) {
            double x = sources[group[m]][i];
            float value =
                type == DType::BF16 ? rt::bf16ToFloat(rt::floatToBf16(float(x))) : float(x);
            sum = m == 0 ? value : sum + value;
          }
          if (type == DType::BF16)
            sum = rt::bf16ToFloat(rt::floatToBf16(sum));
          ASSERT_EQ(results[d][i], double(sum)) << rt::nameOf(type);
        }
  }
}

TEST_P(Collective, NaNsSpread) {
  CLEAVE_CTS_START(6, "results");
  std::vector<Values> sources(6, Values(64, 1.0));
  sources[1][3] = NAN;
  for (Reduction reduction : {Reduction::Sum, Reduction::Max, Reduction::Min}) {
    CollectiveCommand c;
    c.reduction = reduction;
    c.parts[0].inner = 64;
    auto results = runCollective(c, groups_, sources, 64);
    EXPECT_TRUE(std::isnan(results[0][3]));
    EXPECT_FALSE(std::isnan(results[0][4]));
    EXPECT_FALSE(std::isnan(results[3][3]));
  }
}

TEST_P(Collective, AllGather) {
  CLEAVE_CTS_START(6, "results");
  for (uint64_t dim : {1, 4, 6, 7})
    for (uint64_t outer : {1, 3})
      for (uint64_t inner : {1, 5, 40000}) {
        uint64_t block = ceilDiv(dim, kMembers);
        CollectiveCommand c;
        c.kind = CollectiveKind::AllGather;
        c.parts[0].outer = outer;
        c.parts[0].dim = dim;
        c.parts[0].block = block;
        c.parts[0].inner = inner;
        std::vector<Values> sources = randomSources(outer * block * inner, dim);
        auto results = runCollective(c, groups_, sources, outer * dim * inner);
        for (const hal::Group &group : groups_)
          for (uint32_t d : group)
            for (uint64_t o = 0; o < outer; ++o)
              for (uint64_t row = 0; row < dim; ++row)
                for (uint64_t i = 0; i < inner; ++i)
                  ASSERT_EQ(results[d][(o * dim + row) * inner + i],
                            sources[group[row / block]][(o * block + row % block) * inner + i]);
      }
}

TEST_P(Collective, ReduceScatterAndAllSlice) {
  CLEAVE_CTS_START(6, "results");
  for (CollectiveKind kind : {CollectiveKind::ReduceScatter, CollectiveKind::AllSlice})
    for (uint64_t dim : {1, 4, 6, 7})
      for (uint64_t outer : {1, 3})
        for (uint64_t inner : {1, 5, 40000}) {
          uint64_t block = ceilDiv(dim, kMembers);
          CollectiveCommand c;
          c.kind = kind;
          c.parts[0].outer = outer;
          c.parts[0].dim = dim;
          c.parts[0].block = block;
          c.parts[0].inner = inner;
          std::vector<Values> sources = randomSources(outer * dim * inner, dim);
          auto results = runCollective(c, groups_, sources, outer * block * inner);
          for (const hal::Group &group : groups_)
            for (uint32_t rank = 0; rank < group.size(); ++rank)
              for (uint64_t o = 0; o < outer; ++o)
                for (uint64_t row = 0; row < block && rank * block + row < dim; ++row)
                  for (uint64_t i = 0; i < inner; ++i) {
                    uint64_t from = (o * dim + rank * block + row) * inner + i;
                    double expected = kind == CollectiveKind::AllSlice
                                          ? sources[group[rank]][from]
                                          : sources[group[0]][from] + sources[group[1]][from] +
                                                sources[group[2]][from];
                    ASSERT_EQ(results[group[rank]][(o * block + row) * inner + i], expected);
                  }
        }
}

TEST_P(Collective, AllToAll) {
  CLEAVE_CTS_START(6, "results");
  for (bool gatherOuter : {false, true})
    for (uint64_t gathered : {2, 6, 7})
      for (uint64_t split : {1, 6, 8})
        for (uint64_t outer : {1, 2})
          for (uint64_t middle : {1, 3})
            for (uint64_t inner : {1, 4}) {
              uint64_t block = ceilDiv(gathered, kMembers), block2 = ceilDiv(split, kMembers);
              CollectiveCommand c;
              c.kind = CollectiveKind::AllToAll;
              c.parts[0].outer = outer;
              c.parts[0].dim = gathered;
              c.parts[0].block = block;
              c.middle = middle;
              c.dim2 = split;
              c.block2 = block2;
              c.parts[0].inner = inner;
              c.gatherOuter = gatherOuter;
              std::vector<Values> sources =
                  randomSources(outer * block * middle * split * inner, gathered * 10 + split);
              auto results =
                  runCollective(c, groups_, sources, outer * gathered * middle * block2 * inner);
              // Element (o, g, m, s, i) of an array whose gathered and split sizes are G and S.
              auto at = [&](uint64_t o, uint64_t g, uint64_t m, uint64_t s, uint64_t i, uint64_t G,
                            uint64_t S) {
                return gatherOuter ? (((o * G + g) * middle + m) * S + s) * inner + i
                                   : (((o * S + s) * middle + m) * G + g) * inner + i;
              };
              for (const hal::Group &group : groups_)
                for (uint32_t rank = 0; rank < group.size(); ++rank)
                  for (uint64_t o = 0; o < outer; ++o)
                    for (uint64_t g = 0; g < gathered; ++g)
                      for (uint64_t m = 0; m < middle; ++m)
                        for (uint64_t s = 0; s < block2 && rank * block2 + s < split; ++s)
                          for (uint64_t i = 0; i < inner; ++i)
                            ASSERT_EQ(results[group[rank]][at(o, g, m, s, i, gathered, block2)],
                                      sources[group[g / block]][at(
                                          o, g % block, m, rank * block2 + s, i, block, split)]);
            }
}

TEST_P(Collective, Permute) {
  CLEAVE_CTS_START(6, "results");
  CollectiveCommand c;
  c.kind = CollectiveKind::Permute;
  c.parts[0].inner = 100;
  std::vector<Values> sources = randomSources(100, 3);
  auto results = runCollective(c, groups_, sources, 100);
  for (const hal::Group &group : groups_)
    for (size_t r = 0; r < group.size(); ++r) {
      if (r == 0)
        EXPECT_TRUE(std::isnan(results[group[r]][0])); // nobody sends to the first
      else
        EXPECT_EQ(results[group[r]], sources[group[r - 1]]);
    }
}

TEST_P(Collective, EmptyBuffers) {
  CLEAVE_CTS_START(6, "results");
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
        CollectiveKind::AllSlice, CollectiveKind::AllToAll, CollectiveKind::Permute}) {
    CollectiveCommand c;
    c.kind = kind;
    c.parts[0].inner = 0;
    c.parts[0].outer = uint64_t(1) << 50;
    runCollective(c, groups_, std::vector<Values>(6), 0);
  }
}

TEST_P(Collective, Groups) {
  CLEAVE_CTS_START(6, "results");
  // Parts that are empty, of few bytes, and large enough to be cut up; sizes that do not divide.
  struct Shape {
    uint64_t outer, dim, inner;
  };
  const std::vector<Shape> shapes = {{1, 7, 5}, {3, 6, 40000}, {1, 4, 0}, {2, 4, 1}, {1, 3, 16}};
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    CollectiveCommand base;
    base.kind = kind;
    base.parts.clear();
    uint64_t end = 0;
    auto place = [&](uint64_t elements) {
      uint64_t begin = end;
      end += (elements * 4 + 63) / 64 * 64;
      return slice(begin, elements * 4);
    };
    for (const Shape &shape : shapes) {
      uint64_t block = ceilDiv(shape.dim, kMembers);
      bool isReduced = kind != CollectiveKind::AllGather;
      hal::CollectivePart part;
      part.outer = shape.outer;
      part.dim = shape.dim;
      part.block = block;
      part.inner = shape.inner;
      part.src = place(shape.outer * (isReduced ? shape.dim : block) * shape.inner);
      if (kind == CollectiveKind::AllReduce && base.parts.size() % 2)
        part.dst = part.src; // in place
      else
        part.dst = place(shape.outer * (kind == CollectiveKind::ReduceScatter ? block : shape.dim) *
                         shape.inner);
      base.parts.push_back(part);
    }
    desc_.devices.assign(6, {});
    desc_.groups = groups_;
    buffers_.clear();
    scratch(end);
    std::vector<std::vector<Values>> sources(base.parts.size());
    for (size_t p = 0; p < base.parts.size(); ++p) {
      sources[p] = randomSources(base.parts[p].src.bytes / 4, p);
      for (uint32_t d = 0; d < 6; ++d)
        write(d, base.parts[p].src.offset, encode(DType::F32, sources[p][d]));
    }
    for (uint32_t g = 0; g < 2; ++g)
      for (uint32_t r = 0; r < 3; ++r) {
        CollectiveCommand c = base;
        c.group = g;
        c.rank = r;
        add(groups_[g][r], c);
      }
    ASSERT_EQ(run(), absl::OkStatus());
    for (size_t p = 0; p < base.parts.size(); ++p) {
      const hal::CollectivePart &part = base.parts[p];
      uint64_t block = kind == CollectiveKind::ReduceScatter ? part.block : part.dim;
      for (const hal::Group &group : groups_)
        for (uint32_t rank = 0; rank < group.size(); ++rank) {
          Values result = decode(DType::F32, read(group[rank], part.dst.offset, part.dst.bytes));
          for (uint64_t i = 0; i < result.size(); ++i) {
            uint64_t column = i % part.inner, row = i / part.inner % block,
                     o = i / part.inner / block;
            double expected = 0;
            if (kind == CollectiveKind::AllGather) {
              expected = sources[p][group[row / part.block]]
                                [(o * part.block + row % part.block) * part.inner + column];
            } else {
              if (kind == CollectiveKind::ReduceScatter)
                row += rank * part.block;
              if (row >= part.dim)
                continue; // padding
              for (uint32_t member : group)
                expected += sources[p][member][(o * part.dim + row) * part.inner + column];
            }
            ASSERT_EQ(result[i], expected)
                << "kind " << int(kind) << " part " << p << " rank " << rank << " element " << i;
          }
        }
    }
  }
}

TEST_P(Collective, DifferentGroupsDoNotMeet) {
  CLEAVE_CTS_START(2, "results");
  scratch(128);
  desc_.groups = {{0, 1}};
  for (uint32_t d = 0; d < 2; ++d) {
    CollectiveCommand c;
    c.rank = d;
    c.parts.resize(2 - d);
    for (size_t p = 0; p < c.parts.size(); ++p) {
      c.parts[p].inner = 16;
      c.parts[p].src = c.parts[p].dst = slice(64 * p, 64);
    }
    add(d, c);
  }
  EXPECT_THAT(std::string(prepare().message()),
              testing::HasSubstr("meet, but are different collectives"));
}

TEST_P(Collective, DifferentOnesDoNotMeet) {
  CLEAVE_CTS_START(2, "results");
  scratch(64);
  desc_.groups = {{0, 1}};
  for (uint32_t d = 0; d < 2; ++d) {
    CollectiveCommand c;
    c.rank = d;
    c.parts[0].inner = 16 - d;
    c.parts[0].src = c.parts[0].dst = slice(0, c.parts[0].inner * 4);
    add(d, c);
  }
  EXPECT_THAT(std::string(prepare().message()),
              testing::HasSubstr("meet, but are different collectives"));
}

} // namespace
} // namespace cleave::cts
