// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/host/host_buffer.h"

#include <cstdlib>
#include <sys/mman.h>

namespace cleave::host {
namespace {

constexpr uint64_t kHugePage = uint64_t(2) << 20;

void *allocateDefault(void *, uint64_t bytes, uint64_t alignment) {
  void *memory = nullptr;
  if (bytes > (uint64_t(1) << 62) || ::posix_memalign(&memory, alignment, bytes) != 0)
    return nullptr;
  // Large buffers are read in long strides; huge pages spare most of the address translations.
  if (bytes >= kHugePage)
    ::madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return memory;
}
void releaseDefault(void *, void *memory, uint64_t) { std::free(memory); }

} // namespace

hal::StatusOr<std::unique_ptr<HostBuffer>> HostBuffer::allocate(uint32_t device, uint64_t bytes,
                                                                const hal::Allocator &allocator,
                                                                std::atomic<uint64_t> &live) {
  hal::Allocator use = allocator;
  if (!use.allocate)
    use = {allocateDefault, releaseDefault, nullptr};
  uint64_t alignment = bytes >= kHugePage && !allocator.allocate ? kHugePage : 64;
  void *memory = use.allocate(use.context, bytes ? bytes : 64, alignment);
  if (!memory)
    return absl::ResourceExhaustedError(
        absl::StrCat("device ", device, " can not allocate ", bytes, " bytes"));
  if (reinterpret_cast<uintptr_t>(memory) % 64 != 0) {
    use.release(use.context, memory, bytes ? bytes : 64);
    return absl::InvalidArgumentError("the allocator returned memory that is not aligned to 64");
  }
  live += bytes;
  return std::unique_ptr<HostBuffer>(
      new HostBuffer(device, bytes, static_cast<uint8_t *>(memory), use, live));
}

HostBuffer::~HostBuffer() {
  live_ -= bytes();
  allocator_.release(allocator_.context, memory_, bytes() ? bytes() : 64);
}

} // namespace cleave::host
