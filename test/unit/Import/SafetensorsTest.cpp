// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Import/HuggingFace/Safetensors.h"
#include "TemporaryFolder.h"
#include "cleave/Import/HuggingFace/Json.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"
#include <cmath>
#include <limits>

using namespace cleave;
using namespace cleave::safetensors;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

template <typename T> std::string messageOf(llvm::Expected<T> result) {
  return result ? "" : llvm::toString(result.takeError());
}

template <typename T> llvm::StringRef bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

/// What File::open says about a file with this header and data.
std::string faultOf(llvm::StringRef header, size_t dataBytes) {
  TemporaryFolder folder;
  std::string path = folder.write("t.safetensors", safetensorsBytes(header, dataBytes));
  std::string message = messageOf(File::open(path));
  EXPECT_THAT(message, testing::StartsWith(path + ": "));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message;
}

TEST(Safetensors, WriteThenRead) {
  TemporaryFolder folder;
  std::vector<int64_t> ids{1, -2, int64_t(1) << 60};
  std::vector<float> values{1.5f, -0.25f, 1e30f, 0.0f, 2.0f, 3.0f};
  std::vector<uint8_t> empty;
  std::string path = folder.path("out.safetensors");
  llvm::Error error = write(path,
                            {{"values", DType::F32, {2, 3}, bytesOf(values)},
                             {"none", DType::U8, {0, 7}, bytesOf(empty)},
                             {"ids", DType::I64, {3}, bytesOf(ids)}},
                            {{"format", "pt"}});
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));

  llvm::Expected<Checkpoint> read = Checkpoint::open(path);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_THAT(read->names(), ElementsAre("ids", "none", "values"));
  TensorRef found = read->find("values");
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found.info->dtype, DType::F32);
  EXPECT_THAT(found.info->shape, ElementsAre(2, 3));
  EXPECT_EQ(*readFloats(found), values);
  EXPECT_EQ(*readIntegers(read->find("ids")), ids);
  EXPECT_THAT(messageOf(readFloats(read->find("ids"))),
              HasSubstr(R"(tensor "ids": expected F32, BF16, F16 or F64, found I64)"));
  EXPECT_THAT(messageOf(readDoubles(read->find("ids"))), HasSubstr("found I64"));
  EXPECT_THAT(*readDoubles(read->find("none")), testing::IsEmpty());
  EXPECT_FALSE(bool(read->find("other")));
  EXPECT_THAT(read->files()[0]->metadata(), ElementsAre(testing::Pair("format", "pt")));
  // The wide type goes first, so that every tensor is aligned, and tensors begin at a multiple
  // of 8.
  EXPECT_EQ(read->find("ids").info->begin, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read->files()[0]->bytes(*found.info).data()) % 4, 0u);
  // The temporary file is gone.
  std::error_code code;
  int entries = 0;
  for (llvm::sys::fs::directory_iterator it(folder.path(), code), end; it != end && !code;
       it.increment(code))
    ++entries;
  EXPECT_EQ(entries, 1);
}

TEST(Safetensors, HalfPrecisionIsConverted) {
  TemporaryFolder folder;
  // 1, -2, the largest F16, the smallest normal and subnormal, infinity, NaN.
  std::vector<uint16_t> half{0x3c00, 0xc000, 0x7bff, 0x0400, 0x8001, 0xfc00, 0x7e00, 0x8000};
  std::vector<uint16_t> brain{0x3f80, 0xc000, 0x7f7f, 0x0080, 0x8001, 0xff80, 0x7fc0, 0x8000};
  std::string path = folder.path("h.safetensors");
  ASSERT_FALSE(bool(write(path, {{"half", DType::F16, {8}, bytesOf(half)},
                                 {"brain", DType::BF16, {8}, bytesOf(brain)}})));
  llvm::Expected<Checkpoint> read = Checkpoint::open(path);
  ASSERT_TRUE(bool(read));
  std::vector<double> h = *readDoubles(read->find("half"));
  EXPECT_THAT(llvm::ArrayRef(h).take_front(6),
              ElementsAre(1, -2, 65504, std::ldexp(1, -14), -std::ldexp(1, -24), -INFINITY));
  EXPECT_TRUE(std::isnan(h[6]));
  EXPECT_TRUE(h[7] == 0 && std::signbit(h[7]));
  std::vector<double> b = *readDoubles(read->find("brain"));
  EXPECT_THAT(llvm::ArrayRef(b).take_front(6),
              ElementsAre(1, -2, std::ldexp(255, 120), std::ldexp(1, -126), -std::ldexp(1, -133),
                          -INFINITY));
  EXPECT_TRUE(std::isnan(b[6]));
  EXPECT_TRUE(b[7] == 0 && std::signbit(b[7]));
}

