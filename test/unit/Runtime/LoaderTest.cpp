// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Damaged, foreign and newer files: one clear error each, and never a crash.

#include "AllOperations.h"
#include "TestExecutable.h"
#include "core/session.h"
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

namespace cleave::rt::test {
namespace {

using testing::HasSubstr;
using File = std::vector<uint8_t>;

std::string loadError(const File &file) {
  cleave_executable *executable = nullptr;
  cleave_status *status = cleave_executable_load_memory(file.data(), file.size(), &executable);
  std::string message = cleave_status_message(status);
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_EQ(status == nullptr, executable != nullptr);
  cleave_status_free(status);
  cleave_executable_free(executable);
  return message;
}

/// Overwrites a number of the header.
template <typename T> File withHeader(File file, size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof(value));
  return file;
}

/// Makes the header fit the payload again.
File withChecksum(File file) {
  uint64_t hash = hashBytes(std::span(file).subspan(kHeaderBytes));
  return withHeader(std::move(file), 24, hash);
}

TEST(Loader, Header) {
  File good = Mlp().build().file();
  EXPECT_EQ(loadError(good), "");
  EXPECT_THAT(loadError({0}), HasSubstr("not a Cleave executable"));
  EXPECT_THAT(loadError(withHeader<uint8_t>(good, 0, 'x')), HasSubstr("not a Cleave executable"));
  EXPECT_THAT(loadError(File(good.begin(), good.begin() + 20)),
              HasSubstr("truncated: the header takes 64 bytes, the file has 20"));
  EXPECT_THAT(loadError(withHeader<uint32_t>(good, 8, 2)),
              HasSubstr("made by a newer version: the file has format 2, this runtime reads 1"));
  EXPECT_THAT(loadError(withHeader<uint32_t>(good, 8, 0)), HasSubstr("format 0 is unknown"));
  EXPECT_THAT(loadError(withHeader<uint32_t>(good, 12, 72)), HasSubstr("damaged"));
  EXPECT_THAT(loadError(withHeader<uint8_t>(good, 63, 1)), HasSubstr("damaged"));
  EXPECT_THAT(loadError(withHeader<uint64_t>(good, 32, 1)),
              HasSubstr("made by another build of the compiler"));
  EXPECT_THAT(loadError(withHeader<uint64_t>(good, 24, 1)), HasSubstr("checksum"));
  File cut(good.begin(), good.end() - 100);
  EXPECT_THAT(loadError(cut), HasSubstr("truncated: the header promises"));
  File longer = good;
  longer.push_back(0);
  EXPECT_THAT(loadError(longer), HasSubstr("damaged: the header promises"));
}

TEST(Loader, Defaults) {
  auto error = [](fb::DType dtype, double number, bool ofOutput = false) {
    ExecutableBuilder b = Mlp().build();
    (void)b.input("n", dtype, {}, {});
    (ofOutput ? b.entry().outputs : b.entry().inputs).back()->default_value = number;
    return loadError(b.file());
  };
  EXPECT_EQ(error(fb::DType::F32, 3e-4), "");
  EXPECT_EQ(error(fb::DType::I64, -7), "");
  EXPECT_THAT(error(fb::DType::I64, 0.5), HasSubstr("tensor 'n' has the default 0.5, which"));
  EXPECT_THAT(error(fb::DType::I64, 0x1p60), HasSubstr("which its type does not hold"));
  EXPECT_THAT(error(fb::DType::F32, NAN), HasSubstr("which its type does not hold"));
  EXPECT_THAT(error(fb::DType::I32, 1), HasSubstr("only inputs of floats or I64 have one"));
  EXPECT_THAT(error(fb::DType::F32, 1, true), HasSubstr("tensor 'y' has a default; only inputs"));
}

TEST(Loader, Path) {
  cleave_executable *executable = nullptr;
  EXPECT_THAT(
      errorOf(cleave_executable_load("/nonexistent/a.cleave", &executable), CLEAVE_NOT_FOUND),
      HasSubstr("can not open '/nonexistent/a.cleave': No such file"));
  EXPECT_THAT(errorOf(cleave_executable_load("/", &executable), CLEAVE_INVALID_ARGUMENT),
              HasSubstr("not a regular file"));
  std::string path = testing::TempDir() + "/loader-path.cleave";
  File good = Mlp().build().file(), bad(good.begin(), good.end() - 1);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<char *>(bad.data()), bad.size());
  EXPECT_THAT(errorOf(cleave_executable_load(path.c_str(), &executable), CLEAVE_DATA_LOSS),
              HasSubstr(path + ": truncated"));
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<char *>(good.data()), good.size());
  ASSERT_CLEAVE_OK(cleave_executable_load(path.c_str(), &executable));
  cleave_executable_free(executable);
  std::filesystem::remove(path);
}

