// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A small executable with every kind of instruction.
#ifndef CLEAVE_TEST_UNIT_RUNTIME_ALLOPERATIONS_H
#define CLEAVE_TEST_UNIT_RUNTIME_ALLOPERATIONS_H

#include "TestExecutable.h"

namespace cleave::rt::test {

/// Indices of its instructions.
struct AllOperations {
  enum : size_t {
    kGemm,
    kLaunch,
    kAttention,
    kCopy,
    kFill,
    kAllReduce,
    kAllGather,
    kReduceScatter,
    kAllToAll,
    kAllSlice,
    kPermute,
    kAttentionGrad,
    kCount
  };
};

/// On a mesh dp=2, tp=2, with states `w` [8, 8] (checkpoint "w") and `cache` [4, 4].
ExecutableBuilder allOperations();

} // namespace cleave::rt::test

#endif // CLEAVE_TEST_UNIT_RUNTIME_ALLOPERATIONS_H
