// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Entries whose instructions are run several times.

#include "TestExecutable.h"
#include "core/session.h"
#include <gmock/gmock.h>
#include <limits>

namespace cleave::rt::test {
namespace {

using testing::HasSubstr;

constexpr uint32_t kRelu = 3; ///< the launch's place in the list

std::unique_ptr<fb::BufferRef> pointer(const fb::BufferRef &r) {
  return std::make_unique<fb::BufferRef>(r);
}

fb::FillT fill(const fb::BufferRef &to, double value) {
  fb::FillT op;
  op.dst = pointer(to);
  op.dtype = fb::DType::F32;
  op.value = value;
  return op;
}

/// y[8] += x[8]
fb::GemmT addTo(const fb::BufferRef &one, const fb::BufferRef &x, const fb::BufferRef &y) {
  fb::GemmT op;
  op.dtype_ab = op.dtype_c = fb::DType::F32;
  op.batch = op.m_max = op.k_max = 1;
  op.n_max = 8;
  op.a = pointer(one);
  op.b = pointer(x);
  op.c = pointer(y);
  op.a_strides = {1, 1, 1};
  op.b_strides = op.c_strides = {8, 8, 1};
  op.accumulate = true;
  return op;
}

/// On two devices, for r = 0, 1, 2: y += the sum over devices of relu(x[0 .. 2 (r + 1)]), and at
/// last the present sum again. Stream 1 makes the sums. The last segment does not say what it waits
/// for.
ExecutableBuilder schedule() {
  ExecutableBuilder b({{"tp", 2}});
  uint32_t axes = b.axisList({0});
  fb::BufferRef x = b.input("x", fb::DType::F32, {8}, {-1}),
                y = b.output("y", fb::DType::F32, {8}, {-1});
  fb::BufferRef one = b.scratch(64), s = b.scratch(64), t = b.scratch(64), u = b.scratch(64);
  auto front = [](const fb::BufferRef &r, uint64_t bytes) {
    return fb::BufferRef(r.region(), r.offset(), bytes);
  };
  b.add(fill(y, 0), "start");
  b.add(fill(front(one, 4), 1), "one");
  b.add(fill(front(s, 32), 0), "clear");
  fb::LaunchT relu;
  relu.kernel = b.kernel("test_relu", {32, 32}, {fb::Access::Read, fb::Access::Write}, {0}, {8});
  relu.buffers = {x, front(s, 32)};
  relu.scalars.push_back(expr({9, 3, 0, 1, 2, 0, 0, 2, 4, 0})); // (repetition of 3 + 1) * 2
  EXPECT_EQ(b.add(std::move(relu), "relu"), kRelu);
  fb::CollectiveT sum;
  sum.kind = fb::CollectiveKind::AllReduce;
  sum.dtype = fb::DType::F32;
  sum.axes = axes;
  auto part = std::make_unique<fb::CollectivePartT>();
  part->src = pointer(front(s, 32));
  part->dst = pointer(front(t, 32));
  part->outer = part->dim = part->block = 1;
  part->inner = 8;
  sum.parts.push_back(std::move(part));
  uint32_t reduced = b.add(std::move(sum), "sum", 1, {kRelu});
  b.add(addTo(front(one, 4), front(t, 32), y), "add", 0, {reduced});
  fb::CopyT copy;
  copy.src = pointer(front(t, 32));
  copy.dst = pointer(front(u, 32));
  b.add(std::move(copy), "keep", 1);
  b.add(addTo(front(one, 4), front(u, 32), y), "add again");
  b.entry().schedule = {fb::Segment(2, 1), fb::Segment(5, 3), fb::Segment(1, 1)};
  return b;
}

std::unique_ptr<Session> sessionOf(ExecutableBuilder &b, const SessionOptions &options,
                                   float first = 1) {
  auto session = Session::create(b.load(), options);
  EXPECT_TRUE(session.ok()) << session.status();
  std::vector<float> x{first, -2, 3, 4, 5, 6, 7, 8};
  HostArray array;
  array.dtype = DType::F32;
  array.shape = {8};
  array.data = x.data();
  EXPECT_TRUE((*session)->setInput("forward", "x", array).ok());
  return *std::move(session);
}

std::vector<float> resultOf(Session &session) {
  std::vector<float> y(8);
  EXPECT_TRUE(session
                  .read(TensorKind::Output, "forward", "y",
                        {reinterpret_cast<uint8_t *>(y.data()), y.size() * sizeof(float)})
                  .ok());
  return y;
}

TEST(Schedule, RunsSegmentsAsOftenAsItSays) {
  // Twice the number of repetitions that reach the element, and twice once more.
  std::vector<float> expected{8, 0, 18, 24, 20, 24, 0, 0};
  for (uint64_t seed = 0; seed <= 40; ++seed) {
    SessionOptions options;
    options.interleavingSeed = seed; // 0: on workers
    options.poison = true;
    ExecutableBuilder b = schedule();
    std::unique_ptr<Session> session = sessionOf(b, options);
    for (int run = 0; run < 2; ++run) {
      Status status = session->run("forward");
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(resultOf(*session), expected) << "seed " << seed;
    }
  }
}

TEST(Schedule, NullDriverChecksEveryRun) {
  SessionOptions options;
  options.driver = "null";
  ExecutableBuilder b = schedule();
  EXPECT_TRUE(sessionOf(b, options)->run("forward").ok());
  // Without the wait the product and the collective race, in the first run already.
  ExecutableBuilder racing = schedule();
  racing.entry().instrs[5]->waits.clear();
  auto session = Session::create(racing.load(), options);
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(std::string((*session)->run("forward").message()), HasSubstr("race"));
}

TEST(Schedule, DescribedAndProfiledByInstruction) {
  SessionOptions options;
  options.profile = true;
  ExecutableBuilder b = schedule();
  std::string text = b.load()->describeJson();
  EXPECT_THAT(text, HasSubstr("\"repetitions\": 3"));
  EXPECT_THAT(text, HasSubstr("\"runs\": 3"));
  std::unique_ptr<Session> session = sessionOf(b, options);
  ASSERT_TRUE(session->run("forward").ok());
  auto profile = session->profileJson("forward");
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_THAT(*profile, HasSubstr("\"instruction\": 7,"));
  // Two products, of which one is run three times.
  EXPECT_THAT(*profile, HasSubstr("\"instructions\": 2,\n      \"runs\": 4,"));
  EXPECT_THAT(*profile, testing::Not(HasSubstr("\"instruction\": 8,")));
}

TEST(Schedule, CheckedRunNamesTheRepetition) {
  ExecutableBuilder b = schedule();
  // Not a number from the third repetition on, the first that reads elements 4 and 5.
  auto session = sessionOf(b, {});
  std::vector<float> x{1, -2, 3, 4, std::numeric_limits<float>::quiet_NaN(), 6, 7, 8};
  HostArray array;
  array.dtype = DType::F32;
  array.shape = {8};
  array.data = x.data();
  ASSERT_TRUE(session->setInput("forward", "x", array).ok());
  auto report = session->runChecked("forward");
  ASSERT_TRUE(report.ok()) << report.status();
  size_t first = report->find("\"instruction\""),
         second = report->find("\"instruction\"", first + 1);
  ASSERT_NE(first, std::string::npos) << *report;
  std::string where = report->substr(first, second - first);
  EXPECT_THAT(where, HasSubstr("\"instruction\": 4,"));
  EXPECT_THAT(where, HasSubstr("\"repetition\": 2"));
}

TEST(Schedule, EveryByteFlippedWithChecksumRecomputed) {
  // Refused, or harmless when run.
  std::vector<uint8_t> good = schedule().payload();
  for (size_t i = 0; i < good.size(); ++i)
    for (uint8_t flip : {0x01, 0x40, 0x80, 0xff}) {
      std::vector<uint8_t> bad = good;
      bad[i] ^= flip;
      loadAndRun(makeContainer(bad));
    }
}

struct Damage {
  const char *name;
  void (*apply)(ExecutableBuilder &);
  const char *message;
};

const Damage kDamages[] = {
    {"NothingInIt", [](auto &b) { b.entry().schedule = {fb::Segment(0, 1), fb::Segment(8, 1)}; },
     "a segment of 0 instructions from 0 on"},
    {"TooMany", [](auto &b) { b.entry().schedule = {fb::Segment(2, 1), fb::Segment(7, 1)}; },
     "a segment of 7 instructions from 2 on, of 8"},
    {"TooFew", [](auto &b) { b.entry().schedule = {fb::Segment(2, 1)}; },
     "its schedule has 2 of 8 instructions"},
    {"Never", [](auto &b) { b.entry().schedule[1] = fb::Segment(5, 0); }, "0 repetitions"},
    {"TooOften", [](auto &b) { b.entry().schedule[1] = fb::Segment(5, 1u << 31); },
     "2147483648 repetitions"},
    {"TooManyRuns",
     [](auto &b) {
       for (int i = 0; i < 1100; ++i)
         b.add(fill(ref(fb::Region::Scratch, 0, 4), 1), "more");
       b.entry().schedule = {fb::Segment(1108, 1 << 14)};
     },
     "its schedule runs 18153472 instructions, more than 16777216"},
    {"OtherPermutations",
     [](auto &b) {
       fb::CollectiveT permute;
       permute.kind = fb::CollectiveKind::Permute;
       permute.dtype = fb::DType::F32;
       auto part = std::make_unique<fb::CollectivePartT>();
       part->src = pointer(ref(fb::Region::Scratch, 64, 32));
       part->dst = pointer(ref(fb::Region::Scratch, 128, 32));
       part->outer = part->dim = part->block = 1;
       part->inner = 8;
       permute.parts.push_back(std::move(part));
       permute.peer = expr({9, 3, 0, 0, 4, 0});
       permute.source = expr({9, 3, 0, 0, 4, 0});
       b.entry().instrs[6]->op.Set(std::move(permute));
     },
     "a permutation differs from repetition to repetition"},
    {"WaitsForAnotherSegment", [](auto &b) { b.entry().instrs[7]->waits = {4}; },
     "waits for instruction 4, which is not an earlier one of its segment"},
    {"OtherCount", [](auto &b) { b.entry().schedule[1] = fb::Segment(5, 4); },
     "one of 3 repetitions, in a segment of 4"},
    {"ScalarInTheLastRun", [](auto &b) { b.executable.kernels[0]->scalar_max = {5}; },
     "scalar 0 is 6 on device 0, outside 0..5"},
};

class DamagedSchedule : public testing::TestWithParam<Damage> {};

TEST_P(DamagedSchedule, OneClearError) {
  ExecutableBuilder b = schedule();
  GetParam().apply(b);
  auto executable = Executable::fromMemory(b.file());
  ASSERT_FALSE(executable.ok());
  EXPECT_THAT(std::string(executable.status().message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Schedules, DamagedSchedule, testing::ValuesIn(kDamages),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace cleave::rt::test
