// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The C ABI end to end on executables made by hand.

#include "TestExecutable.h"
#include <cmath>
#include <cstring>
#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <thread>

namespace cleave::rt::test {
namespace {

using testing::HasSubstr;

struct ExecutableDeleter {
  void operator()(cleave_executable *e) const { cleave_executable_free(e); }
};
struct SessionDeleter {
  void operator()(cleave_session *s) const { cleave_session_free(s); }
};
using ExecutablePtr = std::unique_ptr<cleave_executable, ExecutableDeleter>;
using SessionPtr = std::unique_ptr<cleave_session, SessionDeleter>;

ExecutablePtr loadFile(const std::vector<uint8_t> &file) {
  cleave_executable *executable = nullptr;
  cleave_status *status = cleave_executable_load_memory(file.data(), file.size(), &executable);
  EXPECT_EQ(status, nullptr) << cleave_status_message(status);
  cleave_status_free(status);
  return ExecutablePtr(executable);
}

SessionPtr createSession(const ExecutablePtr &executable, cleave_session_options options) {
  cleave_session *session = nullptr;
  cleave_status *status = cleave_session_create(executable.get(), &options, &session);
  EXPECT_EQ(status, nullptr) << cleave_status_message(status);
  cleave_status_free(status);
  return SessionPtr(session);
}

cleave_array arrayOf(const std::vector<float> &data, const std::vector<uint64_t> &shape) {
  return {CLEAVE_F32, shape.size(), shape.data(), nullptr, data.data()};
}

/// Sets weights and input of an MLP, runs it, and returns y.
std::vector<float> runMlp(const Mlp &mlp, const SessionPtr &session) {
  std::vector<float> x = mlp.x(), w1 = mlp.w1(), w2 = mlp.w2(), y(mlp.batch * mlp.embed);
  std::vector<uint64_t> xs{mlp.batch, mlp.embed}, s1{mlp.hidden, mlp.embed},
      s2{mlp.embed, mlp.hidden};
  cleave_array ax = arrayOf(x, xs), a1 = arrayOf(w1, s1), a2 = arrayOf(w2, s2);
  auto check = [](cleave_status *status) {
    EXPECT_EQ(status, nullptr) << cleave_status_message(status);
    cleave_status_free(status);
  };
  check(cleave_session_set_state(session.get(), "w1", &a1));
  check(cleave_session_set_state(session.get(), "w2", &a2));
  check(cleave_session_set_input(session.get(), "forward", "x", &ax));
  check(cleave_session_run(session.get(), "forward"));
  check(cleave_session_read(session.get(), CLEAVE_OUTPUT, "forward", "y", y.data(),
                            y.size() * sizeof(float)));
  return y;
}

void expectNear(const std::vector<float> &actual, const std::vector<float> &expected,
                float tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

cleave_session_options options() { return CLEAVE_SESSION_OPTIONS_INIT; }

TEST(Session, MlpOnEveryMesh) {
  for (uint32_t dp : {1, 2, 3, 8})
    for (uint32_t tp : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(absl::StrCat("dp ", dp, " tp ", tp));
      Mlp mlp;
      mlp.dp = dp;
      mlp.tp = tp;
      cleave_session_options o = options();
      o.poison = 1;
      o.threads = 3;
      SessionPtr session = createSession(loadFile(mlp.build().file()), o);
      expectNear(runMlp(mlp, session), mlp.expected(), 1e-5f);
    }
}

TEST(Session, InputsHaveDefaults) {
  Mlp mlp;
  ExecutableBuilder b = mlp.build();
  b.entry().inputs[0]->default_value = 0.25;
  ExecutablePtr executable = loadFile(b.file());
  cleave_tensor_info info;
  ASSERT_CLEAVE_OK(cleave_executable_tensor(executable.get(), CLEAVE_INPUT, "forward", 0, &info));
  EXPECT_TRUE(info.has_default);
  EXPECT_EQ(info.default_value, 0.25);
  ASSERT_CLEAVE_OK(cleave_executable_tensor(executable.get(), CLEAVE_OUTPUT, "forward", 0, &info));
  EXPECT_FALSE(info.has_default);

  auto run = [&](bool given) {
    SessionPtr session = createSession(executable, options());
    std::vector<float> x(mlp.batch * mlp.embed, 0.25f), w1 = mlp.w1(), w2 = mlp.w2(), y(x.size());
    std::vector<uint64_t> xs{mlp.batch, mlp.embed}, s1{mlp.hidden, mlp.embed},
        s2{mlp.embed, mlp.hidden};
    cleave_array ax = arrayOf(x, xs), a1 = arrayOf(w1, s1), a2 = arrayOf(w2, s2);
    EXPECT_EQ(cleave_session_set_state(session.get(), "w1", &a1), nullptr);
    EXPECT_EQ(cleave_session_set_state(session.get(), "w2", &a2), nullptr);
    if (given) {
      EXPECT_EQ(cleave_session_set_input(session.get(), "forward", "x", &ax), nullptr);
    }
    EXPECT_EQ(cleave_session_run(session.get(), "forward"), nullptr);
    EXPECT_EQ(cleave_session_read(session.get(), CLEAVE_OUTPUT, "forward", "y", y.data(),
                                  y.size() * sizeof(float)),
              nullptr);
    return y;
  };
  std::vector<float> y = run(false);
  EXPECT_EQ(y, run(true));
  EXPECT_NE(y[0], 0);
}

TEST(Session, AllocatesWhatTheFileSays) {
  Mlp mlp;
  ExecutablePtr executable = loadFile(mlp.build().file());
  cleave_memory_info memory;
  ASSERT_CLEAVE_OK(cleave_executable_memory(executable.get(), "forward", &memory));
  for (const char *driver : {"host", "null"}) {
    cleave_session_options o = options();
    o.driver = driver;
    SessionPtr session = createSession(executable, o);
    for (uint32_t device = 0; device < 8; ++device) {
      uint64_t bytes = 0;
      ASSERT_CLEAVE_OK(cleave_session_allocated_bytes(session.get(), device, &bytes));
      EXPECT_EQ(bytes, memory.state);
    }
    (void)runMlp(mlp, session);
    for (uint32_t device = 0; device < 8; ++device) {
      uint64_t bytes = 0;
      ASSERT_CLEAVE_OK(cleave_session_allocated_bytes(session.get(), device, &bytes));
      EXPECT_EQ(bytes, memory.state + memory.input + memory.output + memory.stash + memory.scratch +
                           memory.workspace);
    }
    uint64_t bytes = 0;
    EXPECT_THAT(
        errorOf(cleave_session_allocated_bytes(session.get(), 8, &bytes), CLEAVE_INVALID_ARGUMENT),
        HasSubstr("device 8 of 8"));
  }
}

TEST(Session, CheckedRunNamesWhatIsNotFinite) {
  Mlp mlp;
  ExecutablePtr executable = loadFile(mlp.build().file());
  SessionPtr session = createSession(executable, options());
  std::vector<float> expected = runMlp(mlp, session), y(expected.size());
  char *text = nullptr;
  ASSERT_CLEAVE_OK(cleave_session_run_checked(session.get(), "forward", &text));
  EXPECT_THAT(text, HasSubstr("\"not_finite\": []"));
  cleave_string_free(text);
  ASSERT_CLEAVE_OK(cleave_session_read(session.get(), CLEAVE_OUTPUT, "forward", "y", y.data(),
                                       y.size() * sizeof(float)));
  EXPECT_EQ(y, expected);
  // Rows of w1 that the second and the last shard of "tp" have: only their products overflow.
  std::vector<float> w1 = mlp.w1();
  for (uint64_t row : {3, 9})
    w1[row * mlp.embed] = 3e38f, w1[row * mlp.embed + 1] = -3e38f;
  std::vector<float> x(mlp.batch * mlp.embed, 2.0f);
  for (uint64_t i = 0; i < x.size(); i += mlp.embed)
    x[i + 1] = -2.0f;
  std::vector<uint64_t> s1{mlp.hidden, mlp.embed}, xs{mlp.batch, mlp.embed};
  cleave_array a1 = arrayOf(w1, s1), ax = arrayOf(x, xs);
  ASSERT_CLEAVE_OK(cleave_session_set_state(session.get(), "w1", &a1));
  ASSERT_CLEAVE_OK(cleave_session_set_input(session.get(), "forward", "x", &ax));
  ASSERT_CLEAVE_OK(cleave_session_run_checked(session.get(), "forward", &text));
  std::string report = text;
  cleave_string_free(text);
  size_t first = report.find("\"instruction\""), second = report.find("\"instruction\"", first + 1);
  ASSERT_NE(first, std::string::npos) << report;
  std::string up = report.substr(first, second - first);
  EXPECT_THAT(up, HasSubstr("\"instruction\": 0,"));
  EXPECT_THAT(up, HasSubstr("\"operation\": \"gemm\""));
  EXPECT_THAT(up, HasSubstr("\"site\": \"mlp.up\""));
  EXPECT_THAT(up, HasSubstr("\"from_finite\": true"));
  EXPECT_THAT(up, HasSubstr("\"values\": 10")); // Two columns of five rows.
  // The null driver has no values to look at.
  cleave_session_options o = options();
  o.driver = "null";
  SessionPtr null = createSession(executable, o);
  (void)runMlp(mlp, null);
  EXPECT_THAT(
      errorOf(cleave_session_run_checked(null.get(), "forward", &text), CLEAVE_UNIMPLEMENTED),
      HasSubstr("can not check results"));
}

TEST(Session, SameBitsInEveryOrder) {
  Mlp mlp;
  ExecutablePtr executable = loadFile(mlp.build().file());
  cleave_session_options o = options();
  o.poison = 1;
  std::vector<float> first;
  for (uint32_t threads : {1, 2, 5}) {
    o.threads = threads;
    SessionPtr session = createSession(executable, o);
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::vector<float> y = runMlp(mlp, session);
      if (first.empty())
        first = y;
      ASSERT_EQ(std::memcmp(y.data(), first.data(), y.size() * 4), 0) << threads << " threads";
    }
  }
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    o.interleaving_seed = seed;
    std::vector<float> y = runMlp(mlp, createSession(executable, o));
    ASSERT_EQ(std::memcmp(y.data(), first.data(), y.size() * 4), 0) << "seed " << seed;
  }
}

TEST(Session, SameBitsFromLargeProductsInPieces) {
  // On one device products are cut, so that all workers take part.
  Mlp mlp;
  mlp.batch = 1500;
  mlp.embed = 130;
  mlp.hidden = 200;
  mlp.dp = mlp.tp = 1;
  ExecutablePtr executable = loadFile(mlp.build().file());
  cleave_session_options o = options();
  std::vector<float> first;
  for (uint32_t threads : {1, 2, 5}) {
    o.threads = threads;
    std::vector<float> y = runMlp(mlp, createSession(executable, o));
    if (first.empty())
      first = y;
    ASSERT_EQ(std::memcmp(y.data(), first.data(), y.size() * 4), 0) << threads << " threads";
  }
  o.interleaving_seed = 3;
  std::vector<float> y = runMlp(mlp, createSession(executable, o));
  ASSERT_EQ(std::memcmp(y.data(), first.data(), y.size() * 4), 0);
  expectNear(first, mlp.expected(), 1e-3f);
}

TEST(Session, InterleavingFindsAMissingWait) {
  // Without the wait, the all-reduce may run before the product that it reduces.
  Mlp mlp;
  ExecutableBuilder b = mlp.build();
  b.entry().instrs.back()->waits.clear();
  ExecutablePtr executable = loadFile(b.file());
  cleave_session_options o = options();
  o.poison = 1;
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    o.interleaving_seed = seed;
    std::vector<float> y = runMlp(mlp, createSession(executable, o));
    wrong += std::isnan(y[0]);
  }
  EXPECT_GT(wrong, 0);
}