TEST(Loader, EveryTruncation) {
  File good = allOperations().file();
  for (size_t size = 0; size < good.size(); size += size < 200 ? 1 : 37)
    EXPECT_NE(loadError(File(good.begin(), good.begin() + size)), "") << size << " bytes";
}

TEST(Loader, EveryByteFlipped) {
  File good = allOperations().file();
  ASSERT_EQ(loadError(good), "");
  for (size_t i = 0; i < good.size(); ++i) {
    File bad = good;
    bad[i] ^= 0x11;
    EXPECT_NE(loadError(bad), "") << "byte " << i;
  }
}

TEST(Loader, EveryByteFlippedWithChecksumRecomputed) {
  // What a flip does to the numbers of the file must be caught by the structural checks, or be
  // harmless when run. The kernels' code has a checksum of its own.
  File good = allOperations().file();
  for (size_t i = kHeaderBytes; i < good.size(); ++i) {
    for (uint8_t flip : {0x01, 0x40, 0x80, 0xff}) {
      File bad = good;
      bad[i] ^= flip;
      bad = withChecksum(std::move(bad));
      (void)loadError(bad);
      loadAndRun(bad);
    }
  }
}

/// Every structural check, each on a file that breaks it.
struct Damage {
  const char *name;
  void (*apply)(ExecutableBuilder &b);
  const char *message;
};
void PrintTo(const Damage &damage, std::ostream *out) { *out << damage.name; }

class Structure : public testing::TestWithParam<Damage> {};

TEST_P(Structure, IsChecked) {
  ExecutableBuilder b = allOperations();
  GetParam().apply(b);
  std::string message = loadError(b.file());
  EXPECT_THAT(message, HasSubstr(GetParam().message));
  EXPECT_THAT(message, testing::StartsWith("damaged: "));
}

template <typename T> T &op(ExecutableBuilder &b, size_t index) {
  return *static_cast<T *>(b.entry().instrs[index]->op.value);
}
fb::GemmT &gemm(ExecutableBuilder &b) { return op<fb::GemmT>(b, AllOperations::kGemm); }
fb::LaunchT &launch(ExecutableBuilder &b) { return op<fb::LaunchT>(b, AllOperations::kLaunch); }
fb::AttentionT &attention(ExecutableBuilder &b) {
  return op<fb::AttentionT>(b, AllOperations::kAttention);
}
fb::DropoutT &dropout(ExecutableBuilder &b) {
  return *op<fb::AttentionGradT>(b, AllOperations::kAttentionGrad).dropout;
}
fb::CollectiveT &collective(ExecutableBuilder &b, size_t index) {
  return op<fb::CollectiveT>(b, index);
}

