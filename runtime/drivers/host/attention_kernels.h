// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The inside of attention.h: what one item is, and the instruction sets it is compiled for.
//
// The files of an instruction set include no header with inline functions that other files use: the
// linker keeps one copy of such a function, and it must not be one that an older processor can not
// run.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_KERNELS_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_KERNELS_H

#include <cstddef>
#include <cstdint>

namespace cleave::host {

enum class AttentionElement : uint8_t { F32, BF16, F16 };

/// What attention drops: see attention_dropout.h.
struct DropoutDraw {
  uint32_t threshold; ///< 0: nothing
  uint32_t site, step, key[2];
  float scale;
};

/// A block of queries of one batch entry and one KV head. A row is a query of one head; row r is
/// query r / groups, head r % groups of the KV head. Pointers point at the block's first element,
/// strides are in elements.
struct AttentionItem {
  const void *q, *k, *v;
  void *out;
  float *lse; ///< null: not wanted
  AttentionElement element;
  int64_t queries, groups, d, dv;
  int64_t qStride, kStride, vStride, outStride; ///< from one query or key to the next
  int64_t lseStride;                            ///< from one group to the next
  int64_t position;                             ///< of the first query
  int64_t validKeys;
  bool causal;
  int64_t window; ///< negative: none
  double scale, softcap;
  DropoutDraw dropout;
  /// Of the first row's first key, and from one query, or group, to the next. Multiples of 64.
  uint64_t dropoutPosition, dropoutQueryStride, dropoutGroupStride;
  void *scratch;
};

struct AttentionDesc;
/// For a run with this seed and step, which are not looked at where nothing is dropped.
DropoutDraw drawOf(const AttentionDesc &desc, const int64_t *seed, const int64_t *step);

struct AttentionKernels {
  void (*item)(const AttentionItem &item);
  /// Bytes of scratch memory for an item of `rows` rows.
  size_t (*scratchBytes)(int64_t rows, int64_t d, int64_t dv);
};

extern const AttentionKernels kAttentionAvx2;   ///< x86-64-v3
extern const AttentionKernels kAttentionAvx512; ///< x86-64-v4

/// Keys in a block. Blocks start at multiples of it, so that a row's result does not depend on
/// which other rows share its item.
inline constexpr int64_t kAttentionKeyBlock = 64;

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_ATTENTION_KERNELS_H