TEST(Session, NullDriverFindsAMissingWait) {
  Mlp mlp;
  ExecutableBuilder b = mlp.build();
  cleave_session_options o = options();
  o.driver = "null";
  {
    SessionPtr session = createSession(loadFile(b.file()), o);
    runMlp(mlp, session);
    ASSERT_CLEAVE_OK(cleave_session_close(session.release()));
  }
  b.entry().instrs.back()->waits.clear();
  SessionPtr session = createSession(loadFile(b.file()), o);
  std::vector<float> x = mlp.x();
  std::vector<uint64_t> shape{mlp.batch, mlp.embed};
  cleave_array array = arrayOf(x, shape);
  std::string message = errorOf(cleave_session_set_input(session.get(), "forward", "x", &array),
                                CLEAVE_FAILED_PRECONDITION);
  EXPECT_THAT(message, HasSubstr("race: device 0 command 3 (all_reduce of mlp.down)"));
  EXPECT_THAT(message, HasSubstr("neither waits for the other"));
}

TEST(Session, SignatureAndMemory) {
  Mlp mlp;
  ExecutablePtr e = loadFile(mlp.build().file());
  EXPECT_EQ(cleave_executable_num_devices(e.get()), 8u);
  ASSERT_EQ(cleave_executable_mesh_rank(e.get()), 2u);
  const char *name = nullptr;
  uint32_t size = 0;
  ASSERT_CLEAVE_OK(cleave_executable_mesh_axis(e.get(), 1, &name, &size));
  EXPECT_STREQ(name, "tp");
  EXPECT_EQ(size, 4u);
  EXPECT_STREQ(cleave_executable_entry_name(e.get(), 0), "forward");
  EXPECT_EQ(cleave_executable_entry_name(e.get(), 1), nullptr);
  size_t count = 0;
  ASSERT_CLEAVE_OK(cleave_executable_num_tensors(e.get(), CLEAVE_STATE, nullptr, &count));
  EXPECT_EQ(count, 2u);
  cleave_tensor_info info;
  ASSERT_CLEAVE_OK(cleave_executable_tensor(e.get(), CLEAVE_STATE, nullptr, 0, &info));
  EXPECT_STREQ(info.name, "w1");
  EXPECT_EQ(info.dtype, CLEAVE_F32);
  ASSERT_EQ(info.rank, 2u);
  EXPECT_EQ(info.shape[0], 10u);
  EXPECT_EQ(info.local_shape[0], 3u);
  EXPECT_EQ(info.shards[0], 4u);
  EXPECT_STREQ(info.sharding, "[{\"tp\"}, {}]");
  EXPECT_EQ(info.bytes, 320u);
  EXPECT_EQ(info.local_bytes, 96u);
  cleave_memory_info memory;
  ASSERT_CLEAVE_OK(cleave_executable_memory(e.get(), "forward", &memory));
  EXPECT_EQ(memory.state, 256u);
  EXPECT_EQ(memory.input, 128u);
  size_t instructions = 0, collectives = 0;
  ASSERT_CLEAVE_OK(
      cleave_executable_num_instructions(e.get(), "forward", &instructions, &collectives));
  EXPECT_EQ(instructions, 4u);
  EXPECT_EQ(collectives, 1u);
  char *json = nullptr;
  ASSERT_CLEAVE_OK(cleave_executable_describe_json(e.get(), &json));
  EXPECT_THAT(json, HasSubstr("\"kind\": \"all_reduce\""));
  EXPECT_THAT(json, HasSubstr("\"ring_bytes\": 120.0"));
  cleave_string_free(json);
}

