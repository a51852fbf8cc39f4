// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The lowerings between dialects.
#ifndef CLEAVE_CONVERSION_PASSES_H
#define CLEAVE_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace cleave {

#define GEN_PASS_DECL
#include "cleave/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "cleave/Conversion/Passes.h.inc"

} // namespace cleave

#endif // CLEAVE_CONVERSION_PASSES_H
