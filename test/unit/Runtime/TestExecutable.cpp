// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "TestExecutable.h"

#include "cleave/schema_hash.h"
#include "core/session.h"
#include <fstream>
#include <iterator>
#include <random>

namespace cleave::rt::test {

std::unique_ptr<fb::ExprT> expr(Code code) {
  auto e = std::make_unique<fb::ExprT>();
  e->code = std::move(code);
  return e;
}

fb::BufferRef ref(fb::Region region, uint64_t offset, uint64_t bytes) {
  return fb::BufferRef(region, offset, bytes);
}

ExecutableBuilder::ExecutableBuilder(std::vector<std::pair<std::string, uint32_t>> axes) {
  executable.format_version = kFormatVersion;
  executable.schema_hash = kSchemaHash;
  executable.compiler = "test";
  executable.mesh = std::make_unique<fb::MeshT>();
  executable.mesh->name = "mesh";
  for (auto &[name, size] : axes) {
    auto axis = std::make_unique<fb::MeshAxisT>();
    axis->name = name;
    axis->size = size;
    executable.mesh->axes.push_back(std::move(axis));
  }
  executable.entries.push_back(std::make_unique<fb::EntryT>());
  entry().name = "forward";
}

std::unique_ptr<fb::TensorT> ExecutableBuilder::tensor(const std::string &name, fb::DType dtype,
                                                       std::vector<uint64_t> shape,
                                                       std::vector<int> dims, fb::Region region,
                                                       uint64_t &regionBytes) {
  auto t = std::make_unique<fb::TensorT>();
  t->name = name;
  t->dtype = dtype;
  t->sharding = std::make_unique<fb::ShardingT>();
  uint64_t bytes = sizeOf(dtype);
  for (size_t d = 0; d < shape.size(); ++d) {
    auto axes = std::make_unique<fb::DimAxesT>();
    uint64_t n = shape[d];
    if (dims[d] >= 0) {
      uint32_t size = executable.mesh->axes[size_t(dims[d])]->size;
      axes->axes.push_back(fb::AxisPart(uint32_t(dims[d]), 1, size));
      n = (n + size - 1) / size;
    }
    t->sharding->dims.push_back(std::move(axes));
    bytes *= n;
  }
  t->shape = std::move(shape);
  t->region = region;
  t->offset = regionBytes;
  t->bytes = bytes;
  regionBytes += (bytes + 63) / 64 * 64;
  return t;
}

fb::BufferRef ExecutableBuilder::state(const std::string &name, fb::DType dtype,
                                       std::vector<uint64_t> shape, std::vector<int> dims,
                                       const std::string &checkpoint) {
  auto s = std::make_unique<fb::StateT>();
  s->checkpoint_name = checkpoint;
  s->checkpoint_shape = shape;
  s->tensor = tensor(name, dtype, std::move(shape), std::move(dims), fb::Region::State,
                     executable.state_bytes);
  fb::BufferRef r = ref(fb::Region::State, s->tensor->offset, s->tensor->bytes);
  entry().states.push_back(uint32_t(executable.states.size()));
  executable.states.push_back(std::move(s));
  return r;
}

fb::BufferRef ExecutableBuilder::input(const std::string &name, fb::DType dtype,
                                       std::vector<uint64_t> shape, std::vector<int> dims) {
  entry().inputs.push_back(tensor(name, dtype, std::move(shape), std::move(dims), fb::Region::Input,
                                  entry().input_bytes));
  return ref(fb::Region::Input, entry().inputs.back()->offset, entry().inputs.back()->bytes);
}

fb::BufferRef ExecutableBuilder::output(const std::string &name, fb::DType dtype,
                                        std::vector<uint64_t> shape, std::vector<int> dims) {
  entry().outputs.push_back(tensor(name, dtype, std::move(shape), std::move(dims),
                                   fb::Region::Output, entry().output_bytes));
  return ref(fb::Region::Output, entry().outputs.back()->offset, entry().outputs.back()->bytes);
}

fb::BufferRef ExecutableBuilder::scratch(uint64_t bytes) {
  fb::BufferRef r = ref(fb::Region::Scratch, entry().scratch_bytes, bytes);
  entry().scratch_bytes += (bytes + 63) / 64 * 64;
  return r;
}

uint32_t ExecutableBuilder::axisList(std::vector<uint32_t> axes) {
  auto list = std::make_unique<fb::AxisListT>();
  for (uint32_t a : axes)
    list->axes.push_back(fb::AxisPart(a, 1, executable.mesh->axes[a]->size));
  entry().axis_lists.push_back(std::move(list));
  return uint32_t(entry().axis_lists.size() - 1);
}

uint32_t ExecutableBuilder::kernel(const std::string &symbol, std::vector<uint64_t> bufferBytes,
                                   std::vector<fb::Access> access, std::vector<int64_t> scalarMin,
                                   std::vector<int64_t> scalarMax) {
  if (executable.kernel_objects.empty()) {
    auto object = std::make_unique<fb::KernelObjectT>();
    object->isa = "x86-64-v3";
    object->object = readFile(CLEAVE_TEST_KERNELS);
    object->hash = hashBytes(object->object);
    executable.kernel_objects.push_back(std::move(object));
  }
  auto k = std::make_unique<fb::KernelT>();
  k->symbol = symbol;
  k->buffers = uint32_t(bufferBytes.size());
  k->scalars = uint32_t(scalarMin.size());
  k->buffer_bytes = std::move(bufferBytes);
  k->access = std::move(access);
  k->scalar_min = std::move(scalarMin);
  k->scalar_max = std::move(scalarMax);
  executable.kernels.push_back(std::move(k));
  return uint32_t(executable.kernels.size() - 1);
}

std::vector<uint8_t> ExecutableBuilder::payload() const {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Executable::Pack(builder, &executable), fb::ExecutableIdentifier());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

std::shared_ptr<const Executable> ExecutableBuilder::load() const {
  auto result = Executable::fromMemory(file());
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : nullptr;
}

ExecutableBuilder Mlp::build() const {
  using fb::Region;
  ExecutableBuilder b({{"dp", dp}, {"tp", tp}});
  constexpr fb::DType f32 = fb::DType::F32;
  int64_t rows = int64_t((batch + dp - 1) / dp), cols = int64_t((hidden + tp - 1) / tp);
  int64_t e = int64_t(embed);
  fb::BufferRef w1 = b.state("w1", f32, {hidden, embed}, {1, -1}, "mlp.up.weight");
  fb::BufferRef w2 = b.state("w2", f32, {embed, hidden}, {-1, 1}, "mlp.down.weight");
  fb::BufferRef x = b.input("x", f32, {batch, embed}, {0, -1});
  fb::BufferRef y = b.output("y", f32, {batch, embed}, {0, -1});
  fb::BufferRef h = b.scratch(uint64_t(rows * cols) * 4), r = b.scratch(uint64_t(rows * cols) * 4);
  fb::BufferRef partial = b.scratch(uint64_t(rows * e) * 4);
  uint32_t overTp = b.axisList({1});
  uint32_t relu = b.kernel("test_relu", {h.bytes(), r.bytes()},
                           {fb::Access::Read, fb::Access::Write}, {0}, {rows * cols});
  auto gemm = [&](int64_t n, int64_t k) {
    fb::GemmT g;
    g.dtype_ab = g.dtype_c = f32;
    g.batch = 1;
    g.m_max = uint64_t(rows);
    g.n_max = uint64_t(n);
    g.k_max = uint64_t(k);
    g.a_strides = {rows * k, k, 1};
    g.b_strides = {n * k, 1, k};
    g.c_strides = {rows * n, n, 1};
    return g;
  };
  fb::GemmT up = gemm(cols, e);
  up.a = std::make_unique<fb::BufferRef>(x);
  up.b = std::make_unique<fb::BufferRef>(w1);
  up.c = std::make_unique<fb::BufferRef>(h);
  b.add(std::move(up), "mlp.up");
  fb::LaunchT launch;
  launch.kernel = relu;
  launch.buffers = {h, r};
  launch.scalars.push_back(expr({0, rows * cols}));
  b.add(std::move(launch), "mlp.act");
  fb::GemmT down = gemm(e, cols);
  down.a = std::make_unique<fb::BufferRef>(r);
  down.b = std::make_unique<fb::BufferRef>(w2);
  down.c = std::make_unique<fb::BufferRef>(partial);
  // Hidden units that this device really has: max(0, min(cols, hidden - coord * cols)).
  down.k = expr({0, 0, 0, cols, 0, int64_t(hidden), 1, overTp, 0, cols, 4, 0, 3, 0, 5, 0, 6, 0});
  uint32_t last = b.add(std::move(down), "mlp.down");
  fb::CollectiveT sum;
  sum.kind = fb::CollectiveKind::AllReduce;
  sum.dtype = f32;
  sum.axes = overTp;
  auto part = std::make_unique<fb::CollectivePartT>();
  part->src = std::make_unique<fb::BufferRef>(partial);
  part->dst = std::make_unique<fb::BufferRef>(y);
  part->outer = 1;
  part->dim = part->block = 1;
  part->inner = uint64_t(rows * e);
  sum.parts.push_back(std::move(part));
  sum.ring_bytes = 2.0 * (tp - 1) / tp * double(batch) / dp * double(embed) * 4;
  b.add(std::move(sum), "mlp.down", 1, {last});
  return b;
}

std::vector<float> Mlp::x() const { return randomFloats(batch * embed, 1); }
std::vector<float> Mlp::w1() const { return randomFloats(hidden * embed, 2); }
std::vector<float> Mlp::w2() const { return randomFloats(embed * hidden, 3); }

std::vector<float> Mlp::expected() const {
  std::vector<float> in = x(), a = w1(), b = w2(), out;
  for (uint64_t i = 0; i < batch; ++i) {
    std::vector<double> h(hidden);
    for (uint64_t f = 0; f < hidden; ++f) {
      for (uint64_t e = 0; e < embed; ++e)
        h[f] += double(in[i * embed + e]) * a[f * embed + e];
      h[f] = std::max(h[f], 0.0);
    }
    for (uint64_t e = 0; e < embed; ++e) {
      double sum = 0;
      for (uint64_t f = 0; f < hidden; ++f)
        sum += h[f] * b[e * hidden + f];
      out.push_back(float(sum));
    }
  }
  return out;
}

std::vector<float> randomFloats(size_t count, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<float> result(count);
  for (float &x : result)
    x = float(int64_t(generator() >> 40) - (int64_t(1) << 23)) * 0x1p-23f;
  return result;
}

std::vector<uint8_t> readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string errorOf(cleave_status *status, cleave_code code) {
  EXPECT_NE(status, nullptr) << "an error was expected";
  EXPECT_EQ(cleave_status_code(status), code) << cleave_status_message(status);
  std::string message = cleave_status_message(status);
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  cleave_status_free(status);
  return message;
}

void loadAndRun(const std::vector<uint8_t> &file) {
  auto executable = Executable::fromMemory(file);
  if (!executable.ok())
    return;
  (void)(*executable)->describeJson();
  SessionOptions options;
  options.interleavingSeed = 1;
  auto session = Session::create(*executable, options);
  if (!session.ok())
    return;
  auto zeros = [](const TensorInfo &t) {
    HostArray array;
    array.dtype = t.dtype;
    array.shape = t.shape;
    return array;
  };
  std::vector<uint8_t> data(1 << 16);
  for (const StateInfo &state : (*executable)->states()) {
    HostArray array = zeros(state.tensor);
    if (state.tensor.globalBytes() > data.size())
      return; // a shape that only a test with more patience would feed
    array.data = data.data();
    (void)(*session)->setState(state.tensor.name, array);
  }
  for (const EntryInfo &entry : (*executable)->entries()) {
    for (const TensorInfo &t : entry.inputs) {
      HostArray array = zeros(t);
      if (t.globalBytes() > data.size())
        return;
      array.data = data.data();
      (void)(*session)->setInput(entry.name, t.name, array);
    }
    (void)(*session)->run(entry.name);
  }
}

} // namespace cleave::rt::test
