// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Weights from safetensors folders: conversion, sharding, and every fault a folder can have.

#include "TestExecutable.h"
#include "core/safetensors.h"
#include "core/session.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

namespace cleave::rt::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// A folder of its own, removed at the end.
class Folder {
public:
  Folder() {
    path_ = fs::path(testing::TempDir()) /
            absl::StrCat("weights-", testing::UnitTest::GetInstance()->random_seed(), "-",
                         reinterpret_cast<uintptr_t>(this));
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }
  void write(const std::string &name, const std::string &content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }

private:
  fs::path path_;
};

std::string safetensors(const std::string &header, const std::string &data) {
  uint64_t size = header.size();
  return std::string(reinterpret_cast<char *>(&size), 8) + header + data;
}

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

/// One state `w` [5, 6], first dimension over tp=2, read from "w.weight" [30].
std::shared_ptr<const Executable> oneWeight(DType dtype = DType::F32) {
  ExecutableBuilder b({{"tp", 2}});
  b.state("w", dtype, {5, 6}, {0, -1}, "w.weight");
  b.executable.states[0]->checkpoint_shape = {30};
  return b.load();
}

Status load(const std::shared_ptr<const Executable> &executable, const std::string &folder,
            std::vector<uint8_t> *result = nullptr) {
  SessionOptions options;
  options.poison = true;
  auto session = Session::create(executable, options);
  if (!session.ok())
    return session.status();
  CLEAVE_RETURN_IF_ERROR((*session)->loadWeights(folder));
  if (!result)
    return absl::OkStatus();
  result->resize(executable->states()[0].tensor.globalBytes());
  return (*session)->read(TensorKind::State, "", executable->states()[0].tensor.name, *result);
}

std::string loadError(const std::string &folder) {
  std::string message(load(oneWeight(), folder).message());
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_THAT(message, HasSubstr(folder));
  return message;
}

std::string header(const std::string &dtype, const std::string &shape, uint64_t begin, uint64_t end,
                   const std::string &more = "") {
  return absl::StrCat(R"({"w.weight":{"dtype":")", dtype, R"(","shape":)", shape,
                      R"(,"data_offsets":[)", begin, ",", end, "]}", more, "}");
}

TEST(Weights, Conversions) {
  std::vector<float> values = randomFloats(30, 7);
  auto expectFloats = [&](const std::string &dtype, const std::string &data, auto narrow) {
    Folder folder;
    folder.write("model.safetensors", safetensors(header(dtype, "[30]", 0, data.size()), data));
    std::vector<uint8_t> result;
    ASSERT_EQ(load(oneWeight(), folder.path(), &result), absl::OkStatus());
    for (int i = 0; i < 30; ++i) {
      float x;
      std::memcpy(&x, &result[size_t(i) * 4], 4);
      EXPECT_EQ(x, narrow(values[size_t(i)])) << dtype << " element " << i;
    }
    // And into a bf16 state.
    ASSERT_EQ(load(oneWeight(DType::BF16), folder.path(), &result), absl::OkStatus());
    for (int i = 0; i < 30; ++i) {
      uint16_t x;
      std::memcpy(&x, &result[size_t(i) * 2], 2);
      EXPECT_EQ(x, floatToBf16(narrow(values[size_t(i)]))) << dtype << " element " << i;
    }
  };
  expectFloats("F32", bytesOf(values), [](float x) { return x; });
  expectFloats("F64", bytesOf(std::vector<double>(values.begin(), values.end())),
               [](float x) { return x; });
  std::vector<uint16_t> bf16, f16;
  for (float x : values) {
    bf16.push_back(floatToBf16(x));
    f16.push_back(floatToF16(x));
  }
  expectFloats("BF16", bytesOf(bf16), [](float x) { return bf16ToFloat(floatToBf16(x)); });
  expectFloats("F16", bytesOf(f16), [](float x) { return f16ToFloat(floatToF16(x)); });
}

TEST(Weights, ManyFiles) {
  Folder folder;
  std::vector<float> values = randomFloats(30, 8);
  folder.write("a.safetensors", safetensors(header("F32", "[30]", 0, 120), bytesOf(values)));
  folder.write("model.safetensors.index.json",
               R"({"metadata":{},"weight_map":{"w.weight":"a.safetensors"}})");
  std::vector<uint8_t> result;
  ASSERT_EQ(load(oneWeight(), folder.path(), &result), absl::OkStatus());
  EXPECT_EQ(std::memcmp(result.data(), values.data(), 120), 0);
}