TEST(Session, ShardsAndStates) {
  Mlp mlp;
  cleave_session_options o = options();
  o.poison = 1;
  SessionPtr session = createSession(loadFile(mlp.build().file()), o);
  runMlp(mlp, session);
  std::vector<float> w1 = mlp.w1(), back(w1.size());
  ASSERT_CLEAVE_OK(
      cleave_session_read(session.get(), CLEAVE_STATE, nullptr, "w1", back.data(), 320));
  EXPECT_EQ(back, w1);
  // Device 3 is tp coordinate 3: row 9 and two rows of padding.
  std::vector<float> shard(24);
  ASSERT_CLEAVE_OK(
      cleave_session_read_shard(session.get(), CLEAVE_STATE, nullptr, "w1", 3, shard.data(), 96));
  EXPECT_EQ(std::memcmp(shard.data(), &w1[72], 32), 0);
  EXPECT_TRUE(std::isnan(shard[8]) && std::isnan(shard[23]));
  EXPECT_THAT(errorOf(cleave_session_read_shard(session.get(), CLEAVE_STATE, nullptr, "w1", 8,
                                                shard.data(), 96),
                      CLEAVE_INVALID_ARGUMENT),
              HasSubstr("device 8 of 8"));
}

TEST(Session, StatesConvert) {
  Mlp mlp;
  SessionPtr session = createSession(loadFile(mlp.build().file()), options());
  std::vector<float> w1 = mlp.w1(), back(w1.size());
  std::vector<uint16_t> narrow;
  for (float x : w1)
    narrow.push_back(floatToBf16(x));
  std::vector<uint64_t> shape{mlp.hidden, mlp.embed};
  cleave_array array{CLEAVE_BF16, 2, shape.data(), nullptr, narrow.data()};
  ASSERT_CLEAVE_OK(cleave_session_set_state(session.get(), "w1", &array));
  ASSERT_CLEAVE_OK(
      cleave_session_read(session.get(), CLEAVE_STATE, nullptr, "w1", back.data(), 320));
  for (size_t i = 0; i < w1.size(); ++i)
    EXPECT_EQ(back[i], bf16ToFloat(narrow[i]));
}

