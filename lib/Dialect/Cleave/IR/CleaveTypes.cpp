// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the cleave dialect.

#include "cleave/Dialect/Cleave/IR/CleaveTypes.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cleave;

#define GET_TYPEDEF_CLASSES
#include "cleave/Dialect/Cleave/IR/CleaveTypes.cpp.inc"

void CleaveDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "cleave/Dialect/Cleave/IR/CleaveTypes.cpp.inc"
      >();
}
