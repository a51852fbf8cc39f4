// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Buffers of logical devices: plain memory.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_HOST_BUFFER_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_HOST_BUFFER_H

#include "hal/hal.h"
#include <atomic>

namespace cleave::host {

class HostBuffer : public hal::Buffer {
public:
  /// `live` counts the bytes that live; it outlives the buffer.
  static hal::StatusOr<std::unique_ptr<HostBuffer>> allocate(uint32_t device, uint64_t bytes,
                                                             const hal::Allocator &allocator,
                                                             std::atomic<uint64_t> &live);
  ~HostBuffer() override;
  void *hostPointer() override { return memory_; }

private:
  HostBuffer(uint32_t device, uint64_t bytes, uint8_t *memory, const hal::Allocator &allocator,
             std::atomic<uint64_t> &live)
      : Buffer(device, bytes), memory_(memory), allocator_(allocator), live_(live) {}
  uint8_t *memory_;
  hal::Allocator allocator_;
  std::atomic<uint64_t> &live_;
};

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_HOST_BUFFER_H