TEST(Session, DLPackBothWays) {
  Mlp mlp;
  SessionPtr session = createSession(loadFile(mlp.build().file()), options());
  std::vector<float> expected = runMlp(mlp, session);
  // The same input, transposed in memory.
  std::vector<float> x = mlp.x(), columns(x.size());
  for (uint64_t i = 0; i < mlp.batch; ++i)
    for (uint64_t e = 0; e < mlp.embed; ++e)
      columns[e * mlp.batch + i] = x[i * mlp.embed + e];
  int64_t shape[] = {int64_t(mlp.batch), int64_t(mlp.embed)}, strides[] = {1, int64_t(mlp.batch)};
  DLTensor tensor{};
  tensor.data = columns.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 2;
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.shape = shape;
  tensor.strides = strides;
  ASSERT_CLEAVE_OK(cleave_session_set_input_dlpack(session.get(), "forward", "x", &tensor));
  ASSERT_CLEAVE_OK(cleave_session_run(session.get(), "forward"));
  void *managed = nullptr;
  ASSERT_CLEAVE_OK(cleave_session_read_dlpack(session.get(), "forward", "y", &managed));
  auto *y = static_cast<DLManagedTensor *>(managed);
  ASSERT_EQ(y->dl_tensor.ndim, 2);
  EXPECT_EQ(y->dl_tensor.shape[0], 5);
  EXPECT_EQ(std::memcmp(y->dl_tensor.data, expected.data(), expected.size() * 4), 0);
  y->deleter(y);
  tensor.device = {kDLCUDA, 0};
  EXPECT_THAT(errorOf(cleave_session_set_input_dlpack(session.get(), "forward", "x", &tensor),
                      CLEAVE_INVALID_ARGUMENT),
              HasSubstr("not in host memory"));
}

