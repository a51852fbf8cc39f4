// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Functions whose derivatives are compared with differences.
#ifndef CLEAVE_TEST_UNIT_DIFFERENTIATE_DERIVATIVECASES_H
#define CLEAVE_TEST_UNIT_DIFFERENTIATE_DERIVATIVECASES_H

#include "llvm/ADT/ArrayRef.h"
#include <ostream>
#include <string>

namespace cleave::test {

/// A function `@f` of floats (and ids, which stay below the tables that they index). A and B stand
/// for random sizes from 1 to 4, C for a random even size from 2 to 6.
struct DerivativeCase {
  std::string name;
  std::string text;
  double low = -1.5, high = 1.5; ///< of the arguments
};

inline void PrintTo(const DerivativeCase &c, std::ostream *os) { *os << c.name; }

/// At least one for every op that has floats.
llvm::ArrayRef<DerivativeCase> derivativeCases();

} // namespace cleave::test

#endif // CLEAVE_TEST_UNIT_DIFFERENTIATE_DERIVATIVECASES_H
