// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Fixtures of tests that parse, transform and evaluate whole programs.
#ifndef CLEAVE_TEST_UNIT_PROGRAMTEST_H
#define CLEAVE_TEST_UNIT_PROGRAMTEST_H

#include "cleave/Pipelines/Register.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <mutex>

namespace cleave::test {

/// `Parameter` is what a case is: every pass is registered, and `context` knows every dialect.
template <typename Parameter> class ProgramTest : public testing::TestWithParam<Parameter> {
protected:
  static void SetUpTestSuite() {
    static std::once_flag once;
    std::call_once(once, registerAllPasses);
  }
  void SetUp() override {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  mlir::MLIRContext context;
};

} // namespace cleave::test

#endif // CLEAVE_TEST_UNIT_PROGRAMTEST_H
