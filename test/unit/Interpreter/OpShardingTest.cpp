// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every graph op under random meshes and shardings: the partitioned op computes what the op
// computes. CLEAVE_RANDOM_SEED=N runs other cases, CLEAVE_RANDOM_CASES=N more of them.

#include "ProgramTest.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Interpreter/Arguments.h"
#include "cleave/Interpreter/Interpreter.h"
#include "cleave/Pipelines/Phases.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <random>

using namespace cleave;
using namespace cleave::interpreter;
using mlir::func::FuncOp;

namespace {
#include "OpShardingPrograms.inc"

uint64_t numberFromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Random axes for the dimensions of a tensor: every axis of the mesh, or each half of one of size
/// 4 or more, goes to some dimension or to none.
Layout randomLayout(const Mesh &mesh, unsigned rank, std::mt19937_64 &random) {
  Layout layout = Layout::replicated(rank);
  auto place = [&](AxisRef axis) {
    unsigned dim = random() % (rank + 1);
    if (dim < rank)
      appendAxis(layout.dims[dim], axis);
  };
  for (uint32_t i = 0; i < mesh.axes().size(); ++i) {
    AxisRef axis = mesh.axis(i);
    if (axis.size % 2 == 0 && axis.size > 2 && random() % 3 == 0) {
      place({i, 1, 2});
      place({i, 2, axis.size / 2});
    } else {
      place(axis);
    }
  }
  for (AxisList &axes : layout.dims)
    axes = canonicalAxes(axes);
  return layout;
}

class OpSharding : public test::ProgramTest<Program> {
protected:
  void SetUp() override {
    test::ProgramTest<Program>::SetUp();
    context.loadAllAvailableDialects();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse() {
    return mlir::parseSourceString<mlir::ModuleOp>("func.func @main" + std::string(GetParam().text),
                                                   &context);
  }
  static FuncOp entryOf(mlir::ModuleOp module) { return *module.getOps<FuncOp>().begin(); }

  /// Gives random shardings to the arguments and results of a function.
  void shard(mlir::ModuleOp module, const Mesh &mesh, std::mt19937_64 &random) {
    mlir::OpBuilder builder(&context);
    builder.setInsertionPointToStart(module.getBody());
    MeshOp::create(builder, module.getLoc(), "mesh", MeshAttr::get(&context, mesh));
    auto symbol = mlir::FlatSymbolRefAttr::get(&context, "mesh");
    FuncOp function = entryOf(module);
    auto draw = [&](mlir::Type type) {
      unsigned rank = mlir::cast<mlir::RankedTensorType>(type).getRank();
      return shardingOf(&context, symbol, mesh, randomLayout(mesh, rank, random));
    };
    llvm::SmallVector<ShardingAttr> shardings;
    for (mlir::Type type : function.getArgumentTypes())
      shardings.push_back(draw(type));
    setArgumentShardings(function, shardings);
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      setResultSharding(function, i, draw(type));
  }
};

TEST_P(OpSharding, ComputesTheSame) {
  uint64_t firstSeed = numberFromEnvironment("CLEAVE_RANDOM_SEED", 1);
  uint64_t cases = numberFromEnvironment("CLEAVE_RANDOM_CASES", 12);
  const std::vector<std::vector<Mesh::Axis>> meshes = {{{"x", 2}},           {{"x", 3}},
                                                       {{"x", 4}},           {{"x", 2}, {"y", 2}},
                                                       {{"x", 2}, {"y", 3}}, {{"x", 4}, {"y", 2}}};
  for (uint64_t seed = firstSeed; seed < firstSeed + cases; ++seed) {
    std::mt19937_64 random(seed);
    Mesh mesh(meshes[random() % meshes.size()]);
    mlir::OwningOpRef<mlir::ModuleOp> global = parse(), local = parse();
    ASSERT_TRUE(global && local);
    shard(*local, mesh, random);
    std::string before;
    llvm::raw_string_ostream(before) << *local;
    SCOPED_TRACE("CLEAVE_RANDOM_SEED=" + std::to_string(seed) + "\n" + before);

    mlir::PassManager passes(&context);
    for (Phase phase :
         {Phase::Propagate, Phase::Reshard, Phase::Partition, Phase::Merge, Phase::Overlap})
      ASSERT_TRUE(succeeded(mlir::parsePassPipeline(phasePipeline(phase, {}), passes)));
    ASSERT_TRUE(succeeded(passes.run(*local)));

    auto arguments = randomArguments(entryOf(*global), seed);
    ASSERT_TRUE(succeeded(arguments));
    auto expected = interpretGlobal(entryOf(*global), *arguments);
    auto found = interpretGlobal(entryOf(*local), *arguments);
    ASSERT_TRUE(succeeded(expected) && succeeded(found));
    for (auto [i, result, wanted] : llvm::enumerate(*found, *expected)) {
      Difference difference = compare(*result, *wanted);
      ASSERT_TRUE(difference.sameType);
      ASSERT_LE(difference.relative, 1e-12) << "result " << i << " at element " << difference.index;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpSharding, testing::ValuesIn(kPrograms),
                         [](const testing::TestParamInfo<Program> &info) {
                           return std::string(info.param.name);
                         });
} // namespace