TEST(Session, WrongInputs) {
  Mlp mlp;
  SessionPtr session = createSession(loadFile(mlp.build().file()), options());
  std::vector<float> x = mlp.x();
  std::vector<uint64_t> shape{mlp.batch, mlp.embed}, other{mlp.embed, mlp.batch};
  cleave_array good = arrayOf(x, shape), wrongShape = arrayOf(x, other), wrongType = good;
  wrongType.dtype = CLEAVE_I32;
  auto set = [&](const char *entry, const char *name, const cleave_array *array) {
    return cleave_session_set_input(session.get(), entry, name, array);
  };
  EXPECT_THAT(errorOf(set("forward", "x", &wrongShape), CLEAVE_INVALID_ARGUMENT),
              HasSubstr("input 'x': it has shape [8, 5], expected [5, 8]"));
  EXPECT_THAT(errorOf(set("forward", "x", &wrongType), CLEAVE_INVALID_ARGUMENT),
              HasSubstr("it has type I32, expected F32"));
  EXPECT_THAT(errorOf(set("forward", "attention_mask", &good), CLEAVE_NOT_FOUND),
              HasSubstr("there is no input 'attention_mask'; entry 'forward' has x"));
  EXPECT_THAT(errorOf(set("backward", "x", &good), CLEAVE_NOT_FOUND),
              HasSubstr("there is no entry 'backward'; the executable has forward"));
  EXPECT_THAT(errorOf(set("forward", "x", nullptr), CLEAVE_INVALID_ARGUMENT), HasSubstr("NULL"));
  EXPECT_THAT(errorOf(cleave_session_run(session.get(), "forward"), CLEAVE_FAILED_PRECONDITION),
              HasSubstr("input 'x' was not given"));
  ASSERT_CLEAVE_OK(set("forward", "x", &good));
  EXPECT_THAT(errorOf(cleave_session_run(session.get(), "forward"), CLEAVE_FAILED_PRECONDITION),
              HasSubstr("state 'w1' was not given: load weights first"));
  std::vector<float> y(40);
  EXPECT_THAT(
      errorOf(cleave_session_read(session.get(), CLEAVE_OUTPUT, "forward", "y", y.data(), 160),
              CLEAVE_FAILED_PRECONDITION),
      HasSubstr("has not run"));
  EXPECT_THAT(
      errorOf(cleave_session_read(session.get(), CLEAVE_INPUT, "forward", "x", y.data(), 100),
              CLEAVE_INVALID_ARGUMENT),
      HasSubstr("has 160 bytes"));
}

