// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Executables made by hand, as the compiler would write them.
#ifndef CLEAVE_TEST_UNIT_RUNTIME_TESTEXECUTABLE_H
#define CLEAVE_TEST_UNIT_RUNTIME_TESTEXECUTABLE_H

#include "cleave/runtime.h"
#include "core/container.h"
#include "core/executable.h"
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace cleave::rt::test {

using Code = std::vector<int64_t>;

std::unique_ptr<fb::ExprT> expr(Code code);
fb::BufferRef ref(fb::Region region, uint64_t offset, uint64_t bytes);

/// Builds one executable with one entry, `forward`. Regions grow as tensors and scratch are added.
class ExecutableBuilder {
public:
  explicit ExecutableBuilder(std::vector<std::pair<std::string, uint32_t>> axes);

  fb::ExecutableT executable;
  fb::EntryT &entry() { return *executable.entries[0]; }

  /// Adds a tensor; `dims` lists the axis of each dimension, -1 for none. Returns where it lies.
  fb::BufferRef state(const std::string &name, fb::DType dtype, std::vector<uint64_t> shape,
                      std::vector<int> dims, const std::string &checkpoint = "");
  fb::BufferRef input(const std::string &name, fb::DType dtype, std::vector<uint64_t> shape,
                      std::vector<int> dims);
  fb::BufferRef output(const std::string &name, fb::DType dtype, std::vector<uint64_t> shape,
                       std::vector<int> dims);
  fb::BufferRef scratch(uint64_t bytes);
  uint32_t axisList(std::vector<uint32_t> axes);
  uint32_t kernel(const std::string &symbol, std::vector<uint64_t> bufferBytes,
                  std::vector<fb::Access> access, std::vector<int64_t> scalarMin = {},
                  std::vector<int64_t> scalarMax = {});
  /// Adds an instruction; returns its index.
  template <typename Op>
  uint32_t add(Op op, const std::string &site, uint8_t stream = 0,
               std::vector<uint32_t> waits = {}) {
    auto instr = std::make_unique<fb::InstrT>();
    instr->op.Set(std::move(op));
    instr->stream = stream;
    instr->waits = std::move(waits);
    auto s = std::make_unique<fb::SiteT>();
    s->name = site;
    instr->site = uint32_t(executable.sites.size());
    executable.sites.push_back(std::move(s));
    entry().instrs.push_back(std::move(instr));
    return uint32_t(entry().instrs.size() - 1);
  }

  std::vector<uint8_t> payload() const;
  std::vector<uint8_t> file() const { return makeContainer(payload()); }
  std::shared_ptr<const Executable> load() const;

private:
  std::unique_ptr<fb::TensorT> tensor(const std::string &name, fb::DType dtype,
                                      std::vector<uint64_t> shape, std::vector<int> dims,
                                      fb::Region region, uint64_t &regionBytes);
};

/// A two-matrix MLP, y[B, E] = relu(x[B, E] w1[F, E]^T) w2[E, F]^T, batch over "dp" and F over
/// "tp", none of which need divide; partial sums are reduced over "tp" on stream 1.
struct Mlp {
  uint64_t batch = 5, embed = 8, hidden = 10;
  uint32_t dp = 2, tp = 4;
  ExecutableBuilder build() const;
  std::vector<float> x() const, w1() const, w2() const;
  std::vector<float> expected() const;
};

/// Numbers in [-1, 1) that depend on the seed alone.
std::vector<float> randomFloats(size_t count, uint64_t seed);
std::vector<uint8_t> readFile(const std::string &path);
/// Loads a file that may be damaged and, if it is taken, runs it with every input set.
void loadAndRun(const std::vector<uint8_t> &file);

/// Fails the test with a status' message, and frees it.
#define ASSERT_CLEAVE_OK(expr)                                                                     \
  do {                                                                                             \
    cleave_status *status_ = (expr);                                                               \
    std::string message_ = cleave_status_message(status_);                                         \
    bool ok_ = status_ == nullptr;                                                                 \
    cleave_status_free(status_);                                                                   \
    ASSERT_TRUE(ok_) << message_;                                                                  \
  } while (false)

/// The message of a status that must be an error of the given code; frees it.
std::string errorOf(cleave_status *status, cleave_code code);

} // namespace cleave::rt::test

#endif // CLEAVE_TEST_UNIT_RUNTIME_TESTEXECUTABLE_H
