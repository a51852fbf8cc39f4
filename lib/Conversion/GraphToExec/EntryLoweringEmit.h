// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef CLEAVE_LIB_CONVERSION_GRAPHTOEXEC_ENTRYLOWERINGEMIT_H
#define CLEAVE_LIB_CONVERSION_GRAPHTOEXEC_ENTRYLOWERINGEMIT_H

#include "EntryLowering.h"

namespace cleave {

/// Builds an instruction of `stream` with the op's own operands and attributes, and what `finish`
/// adds: waits and the source's name.
template <typename OpT, typename... Args>
OpT EntryLowering::emit(mlir::Operation *from, int64_t stream, Args &&...args) {
  auto op = OpT::create(builder_, from->getLoc(), exec::EventType::get(builder_.getContext()),
                        std::forward<Args>(args)..., mlir::ValueRange(),
                        builder_.getI64IntegerAttr(stream), mlir::StringAttr(), mlir::StringAttr());
  finish(op, from);
  return op;
}

} // namespace cleave

#endif // CLEAVE_LIB_CONVERSION_GRAPHTOEXEC_ENTRYLOWERINGEMIT_H