TEST(Session, Tokens) {
  ExecutableBuilder b({{"dp", 2}});
  b.executable.token_limit = 100;
  fb::BufferRef ids = b.input("input_ids", fb::DType::I64, {2, 3}, {0, -1});
  b.input("labels", fb::DType::I64, {2, 3}, {0, -1});
  fb::BufferRef out = b.output("copy", fb::DType::I64, {2, 3}, {0, -1});
  fb::CopyT copy;
  copy.src = std::make_unique<fb::BufferRef>(ids);
  copy.dst = std::make_unique<fb::BufferRef>(out);
  b.add(std::move(copy), "copy");
  SessionPtr session = createSession(loadFile(b.file()), options());
  std::vector<uint64_t> shape{2, 3};
  auto set = [&](const char *name, std::vector<int64_t> values) {
    cleave_array array{CLEAVE_I64, 2, shape.data(), nullptr, values.data()};
    return cleave_session_set_input(session.get(), "forward", name, &array);
  };
  EXPECT_THAT(errorOf(set("input_ids", {0, 1, 2, 3, 100, 5}), CLEAVE_INVALID_ARGUMENT),
              HasSubstr("the value at [1, 1] is 100, which is not a token of 0..99"));
  EXPECT_THAT(errorOf(set("input_ids", {0, 1, 2, 3, 4, -100}), CLEAVE_INVALID_ARGUMENT),
              HasSubstr("is -100"));
  EXPECT_THAT(errorOf(set("labels", {0, 1, 2, 3, 4, -1}), CLEAVE_INVALID_ARGUMENT),
              HasSubstr("not a token of 0..99 or -100"));
  ASSERT_CLEAVE_OK(set("labels", {0, 1, 2, 3, 4, -100}));
  ASSERT_CLEAVE_OK(set("input_ids", {0, 99, 2, 3, 4, 5}));
  ASSERT_CLEAVE_OK(cleave_session_run(session.get(), "forward"));
  std::vector<int64_t> back(6);
  ASSERT_CLEAVE_OK(
      cleave_session_read(session.get(), CLEAVE_OUTPUT, "forward", "copy", back.data(), 48));
  EXPECT_EQ(back, (std::vector<int64_t>{0, 99, 2, 3, 4, 5}));
}

