// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The frequencies of rotary position embeddings.

#ifndef CLEAVE_DIALECT_GRAPH_IR_ROTARYFREQUENCIES_H
#define CLEAVE_DIALECT_GRAPH_IR_ROTARYFREQUENCIES_H

#include "cleave/Dialect/Graph/IR/GraphDialect.h"
#include "llvm/ADT/SmallVector.h"

namespace cleave::graph {

/// Radians a position of each pair of rotated elements: base^(-2j / rotaryDim) for j in
/// [0, rotaryDim / 2), scaled by `scaling` (null: not at all). The llama3 scaling is the one of
/// Llama 3.1: wavelengths of at least originalMaxPosition / lowFreqFactor are stretched by factor,
/// those of at most originalMaxPosition / highFreqFactor are kept, and between the two the
/// frequencies are interpolated linearly in originalMaxPosition / wavelength.
llvm::SmallVector<double> rotaryFrequencies(int64_t rotaryDim, double base,
                                            RopeScalingAttr scaling);

} // namespace cleave::graph

#endif // CLEAVE_DIALECT_GRAPH_IR_ROTARYFREQUENCIES_H