TEST(Safetensors, IntegersOfOtherWidths) {
  TemporaryFolder folder;
  std::vector<int32_t> i32{-1, 7};
  std::vector<uint8_t> flags{0, 1};
  std::vector<uint64_t> large{1, uint64_t(1) << 63};
  std::string path = folder.path("i.safetensors");
  ASSERT_FALSE(bool(write(path, {{"i32", DType::I32, {2}, bytesOf(i32)},
                                 {"flags", DType::Bool, {2}, bytesOf(flags)},
                                 {"large", DType::U64, {2}, bytesOf(large)}})));
  llvm::Expected<Checkpoint> read = Checkpoint::open(path);
  ASSERT_TRUE(bool(read));
  EXPECT_THAT(*readIntegers(read->find("i32")), ElementsAre(-1, 7));
  EXPECT_THAT(*readIntegers(read->find("flags")), ElementsAre(0, 1));
  EXPECT_THAT(*readDoubles(read->find("i32")), ElementsAre(-1.0, 7.0));
  EXPECT_THAT(messageOf(readIntegers(read->find("large"))),
              AllOf(HasSubstr("large"), HasSubstr("below 2^63")));
}

TEST(Safetensors, FileTooShort) {
  TemporaryFolder folder;
  EXPECT_THAT(messageOf(File::open(folder.write("a", "1234567"))), HasSubstr("found 7 bytes"));
  EXPECT_THAT(messageOf(File::open(folder.write("b", ""))), HasSubstr("found 0 bytes"));
  std::string length(8, '\0');
  llvm::support::endian::write64le(length.data(), 1'000'000);
  EXPECT_THAT(messageOf(File::open(folder.write("c", length + "{}"))),
              AllOf(HasSubstr("header has 1000000 bytes"), HasSubstr("the file has 10")));
  llvm::support::endian::write64le(length.data(), UINT64_MAX);
  EXPECT_THAT(messageOf(File::open(folder.write("d", length + "{}"))), HasSubstr("truncated"));
  EXPECT_THAT(messageOf(File::open(folder.path("nowhere"))), HasSubstr("cannot be read"));
  EXPECT_THAT(messageOf(File::open(folder.path())), HasSubstr("cannot be read"));
}

TEST(Safetensors, TruncatedData) {
  EXPECT_THAT(faultOf(R"({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}})", 12),
              AllOf(HasSubstr("truncated"), HasSubstr("promises 16"), HasSubstr("12 follow")));
}

TEST(Safetensors, RangesOverlapOrLeaveGaps) {
  EXPECT_THAT(faultOf(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                          "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}})",
                      12),
              HasSubstr(R"(tensors "a" and "b" overlap: bytes [0, 8) and [4, 12))"));
  EXPECT_THAT(faultOf(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                          "b": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})",
                      8),
              HasSubstr("overlap"));
  EXPECT_THAT(faultOf(R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
                          "b": {"dtype": "U8", "shape": [2], "data_offsets": [4, 6]}})",
                      6),
              HasSubstr("no tensor holds bytes [2, 4)"));
  EXPECT_THAT(faultOf(R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}})", 6),
              HasSubstr("no tensor holds bytes [2, 6) at the end"));
}

TEST(Safetensors, SizesDoNotAgree) {
  EXPECT_THAT(
      faultOf(R"({"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 20]}})", 20),
      AllOf(HasSubstr(R"(tensor "w": [2, 3] of F32 needs 24 bytes)"), HasSubstr("hold 20")));
  EXPECT_THAT(faultOf(R"({"w": {"dtype": "F64", "shape": [4294967296, 4294967296],
                          "data_offsets": [0, 0]}})",
                      0),
              HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(faultOf(R"({"w": {"dtype": "U8", "shape": [18446744073709551615],
                          "data_offsets": [0, 0]}})",
                      0),
              HasSubstr("non-negative integers"));
  EXPECT_THAT(faultOf(R"({"w": {"dtype": "U8", "shape": [4], "data_offsets": [4, 0]}})", 4),
              HasSubstr("begin 4 lies behind end 0"));
}

