// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Training/Initialization.h"
#include "cleave/Training/Random.h"

using namespace cleave::training;

Initializer cleave::training::initializerOf(llvm::StringRef name, size_t rank) {
  if (name == "bias" || name.ends_with(".bias"))
    return Initializer::Zeros;
  bool ofNorm = name.contains("norm") || name.contains("ln_");
  if (rank == 1 && ofNorm && name.ends_with("weight"))
    return Initializer::Ones;
  return Initializer::Normal;
}

std::vector<float> cleave::training::initialValues(llvm::StringRef name, size_t rank,
                                                   uint64_t elements, uint64_t seed) {
  constexpr double kDeviation = 0.02;
  Initializer initializer = initializerOf(name, rank);
  std::vector<float> values(elements, initializer == Initializer::Ones ? 1.0f : 0.0f);
  if (initializer != Initializer::Normal)
    return values;
  RandomStream stream(seed, name);
  for (uint64_t i = 0; i < elements; i += 4) {
    std::array<double, 4> four = stream.normals(i / 4);
    for (uint64_t j = 0; j < 4 && i + j < elements; ++j)
      values[i + j] = float(kDeviation * four[j]);
  }
  return values;
}