TEST(Weights, BadIndex) {
  Folder folder;
  auto withIndex = [&](const std::string &index) {
    folder.write("model.safetensors.index.json", index);
    return loadError(folder.path());
  };
  EXPECT_THAT(withIndex("{"), HasSubstr("the index is not JSON"));
  EXPECT_THAT(withIndex("{}"), HasSubstr("there is no weight_map"));
  EXPECT_THAT(withIndex(R"({"weight_map":{"w.weight":7}})"), HasSubstr("is not a file name"));
  EXPECT_THAT(withIndex(R"({"weight_map":{"other":"a.safetensors"}})"),
              HasSubstr("there is no tensor 'w.weight'"));
  EXPECT_THAT(withIndex(R"({"weight_map":{"w.weight":"a.safetensors"}})"),
              HasSubstr("can not open"));
  EXPECT_THAT(withIndex(R"({"weight_map":{"w.weight":"sub/a.safetensors"}})"),
              HasSubstr("can not open"));
  for (const char *path :
       {"../a.safetensors", "/etc/passwd", "sub/../../a.safetensors", "sub/..", "sub/", "..", ""})
    EXPECT_THAT(withIndex(absl::StrCat(R"({"weight_map":{"w.weight":")", path, R"("}})")),
                HasSubstr("which is not the name of a file in this folder"));
  EXPECT_THAT(withIndex(R"({"weight_map":{"w.weight":"a","w.weight":"b"}})"),
              HasSubstr("has the key 'w.weight' twice"));
}

TEST(Weights, BadFiles) {
  Folder folder;
  std::string data = bytesOf(randomFloats(30, 9));
  EXPECT_THAT(loadError(folder.path()), HasSubstr("has neither model.safetensors nor"));
  auto withFile = [&](const std::string &content) {
    folder.write("model.safetensors", content);
    return loadError(folder.path());
  };
  EXPECT_THAT(withFile(""), HasSubstr("not a safetensors file: it has 0 bytes"));
  EXPECT_THAT(withFile(std::string(8, '\xff')), HasSubstr("the header promises"));
  EXPECT_THAT(withFile(safetensors("{", "")), HasSubstr("the header is not JSON"));
  EXPECT_THAT(withFile(safetensors("[]", "")), HasSubstr("the header is not a JSON object"));
  EXPECT_THAT(withFile(safetensors(std::string(5000, '['), "")),
              HasSubstr("the header is not JSON"));
  EXPECT_THAT(withFile(safetensors("{}", "")), HasSubstr("there is no tensor 'w.weight'"));
  EXPECT_THAT(withFile(safetensors(R"({"w.weight":{}})", "")), HasSubstr("lacks dtype"));
  EXPECT_THAT(withFile(safetensors(R"({"w.weight":7})", "")), HasSubstr("lacks dtype"));
  EXPECT_THAT(withFile(safetensors(header("F32", "[30]", 0, 120), data.substr(0, 100))),
              HasSubstr("truncated: the header promises 120 bytes of data, the file has 100"));
  EXPECT_THAT(withFile(safetensors(header("F32", "[30]", 0, 120), data + "more")),
              HasSubstr("the header accounts for 120 bytes of data, the file has 124"));
  EXPECT_THAT(withFile(safetensors(header("F32", "[31]", 0, 120), data)),
              HasSubstr("of type F32 and shape [31] has 120 bytes"));
  EXPECT_THAT(withFile(safetensors(header("F32", "[18446744073709551615,4]", 0, 120), data)),
              HasSubstr("has 120 bytes of data"));
  EXPECT_THAT(withFile(safetensors(header("F32", "[-30]", 0, 120), data)),
              HasSubstr("has a shape that is not a list"));
  EXPECT_THAT(withFile(safetensors(header("F32", "\"30\"", 0, 120), data)),
              HasSubstr("has a shape that is not a list"));
  EXPECT_THAT(withFile(safetensors(header("F32", "[30]", 120, 0), data)),
              HasSubstr("data_offsets that are not a begin and an end"));
  EXPECT_THAT(withFile(safetensors(header("F32", "[5,6]", 0, 120), data)),
              HasSubstr("tensor 'w.weight' has shape [5, 6], expected [30]"));
  EXPECT_THAT(withFile(safetensors(header("I32", "[30]", 0, 120), data)),
              HasSubstr("has type I32, expected F32, BF16, F16 or F64"));
  EXPECT_THAT(withFile(safetensors(header("F8_E4M3", "[30]", 0, 30), data.substr(0, 30))),
              HasSubstr("has type F8_E4M3, expected F32, BF16, F16 or F64"));
  EXPECT_THAT(
      withFile(safetensors(header("F32", "[30]", 0, 120,
                                  R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[116,124]})"),
                           data + "more")),
      HasSubstr("tensors 'w.weight' and 'b' overlap"));
  EXPECT_THAT(
      withFile(safetensors(header("F32", "[30]", 0, 120,
                                  R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[124,128]})"),
                           data + "morestuf")),
      HasSubstr("bytes 120 to 124 before tensor 'b' belong to no tensor"));
}

