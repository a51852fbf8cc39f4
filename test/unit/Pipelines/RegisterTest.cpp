// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Pipelines/Register.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "gtest/gtest.h"

namespace {

TEST(Register, ParsesAndOptimizesWithRegisteredDialectsAndPasses) {
  mlir::DialectRegistry registry;
  cleave::registerAllDialects(registry);
  cleave::registerAllPasses();
  mlir::MLIRContext context(registry);

  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(func.func @f(%x: f32) -> f32 {
           %dead = arith.addf %x, %x : f32
           return %x : f32
         })",
      &context);
  ASSERT_TRUE(module);
  EXPECT_FALSE(module->getOps().empty());

  mlir::PassManager manager(&context);
  ASSERT_TRUE(mlir::succeeded(mlir::parsePassPipeline("func.func(cse)", manager)));
  ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
  int additions = 0;
  module->walk(
      [&](mlir::Operation *op) { additions += op->getName().getStringRef() == "arith.addf"; });
  EXPECT_EQ(additions, 0);
}

} // namespace
