// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/host/check_results.h"

#include <cstring>

namespace cleave::host {
namespace {

/// Infinities and NaNs have all bits of the exponent.
template <typename T> uint64_t countBits(const uint8_t *data, uint64_t count, T exponent) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < count; ++i) {
    T bits;
    std::memcpy(&bits, data + i * sizeof(T), sizeof(T));
    found += (bits & exponent) == exponent;
  }
  return found;
}

uint64_t countNotFinite(hal::DType type, const uint8_t *data, uint64_t count) {
  switch (type) {
  case hal::DType::F32:
    return countBits<uint32_t>(data, count, 0x7f800000u);
  case hal::DType::F64:
    return countBits<uint64_t>(data, count, 0x7ff0000000000000u);
  case hal::DType::BF16:
    return countBits<uint16_t>(data, count, 0x7f80u);
  case hal::DType::F16:
    return countBits<uint16_t>(data, count, 0x7c00u);
  default:
    return 0;
  }
}

} // namespace

ValuesNotFinite checkResults(const hal::Operation &operation,
                             std::span<const hal::KernelDecl> kernels, uint8_t *const *bases) {
  ValuesNotFinite found;
  auto count = [&](const hal::Slice &slice, hal::DType type) -> uint64_t {
    const uint8_t *base = bases[size_t(slice.region)];
    return base && slice.bytes
               ? countNotFinite(type, base + slice.offset, slice.bytes / rt::sizeOf(type))
               : 0;
  };
  if (const auto *c = std::get_if<hal::LaunchCommand>(&operation)) {
    const hal::KernelDecl &decl = kernels[c->kernel];
    for (size_t i = 0; i < c->buffers.size() && i < decl.dtypes.size(); ++i)
      (decl.access[i] == hal::Access::Read ? found.inOperands : found.inResults) +=
          count(c->buffers[i], decl.dtypes[i]);
  } else if (const auto *c = std::get_if<hal::GemmCommand>(&operation)) {
    found.inOperands = count(c->a, c->dtypeAB) + count(c->b, c->dtypeAB);
    // Rows and columns of the result only: the buffer may hold others between them.
    uint64_t size = rt::sizeOf(c->dtypeC);
    const uint8_t *base = bases[size_t(c->c.region)];
    for (int64_t b = 0; base && b < c->batch; ++b)
      for (int64_t m = 0; m < c->m; ++m)
        for (int64_t n = 0; n < c->n; ++n)
          found.inResults += countNotFinite(
              c->dtypeC,
              base + c->c.offset +
                  uint64_t(b * c->cStrides[0] + m * c->cStrides[1] + n * c->cStrides[2]) * size,
              1);
  } else if (const auto *c = std::get_if<hal::AttentionCommand>(&operation)) {
    found.inOperands = count(c->q, c->dtype) + count(c->k, c->dtype) + count(c->v, c->dtype);
    found.inResults = count(c->out, c->dtype);
  } else if (const auto *c = std::get_if<hal::AttentionGradCommand>(&operation)) {
    hal::DType type = c->forward.dtype;
    found.inOperands = count(c->forward.q, type) + count(c->forward.k, type) +
                       count(c->forward.v, type) + count(c->forward.out, type) +
                       count(c->dout, type);
    found.inResults = count(c->dq, type) + count(c->dk, type) + count(c->dv, type);
  } else if (const auto *c = std::get_if<hal::CollectiveCommand>(&operation)) {
    for (const hal::CollectivePart &part : c->parts) {
      found.inOperands += count(part.src, c->dtype);
      found.inResults += count(part.dst, c->dtype);
    }
  }
  return found;
}

} // namespace cleave::host