TEST(Session, Options) {
  Mlp mlp;
  ExecutablePtr executable = loadFile(mlp.build().file());
  cleave_session *session = nullptr;
  cleave_session_options o = options();
  o.driver = "cuda";
  EXPECT_THAT(errorOf(cleave_session_create(executable.get(), &o, &session), CLEAVE_NOT_FOUND),
              HasSubstr("there is no driver 'cuda'; this build has host, null"));
  o = options();
  o.struct_size = 8;
  EXPECT_THAT(
      errorOf(cleave_session_create(executable.get(), &o, &session), CLEAVE_INVALID_ARGUMENT),
      HasSubstr("CLEAVE_SESSION_OPTIONS_INIT"));
  o = options();
  o.threads = 1 << 20;
  EXPECT_THAT(
      errorOf(cleave_session_create(executable.get(), &o, &session), CLEAVE_INVALID_ARGUMENT),
      HasSubstr("threads"));
  EXPECT_EQ(session, nullptr);
}

TEST(Session, Profile) {
  Mlp mlp;
  ExecutablePtr executable = loadFile(mlp.build().file());
  cleave_session_options o = options();
  SessionPtr plain = createSession(executable, o);
  runMlp(mlp, plain);
  char *text = nullptr;
  EXPECT_THAT(errorOf(cleave_session_profile_json(plain.get(), "forward", &text),
                      CLEAVE_FAILED_PRECONDITION),
              HasSubstr("does not profile"));
  o.profile = 1;
  SessionPtr session = createSession(executable, o);
  EXPECT_THAT(errorOf(cleave_session_profile_json(session.get(), "forward", &text),
                      CLEAVE_FAILED_PRECONDITION),
              HasSubstr("has not run"));
  runMlp(mlp, session);
  ASSERT_CLEAVE_OK(cleave_session_profile_json(session.get(), "forward", &text));
  EXPECT_THAT(text, HasSubstr("\"kernel\": \"test_relu\""));
  EXPECT_THAT(text, HasSubstr("\"operation\": \"all_reduce\""));
  cleave_string_free(text);
  // A caller built before the option existed.
  o.struct_size = offsetof(cleave_session_options, profile);
  SessionPtr old = createSession(executable, o);
  runMlp(mlp, old);
  EXPECT_THAT(
      errorOf(cleave_session_profile_json(old.get(), "forward", &text), CLEAVE_FAILED_PRECONDITION),
      HasSubstr("does not profile"));
}

TEST(Session, CallersAllocator) {
  struct Pool {
    uint64_t live = 0, peak = 0;
  } pool;
  cleave_session_options o = options();
  o.allocator_context = &pool;
  o.allocate = [](void *context, uint64_t bytes, uint64_t alignment) -> void * {
    auto *p = static_cast<Pool *>(context);
    p->live += bytes;
    p->peak = std::max(p->peak, p->live);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  o.release = [](void *context, void *memory, uint64_t bytes) {
    static_cast<Pool *>(context)->live -= bytes;
    std::free(memory);
  };
  Mlp mlp;
  SessionPtr session = createSession(loadFile(mlp.build().file()), o);
  expectNear(runMlp(mlp, session), mlp.expected(), 1e-5f);
  session.reset();
  EXPECT_EQ(pool.live, 0u);
  EXPECT_GT(pool.peak, 0u);
}

TEST(Session, SeveralAtOnceFromSeveralThreads) {
  Mlp small, large;
  large.batch = 17;
  large.hidden = 33;
  large.dp = 1;
  large.tp = 2;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Mlp &mlp = t % 2 ? small : large;
      SessionPtr session = createSession(loadFile(mlp.build().file()), options());
      for (int i = 0; i < 20; ++i)
        expectNear(runMlp(mlp, session), mlp.expected(), 1e-5f);
    });
  for (std::thread &t : threads)
    t.join();
}

} // namespace
} // namespace cleave::rt::test
