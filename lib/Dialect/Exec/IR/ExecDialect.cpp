// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Dialect/Exec/IR/ExecDialect.h"

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "cleave/Dialect/Exec/IR/ExecOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cleave::exec;

#include "cleave/Dialect/Exec/IR/ExecDialect.cpp.inc"
#include "cleave/Dialect/Exec/IR/ExecInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "cleave/Dialect/Exec/IR/ExecTypes.cpp.inc"

void ExecDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerOps();
}

void ExecDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "cleave/Dialect/Exec/IR/ExecTypes.cpp.inc"
      >();
}
