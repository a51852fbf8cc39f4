// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Compiles kernels from text and calls them.
#ifndef CLEAVE_TEST_UNIT_HOSTKERNELS_LOADEDKERNELS_H
#define CLEAVE_TEST_UNIT_HOSTKERNELS_LOADEDKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace cleave::test {

/// An array on a 64-byte boundary, as the kernel ABI asks.
template <typename T> class Buffer {
public:
  explicit Buffer(size_t size) : size_(size) {
    size_t bytes = (size * sizeof(T) + 63) / 64 * 64;
    data_.reset(static_cast<T *>(std::aligned_alloc(64, bytes ? bytes : 64)));
  }
  T *data() { return data_.get(); }
  T &operator[](size_t i) { return data_.get()[i]; }
  size_t size() const { return size_; }
  T *begin() { return data(); }
  T *end() { return data() + size_; }

private:
  struct Free {
    void operator()(T *pointer) const { std::free(pointer); }
  };
  size_t size_;
  std::unique_ptr<T, Free> data_;
};

inline float fromBF16(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  __builtin_memcpy(&value, &wide, 4);
  return value;
}

inline uint16_t toBF16(float value) {
  uint32_t wide;
  __builtin_memcpy(&wide, &value, 4);
  if (value != value)
    return static_cast<uint16_t>((wide >> 16) | 0x40);
  return static_cast<uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
}

class LoadedKernels {
public:
  /// Compiles the functions of `text` for `target` and loads them.
  LoadedKernels(llvm::StringRef text, const std::string &target = "native");
  /// Compiles and loads the kernels of a module.
  LoadedKernels(mlir::ModuleOp module, const std::string &target);
  LoadedKernels(const LoadedKernels &) = delete;
  LoadedKernels &operator=(const LoadedKernels &) = delete;
  ~LoadedKernels();
  explicit operator bool() const { return handle_; }
  const std::string &error() const { return error_; }
  void call(const char *name, std::vector<void *> buffers, std::vector<int64_t> scalars = {});
  const std::string &isa() const { return isa_; }
  /// The bytes of the shared object.
  const std::string &object() const { return object_; }

private:
  void load(mlir::ModuleOp module, const std::string &target);

  void *handle_ = nullptr;
  std::string path_, isa_, object_, error_;
};

} // namespace cleave::test

#endif // CLEAVE_TEST_UNIT_HOSTKERNELS_LOADEDKERNELS_H