const Damage kDamages[] = {
    {"version", [](auto &b) { b.executable.format_version = 2; }, "version is not the header's"},
    {"mesh axis 0", [](auto &b) { b.executable.mesh->axes[0]->size = 0; }, "0 or more than 65536"},
    {"mesh axis huge", [](auto &b) { b.executable.mesh->axes[0]->size = 1u << 30; },
     "0 or more than 65536"},
    {"mesh axis twice", [](auto &b) { b.executable.mesh->axes[1]->name = "dp"; },
     "two axes named 'dp'"},
    {"device ids", [](auto &b) { b.executable.mesh->device_ids = {0, 0, 1, 2}; },
     "its device order lists 4 or repeats one"},
    {"no entry", [](auto &b) { b.executable.entries.clear(); }, "no entry point"},
    {"state dtype", [](auto &b) { b.executable.states[0]->tensor->dtype = fb::DType(77); },
     "tensor 'w' has unknown element type 77"},
    {"state region", [](auto &b) { b.executable.states[0]->tensor->region = fb::Region::Input; },
     "lies in region 1, not 0"},
    {"state bytes", [](auto &b) { b.executable.states[0]->tensor->bytes += 4; },
     "takes 128 bytes on a device by its shape, but 132"},
    {"state offset", [](auto &b) { b.executable.states[0]->tensor->offset = 1 << 20; },
     "leaves its region"},
    {"state offset odd", [](auto &b) { b.executable.states[0]->tensor->offset = 2; },
     "not a multiple of its element size"},
    {"states overlap", [](auto &b) { b.executable.states[1]->tensor->offset = 0; },
     "overlap in memory"},
    {"state twice",
     [](auto &b) { b.executable.states[1]->tensor->name = b.executable.states[0]->tensor->name; },
     "two states are named 'w'"},
    {"state kind", [](auto &b) { b.executable.states[0]->kind = fb::StateKind(9); },
     "unknown kind 9"},
    {"checkpoint shape", [](auto &b) { b.executable.states[0]->checkpoint_shape = {8, 9}; },
     "can not be read from a checkpoint tensor of shape [8, 9]"},
    {"sharding axis",
     [](auto &b) {
       b.executable.states[0]->tensor->sharding->dims[0]->axes = {fb::AxisPart(7, 1, 2)};
     },
     "axis 7 is not one of the mesh's 2"},
    {"sharding sub-axis",
     [](auto &b) {
       b.executable.states[0]->tensor->sharding->dims[0]->axes = {fb::AxisPart(1, 1, 3)};
     },
     "does not divide axis 'tp'"},
    {"sharding twice",
     [](auto &b) {
       auto &dims = b.executable.states[0]->tensor->sharding->dims;
       dims[0]->axes = dims[1]->axes = {fb::AxisPart(1, 1, 2)};
     },
     "is sharded twice by axis 'tp'"},
    {"sharding rank", [](auto &b) { b.executable.states[0]->tensor->sharding->dims.pop_back(); },
     "its sharding has 1"},
    {"state region size", [](auto &b) { b.executable.state_bytes = uint64_t(1) << 40; },
     "the state region declares 1099511627776 bytes"},
    {"scratch size", [](auto &b) { b.entry().scratch_bytes += uint64_t(1) << 30; },
     "the scratch region declares"},
    {"scratch too small", [](auto &b) { b.entry().scratch_bytes = 64; },
     "leaves the Scratch region"},
    {"entry states", [](auto &b) { b.entry().states.push_back(5); }, "it uses state 5 of 2"},
    {"object hash", [](auto &b) { b.executable.kernel_objects[0]->hash ^= 1; },
     "do not match their checksum"},
    {"object isa", [](auto &b) { b.executable.kernel_objects[0]->isa = "sparc"; },
     "unknown machine 'sparc'"},
    {"kernel twice", [](auto &b) { b.kernel("test_relu", {}, {}); },
     "an empty name or one used before"},
    {"kernel sizes", [](auto &b) { b.executable.kernels[0]->buffer_bytes.pop_back(); },
     "has 2 buffers but 1 sizes"},
    {"kernel scalars", [](auto &b) { b.executable.kernels[0]->scalar_max.clear(); },
     "has 1 scalars but 1 lower and 0 upper limits"},
    {"kernel access", [](auto &b) { b.executable.kernels[0]->access[0] = fb::Access(7); },
     "unknown access"},
    {"waits", [](auto &b) { b.entry().instrs[1]->waits = {1}; },
     "waits for instruction 1, which is not an earlier one of its segment"},
    {"stream", [](auto &b) { b.entry().instrs[0]->stream = 200; }, "stream 200"},
    {"site", [](auto &b) { b.entry().instrs[0]->site = 99; }, "site 99 of"},
    {"launch kernel", [](auto &b) { launch(b).kernel = 3; }, "kernel 3 of 1"},
    {"launch buffers", [](auto &b) { launch(b).buffers.pop_back(); },
     "1 buffers for a kernel of 2"},
    {"launch bytes", [](auto &b) { b.executable.kernels[0]->buffer_bytes[1] = 4096; },
     "the kernel touches 4096"},
    {"launch alias", [](auto &b) { launch(b).buffers[0] = launch(b).buffers[1]; },
     "operands 0 and 1 overlap and one is written"},
    {"launch alignment", [](auto &b) { launch(b).buffers[0] = ref(fb::Region::Scratch, 4, 32); },
     "is not aligned to 64"},
    {"launch scalar", [](auto &b) { launch(b).scalars[0] = expr({0, 1000}); },
     "scalar 0 is 1000 on device 0, outside 0..16"},
    {"launch scalar on one device",
     [](auto &b) { launch(b).scalars[0] = expr({1, 0, 0, 20, 4, 0}); },
     "scalar 0 is 20 on device 1"},
    {"launch scalars", [](auto &b) { launch(b).scalars.clear(); }, "0 scalars for a kernel of 1"},
    {"ref region", [](auto &b) { launch(b).buffers[0] = ref(fb::Region::Host, 0, 32); },
     "unknown region 5"},
    {"expr empty", [](auto &b) { gemm(b).k = expr({}); }, "0 words"},
    {"expr operation", [](auto &b) { gemm(b).k = expr({77, 0}); }, "unknown operation 77"},
    {"expr operand", [](auto &b) { gemm(b).k = expr({2, 0}); }, "lacks an operand"},
    {"expr leftover", [](auto &b) { gemm(b).k = expr({0, 1, 0, 1}); }, "leaves 2 values"},
    {"expr axis list", [](auto &b) { gemm(b).k = expr({1, 9}); }, "names axis list 9 of"},
    {"expr argument", [](auto &b) { gemm(b).k = expr({0, 1, 0, 1, 2, 5}); }, "argument 5"},
    {"expr zero", [](auto &b) { gemm(b).k = expr({0, 1, 0, 0, 7, 0}); }, "divides by zero"},
    {"expr overflow", [](auto &b) { gemm(b).k = expr({0, INT64_MAX, 0, 2, 4, 0}); }, "overflows"},
    {"expr range", [](auto &b) { gemm(b).k = expr({0, 99}); }, "k is 99 on device 0"},
    {"gemm dtype", [](auto &b) { gemm(b).dtype_ab = fb::DType::I32; },
     "a matrix product of I32 into F32 is not supported"},
    {"gemm operand", [](auto &b) { gemm(b).a.reset(); }, "operand a is missing"},
    {"gemm extent", [](auto &b) { gemm(b).m_max = uint64_t(1) << 50; }, "is too large"},
    {"gemm reach", [](auto &b) { gemm(b).a_strides = {0, 100, 1}; }, "operand a reaches beyond"},
    {"gemm negative stride", [](auto &b) { gemm(b).b_strides[2] = -1; }, "has stride -1"},
    {"gemm overlap", [](auto &b) { gemm(b).c_strides = {0, 1, 1}; }, "overlapping elements"},
    {"gemm no unit", [](auto &b) { gemm(b).b_strides = {0, 3, 2}; }, "no unit stride"},
    {"gemm strides", [](auto &b) { gemm(b).a_strides.pop_back(); }, "has 2 strides"},
    {"gemm alias", [](auto &b) { *gemm(b).c = *gemm(b).a; }, "overlaps an operand"},
    {"attention dtype", [](auto &b) { attention(b).dtype = fb::DType::F64; },
     "attention on F64 is not supported"},
    {"attention shape", [](auto &b) { attention(b).sq = 999; }, "its shape takes"},
    {"attention head", [](auto &b) { attention(b).d = 0; }, "a head dimension is 0"},
    {"attention keys", [](auto &b) { attention(b).skv_valid = expr({0, 100}); },
     "skv_valid is 100"},
    {"attention window", [](auto &b) { attention(b).window = -7; }, "window is -7"},
    {"attention scale", [](auto &b) { attention(b).scale = 1.0 / 0.0; }, "scale"},
    {"attention gradient shape",
     [](auto &b) { op<fb::AttentionGradT>(b, AllOperations::kAttentionGrad).skv = 99; },
     "its shape takes"},
    {"attention gradient overlap",
     [](auto &b) {
       auto &grad = op<fb::AttentionGradT>(b, AllOperations::kAttentionGrad);
       *grad.dk = *grad.dvalue;
     },
     "the results overlap"},
    {"dropout seed", [](auto &b) { *dropout(b).seed = ref(fb::Region::Scratch, 0, 4); },
     "and is an I64"},
    {"dropout step", [](auto &b) { dropout(b).step.reset(); }, "operand step is missing"},
    {"dropout scale", [](auto &b) { dropout(b).scale = 0.0 / 0.0; }, "the scale of dropout is nan"},
    {"dropout stride", [](auto &b) { dropout(b).query_stride = 96; },
     "a stride of dropout is 96, not a multiple of 64"},
    {"dropout positions", [](auto &b) { dropout(b).query_stride = uint64_t(1) << 62; },
     "positions of dropout are too large"},
    {"dropout position", [](auto &b) { dropout(b).position = expr({0, 65}); },
     "the position of dropout is 65"},
    {"dropout overlap",
     [](auto &b) {
       auto &grad = op<fb::AttentionGradT>(b, AllOperations::kAttentionGrad);
       *grad.dropout->seed = *grad.dk;
     },
     "a result overlaps the seed or the step"},
    {"copy sizes",
     [](auto &b) { *op<fb::CopyT>(b, AllOperations::kCopy).src = ref(fb::Region::State, 0, 4); },
     "copies 4 bytes to"},
    {"copy overlap",
     [](auto &b) {
       auto &c = op<fb::CopyT>(b, AllOperations::kCopy);
       *c.src = *c.dst;
     },
     "source and destination overlap"},
    {"fill bytes",
     [](auto &b) { *op<fb::FillT>(b, AllOperations::kFill).dst = ref(fb::Region::Scratch, 0, 6); },
     "fills 6 bytes with elements of 4"},
    {"collective axes", [](auto &b) { collective(b, AllOperations::kAllReduce).axes = 9; },
     "axis list 9 of"},
    {"collective kind",
     [](auto &b) { collective(b, AllOperations::kAllReduce).kind = fb::CollectiveKind(9); },
     "unknown collective 9"},
    {"collective dtype",
     [](auto &b) { collective(b, AllOperations::kAllReduce).dtype = fb::DType(99); },
     "unknown element type 99"},
    {"collective empty", [](auto &b) { collective(b, AllOperations::kAllReduce).parts.clear(); },
     "a collective of 0 parts, it needs at least 1"},
    {"collective group",
     [](auto &b) {
       auto &parts = collective(b, AllOperations::kAllToAll).parts;
       parts.push_back(std::make_unique<fb::CollectivePartT>(*parts[0]));
     },
     "a collective of 2 parts, expected 1"},
    {"part source", [](auto &b) { collective(b, AllOperations::kAllReduce).parts[1]->src.reset(); },
     "part 1: operand src is missing"},
    {"part bytes", [](auto &b) { collective(b, AllOperations::kAllReduce).parts[1]->inner = 3; },
     "part 1: the source has 64 bytes, its shape does not"},
    {"part reach",
     [](auto &b) {
       *collective(b, AllOperations::kAllReduce).parts[1]->dst =
           ref(fb::Region::Scratch, 1 << 20, 64);
     },
     "part 1: operand dst at offset 1048576 with 64 bytes leaves the Scratch region"},
    {"part site", [](auto &b) { collective(b, AllOperations::kAllReduce).parts[1]->site = 99; },
     "part 1: site 99 of"},
    {"parts write the same",
     [](auto &b) {
       auto &parts = collective(b, AllOperations::kAllReduce).parts;
       *parts[1]->dst = *parts[0]->dst;
     },
     "a part writes what another one reads or writes"},
    {"part reads what another writes",
     [](auto &b) {
       auto &parts = collective(b, AllOperations::kAllReduce).parts;
       *parts[1]->src = *parts[0]->dst;
     },
     "a part writes what another one reads or writes"},
    {"all-reduce bytes",
     [](auto &b) { collective(b, AllOperations::kAllReduce).parts[0]->inner = 3; },
     "its shape does not"},
    {"all-gather block",
     [](auto &b) { collective(b, AllOperations::kAllGather).parts[0]->block = 1; }, "do not cover"},
    {"all-gather outer",
     [](auto &b) { collective(b, AllOperations::kAllGather).parts[0]->outer = uint64_t(1) << 62; },
     "its shape does not"},
    {"reduce-scatter dim",
     [](auto &b) { collective(b, AllOperations::kReduceScatter).parts[0]->dim = 100; },
     "do not cover"},
    {"all-to-all block2", [](auto &b) { collective(b, AllOperations::kAllToAll).block2 = 0; },
     "do not cover"},
    {"permute peer", [](auto &b) { collective(b, AllOperations::kPermute).peer = expr({0, 99}); },
     "peer is 99"},
    {"permute unmatched",
     [](auto &b) { collective(b, AllOperations::kPermute).source = expr({0, 0}); },
     "receives from"},
    {"permute missing", [](auto &b) { collective(b, AllOperations::kPermute).peer.reset(); },
     "lacks its peer"},
};
INSTANTIATE_TEST_SUITE_P(Loader, Structure, testing::ValuesIn(kDamages), [](const auto &info) {
  std::string name = info.param.name;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name;
});

} // namespace
} // namespace cleave::rt::test
