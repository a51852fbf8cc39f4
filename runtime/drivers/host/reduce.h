// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Element-by-element reduction of several arrays into several others, on one core.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_REDUCE_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_REDUCE_H

#include <cstdint>

namespace cleave::host {

/// Sources are reduced in order (BF16 and F16 in f32), and every destination gets the result. A
/// destination may be a source if both ranges begin at the same element.
struct ReduceArgs {
  unsigned dtype = 0;     ///< number of an fb::DType
  unsigned reduction = 0; ///< number of an fb::Reduction
  const void *const *sources = nullptr;
  unsigned numSources = 0; ///< at least 1
  void *const *destinations = nullptr;
  unsigned numDestinations = 0;
  /// Elements, counted from the first, of every source and destination that are worked on.
  uint64_t sourceBegin = 0, destinationBegin = 0, count = 0;
};

using ReduceFunction = void (*)(const ReduceArgs &args);
void reduceAvx2(const ReduceArgs &args);
void reduceAvx512(const ReduceArgs &args);
/// The best variant for this processor; null if it has less than x86-64-v3.
ReduceFunction bestReduce();

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_REDUCE_H
