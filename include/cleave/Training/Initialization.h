// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random initial parameters, as Hugging Face draws them.
#ifndef CLEAVE_TRAINING_INITIALIZATION_H
#define CLEAVE_TRAINING_INITIALIZATION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <vector>

namespace cleave::training {

enum class Initializer {
  Zeros, ///< biases
  Ones,  ///< weights of norms
  Normal ///< everything else: N(0, 0.02)
};

/// What a parameter starts as, from its name and rank in a checkpoint.
Initializer initializerOf(llvm::StringRef checkpointName, size_t rank);

/// The elements of the whole parameter, row-major. They depend on the seed and the name only.
std::vector<float> initialValues(llvm::StringRef checkpointName, size_t rank, uint64_t elements,
                                 uint64_t seed);

} // namespace cleave::training

#endif // CLEAVE_TRAINING_INITIALIZATION_H