TEST(Safetensors, HeaderFieldsOfTheWrongKind) {
  EXPECT_THAT(faultOf(R"({"w": {"dtype": "F31", "shape": [4], "data_offsets": [0, 16]}})", 16),
              AllOf(HasSubstr(R"(tensor "w": "dtype")"), HasSubstr(R"(found "F31")")));
  EXPECT_THAT(faultOf(R"({"w": {"dtype": 3, "shape": [4], "data_offsets": [0, 16]}})", 16),
              HasSubstr("found 3"));
  EXPECT_THAT(faultOf(R"({"w": {"dtype": "U8", "shape": [-4], "data_offsets": [0, 4]}})", 4),
              HasSubstr("found -4"));
  EXPECT_THAT(faultOf(R"({"w": {"dtype": "U8", "shape": [1.5], "data_offsets": [0, 4]}})", 4),
              HasSubstr("found 1.5"));
  EXPECT_THAT(faultOf(R"({"w": {"dtype": "U8", "shape": 4, "data_offsets": [0, 4]}})", 4),
              HasSubstr("expected a list"));
  EXPECT_THAT(faultOf(R"({"w": {"dtype": "U8", "shape": [4], "data_offsets": [4]}})", 4),
              HasSubstr("expected [begin, end]"));
  EXPECT_THAT(faultOf(R"({"w": {"dtype": "U8", "shape": [4], "data_offsets": [0, "4"]}})", 4),
              HasSubstr(R"(found "4")"));
  EXPECT_THAT(faultOf(R"({"w": {"dtype": "U8", "shape": [4]}})", 4),
              HasSubstr(R"("data_offsets" is missing)"));
  EXPECT_THAT(faultOf(R"({"w": 3})", 0), HasSubstr("expected an object"));
  EXPECT_THAT(faultOf(R"([])", 0), HasSubstr("expected an object"));
  EXPECT_THAT(faultOf(R"({"__metadata__": {"format": 1}})", 0), HasSubstr("__metadata__"));
}

TEST(Safetensors, HeaderIsNotJson) {
  EXPECT_THAT(faultOf("", 0), HasSubstr("empty"));
  EXPECT_THAT(faultOf("{\"w\": ", 0), HasSubstr("ends in the middle"));
  EXPECT_THAT(faultOf("{\"w\" 1}", 0), HasSubstr("line 1, column"));
  EXPECT_THAT(faultOf(R"({"w": 1, "w": 2})", 0), HasSubstr(R"(key "w" occurs twice)"));
  EXPECT_THAT(faultOf(std::string(100, '['), 0), HasSubstr("nest more than 64 deep"));
  EXPECT_THAT(faultOf("{\"\xff\xfe\": 1}", 0), HasSubstr("not JSON"));
  EXPECT_THAT(faultOf("{\"line\\nbreak\": 1}", 0), HasSubstr("line\\x0abreak"));
}

TEST(Safetensors, EmptyTensorsAndPaddedHeader) {
  TemporaryFolder folder;
  std::string path = folder.write(
      "t.safetensors", safetensorsBytes(R"({"b": {"dtype":"F32","shape":[0],"data_offsets":[4,4]},
                                            "a": {"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
                                        4));
  llvm::Expected<File> file = File::open(path);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->tensors()[0].name, "a");
  EXPECT_EQ(file->find("b")->elementCount(), 0);
}

/// Whatever a file holds, opening it either fails with one line or gives tensors whose bytes can be
/// read.
void openDamaged(const TemporaryFolder &folder, llvm::StringRef contents) {
  llvm::Expected<File> file = File::open(folder.write("damaged.safetensors", contents));
  if (!file) {
    EXPECT_THAT(llvm::toString(file.takeError()), Not(HasSubstr("\n")));
    return;
  }
  for (const TensorInfo &info : file->tensors())
    EXPECT_EQ(file->bytes(info).size(), uint64_t(info.elementCount() * byteSize(info.dtype)));
}

TEST(Safetensors, EveryByteChangedAndEveryLength) {
  TemporaryFolder folder;
  std::string good = safetensorsBytes(
      R"({"__metadata__": {"format": "pt"},
          "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
          "b": {"dtype": "I64", "shape": [1], "data_offsets": [24, 32]}})",
      32);
  for (size_t i = 0; i < good.size(); ++i) {
    openDamaged(folder, llvm::StringRef(good).take_front(i));
    for (unsigned char change : {0x01, 0x80, 0xff, 0x10}) {
      std::string bad = good;
      bad[i] = char(bad[i] ^ change);
      openDamaged(folder, bad);
    }
  }
}

