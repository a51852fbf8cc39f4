// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The .cleave file around its FlatBuffer: a header of 64 bytes with magic, version, size, checksum
// and schema hash. schema/executable.fbs documents the layout.
#ifndef CLEAVE_RUNTIME_CORE_CONTAINER_H
#define CLEAVE_RUNTIME_CORE_CONTAINER_H

#include "base/status.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cleave::rt {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr size_t kHeaderBytes = 64;

/// Read-only bytes: a mapped file or an aligned copy of memory.
class Bytes {
public:
  /// Maps a file: for large ones, of which parts are read. Its owner must not shorten it meanwhile.
  static StatusOr<std::shared_ptr<Bytes>> map(const std::string &path);
  /// Reads a whole file: what happens to it later does not matter.
  static StatusOr<std::shared_ptr<Bytes>> read(const std::string &path);
  static std::shared_ptr<Bytes> copy(std::span<const uint8_t> data);
  ~Bytes();
  Bytes(const Bytes &) = delete;
  Bytes &operator=(const Bytes &) = delete;
  std::span<const uint8_t> span() const { return {data_, size_}; }

private:
  Bytes() = default;
  const uint8_t *data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
  std::vector<uint64_t> storage_;
};

/// Checks the header and the checksum; returns the payload.
StatusOr<std::span<const uint8_t>> openContainer(std::span<const uint8_t> file);
/// The file of a payload: for tests and tools that make files without the compiler.
std::vector<uint8_t> makeContainer(std::span<const uint8_t> payload);
/// XXH3_64 with seed 0.
uint64_t hashBytes(std::span<const uint8_t> data);

} // namespace cleave::rt

#endif // CLEAVE_RUNTIME_CORE_CONTAINER_H