TEST(Weights, NothingIsWrittenWhenOneIsBad) {
  ExecutableBuilder b({{"tp", 2}});
  b.state("a", DType::F32, {4}, {0}, "a");
  b.state("b", DType::F32, {4}, {0}, "b");
  Folder folder;
  folder.write("model.safetensors",
               safetensors(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
                           bytesOf(std::vector<float>{1, 2, 3, 4})));
  auto session = Session::create(b.load(), {});
  ASSERT_TRUE(session.ok());
  std::vector<float> before{5, 6, 7, 8}, after(4);
  HostArray array{DType::F32, {4}, {}, before.data()};
  ASSERT_EQ((*session)->setState("a", array), absl::OkStatus());
  EXPECT_THAT(std::string((*session)->loadWeights(folder.path()).message()),
              HasSubstr("there is no tensor 'b'"));
  ASSERT_EQ(
      (*session)->read(TensorKind::State, "", "a", {reinterpret_cast<uint8_t *>(after.data()), 16}),
      absl::OkStatus());
  EXPECT_EQ(after, before);
}

/// All weights of the tiny LLaMA of test/data/bad, sharded by columns over three devices.
ExecutableBuilder tinyLlama() {
  ExecutableBuilder b({{"tp", 3}});
  auto add = [&](const std::string &name, std::vector<uint64_t> shape) {
    std::vector<int> dims(shape.size(), -1);
    dims.back() = 0;
    b.state(name, DType::F32, shape, dims, name);
  };
  add("model.embed_tokens.weight", {32, 16});
  add("lm_head.weight", {32, 16});
  add("model.norm.weight", {16});
  const std::string layer = "model.layers.0.";
  for (const char *name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    add(absl::StrCat(layer, "self_attn.", name, ".weight"), {16, 16});
  add(layer + "mlp.gate_proj.weight", {24, 16});
  add(layer + "mlp.up_proj.weight", {24, 16});
  add(layer + "mlp.down_proj.weight", {16, 24});
  add(layer + "input_layernorm.weight", {16});
  add(layer + "post_attention_layernorm.weight", {16});
  return b;
}

TEST(Weights, FoldersWithOneFault) {
  const std::string data = absl::StrCat(CLEAVE_TEST_DATA, "/bad/");
  std::shared_ptr<const Executable> executable = tinyLlama().load();
  auto message = [&](const char *name) {
    return std::string(load(executable, data + name).message());
  };
  EXPECT_EQ(message("good"), "");
  EXPECT_THAT(message("truncated"),
              HasSubstr("truncated/model.safetensors: truncated: the header"));
  EXPECT_THAT(message("header-too-long"),
              HasSubstr("the header promises 1000000 bytes, the file has 14168"));
  EXPECT_THAT(message("wrong-shape"),
              HasSubstr("tensor 'model.layers.0.mlp.down_proj.weight' has shape [16, 20], expected "
                        "[16, 24]"));
}

TEST(Weights, EachDeviceHoldsItsShard) {
  std::shared_ptr<const Executable> executable = tinyLlama().load();
  auto session = Session::create(executable, {});
  ASSERT_TRUE(session.ok());
  ASSERT_EQ((*session)->loadWeights(absl::StrCat(CLEAVE_TEST_DATA, "/bad/good")), absl::OkStatus());
  auto checkpoint = Checkpoint::open(absl::StrCat(CLEAVE_TEST_DATA, "/bad/good"));
  ASSERT_TRUE(checkpoint.ok());
  for (const StateInfo &state : executable->states()) {
    const TensorInfo &t = state.tensor;
    auto source = (*checkpoint)->find(t.name);
    ASSERT_TRUE(source.ok());
    const auto *values = reinterpret_cast<const float *>((*source)->data.data());
    uint64_t rows = t.shape.size() == 2 ? t.shape[0] : 1, columns = t.shape.back();
    uint64_t local = t.localShape.back();
    std::vector<float> shard(t.bytes / 4);
    for (uint32_t d = 0; d < 3; ++d) {
      ASSERT_EQ((*session)->readShard(TensorKind::State, "", t.name, d,
                                      {reinterpret_cast<uint8_t *>(shard.data()), t.bytes}),
                absl::OkStatus());
      for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t c = 0; c < local && d * local + c < columns; ++c)
          ASSERT_EQ(shard[r * local + c], values[r * columns + d * local + c])
              << t.name << " device " << d << " at " << r << ", " << c;
    }
  }
}

} // namespace
} // namespace cleave::rt::test