constexpr llvm::StringLiteral kOneByte =
    R"({"NAME": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}})";

std::string oneByteFile(llvm::StringRef tensor) {
  std::string header = kOneByte.str();
  header.replace(header.find("NAME"), 4, tensor.str());
  return safetensorsBytes(header, 1);
}

TEST(Checkpoint, SeveralFilesByIndex) {
  TemporaryFolder folder;
  folder.write("m-1.safetensors", oneByteFile("a"));
  folder.write("m-2.safetensors", oneByteFile("b"));
  folder.write("model.safetensors.index.json", R"({"metadata": {"total_size": 2}, "weight_map":
               {"a": "m-1.safetensors", "b": "m-2.safetensors"}})");
  EXPECT_TRUE(Checkpoint::isPresent(folder.path()));
  llvm::Expected<Checkpoint> read = Checkpoint::open(folder.path());
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_THAT(read->names(), ElementsAre("a", "b"));
  EXPECT_THAT(read->find("b").file->path().str(), HasSubstr("m-2"));
}

/// What Checkpoint::open says about a folder with m.safetensors, holding tensor "a", and this
/// index.
std::string indexFault(llvm::StringRef index) {
  TemporaryFolder folder;
  folder.write("m.safetensors", oneByteFile("a"));
  std::string path = folder.write("model.safetensors.index.json", index);
  std::string message = messageOf(Checkpoint::open(folder.path()));
  EXPECT_THAT(message, testing::StartsWith(path + ": "));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message;
}

TEST(Checkpoint, IndexFaults) {
  EXPECT_THAT(indexFault("{"), HasSubstr("ends in the middle"));
  EXPECT_THAT(indexFault("{}"), HasSubstr("weight_map"));
  EXPECT_THAT(indexFault(R"({"weight_map": {"a": 3}})"), HasSubstr("expected a file name"));
  EXPECT_THAT(indexFault(R"({"weight_map": {"a": "other.safetensors"}})"),
              HasSubstr("there is no such file"));
  EXPECT_THAT(indexFault(R"({"weight_map": {"b": "m.safetensors"}})"),
              AllOf(HasSubstr(R"(tensor "b")"), HasSubstr("no such tensor")));
}

TEST(Checkpoint, IndexMayNotLeaveTheFolder) {
  for (llvm::StringRef name : {"../m.safetensors", "/etc/passwd", "x/../../m.safetensors", "", ".",
                               "x/", "./m.safetensors", "m.safetensors\\u0000/../../x"})
    EXPECT_THAT(indexFault((R"({"weight_map": {"a": ")" + name + R"("}})").str()),
                HasSubstr("leaves the model's folder"))
        << name.str();
}

TEST(Checkpoint, NoWeights) {
  TemporaryFolder folder;
  EXPECT_FALSE(Checkpoint::isPresent(folder.path()));
  EXPECT_THAT(messageOf(Checkpoint::open(folder.path())), HasSubstr("no weights"));
}

TEST(Safetensors, Unwritable) {
  TemporaryFolder folder;
  std::vector<float> values{1};
  std::string path = folder.path("missing/out.safetensors");
  llvm::Error error = write(path, {{"v", DType::F32, {1}, bytesOf(values)}});
  EXPECT_THAT(llvm::toString(std::move(error)), HasSubstr(path + ": cannot be written"));
  // A folder stands where the file should go; nothing stays behind beside it.
  ASSERT_FALSE(llvm::sys::fs::create_directory(folder.path("taken")));
  error = write(folder.path("taken"), {{"v", DType::F32, {1}, bytesOf(values)}});
  EXPECT_THAT(llvm::toString(std::move(error)), HasSubstr("cannot be written"));
  error = write(folder.path("w"), {{"v", DType::F32, {2}, bytesOf(values)}});
  EXPECT_THAT(llvm::toString(std::move(error)), HasSubstr("has 8 bytes, and 4 are given"));
  EXPECT_FALSE(llvm::sys::fs::exists(folder.path("w")));
  error = write("/dev/null", {{"v", DType::F32, {1}, bytesOf(values)}});
  EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
}

} // namespace
