// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attributes, layouts and collectives say the same thing.

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"

#include "Layout/Seed.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace cleave;
using cleave::test::replayText;
using cleave::test::seedFromEnvironment;

namespace {

class LayoutConversionTest : public ::testing::Test {
protected:
  LayoutConversionTest() {
    context.loadDialect<CleaveDialect, func::FuncDialect, scf::SCFDialect>();
  }

  OwningOpRef<ModuleOp> parse(StringRef text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return module;
  }

  /// A module with the mesh @mesh.
  OwningOpRef<ModuleOp> makeModule(const Mesh &mesh) {
    OpBuilder builder(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder, builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
    MeshOp::create(builder, builder.getUnknownLoc(), "mesh", MeshAttr::get(&context, mesh));
    return module;
  }

  ShardingAttr parseSharding(StringRef text) {
    return dyn_cast_or_null<ShardingAttr>(
        parseAttribute(("#cleave.sharding<" + text + ">").str(), &context));
  }

  MLIRContext context;
  FlatSymbolRefAttr meshSym = FlatSymbolRefAttr::get(&context, "mesh");
};

/// Deals parts of the mesh's axes to the dimensions of a random layout.
class RandomLayouts {
public:
  RandomLayouts(std::mt19937 &random, const Mesh &mesh) : random(random), mesh(mesh) {}

  Layout make(unsigned rank, bool partial) {
    std::vector<AxisRef> parts;
    for (uint32_t index = 0; index < mesh.axes().size(); ++index) {
      AxisRef whole = mesh.axis(index);
      uint32_t major = whole.size % 2 == 0 && random() % 2 ? whole.size / 2 : whole.size;
      AxisRef rest = whole;
      for (const AxisRef &part : takeMajor(rest, major))
        parts.push_back(part);
      if (rest.size > 1)
        parts.push_back(rest);
    }
    std::shuffle(parts.begin(), parts.end(), random);
    Layout layout = Layout::replicated(rank);
    for (const AxisRef &part : parts) {
      unsigned place = random() % (rank + 2);
      if (place < rank)
        appendAxis(layout.dims[place], part);
      else if (place == rank && partial)
        layout.partial.push_back(part);
    }
    layout.partial = sortedAxes(layout.partial);
    if (!layout.partial.empty())
      layout.partialKind = Reduction(random() % 3);
    return layout;
  }

private:
  std::mt19937 &random;
  const Mesh &mesh;
};

const Mesh &testMesh() {
  static const Mesh mesh({{"dp", 2}, {"tp", 8}, {"x", 3}});
  return mesh;
}

TEST_F(LayoutConversionTest, AttributesKeepLayouts) {
  uint32_t seed = seedFromEnvironment();
  std::mt19937 random(seed);
  RandomLayouts layouts(random, testMesh());
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(replayText(seed, round));
    unsigned rank = random() % 4;
    Layout layout = layouts.make(rank, true);
    ShardingAttr sharding = shardingOf(&context, meshSym, testMesh(), layout, random() % 2);
    EXPECT_EQ(*layoutOf(sharding, testMesh()), layout);
    std::string text;
    llvm::raw_string_ostream(text) << sharding;
    EXPECT_EQ(parseAttribute(text, &context), sharding) << text;

    SmallVector<int64_t> shape(rank);
    for (int64_t &size : shape)
      size = random() % 40;
    auto global = RankedTensorType::get(shape, Float32Type::get(&context));
    RankedTensorType local = localType(global, meshSym, testMesh(), layout);
    EXPECT_EQ(local.getShape(), ArrayRef<int64_t>(localShape(shape, layout)));
    EXPECT_EQ(layoutOf(getShard(local), testMesh()), layout);
    EXPECT_EQ(globalType(local), global);
    text.clear();
    llvm::raw_string_ostream(text) << local;
    EXPECT_EQ(parseType(text, &context), local) << text;
  }
}

TEST_F(LayoutConversionTest, OpennessAndPriorityAreNoPartOfALayout) {
  Layout layout =
      *layoutOf(parseSharding(R"(@mesh, [{"dp", ?}p2, {?}], replicated={"x"})"), testMesh());
  EXPECT_EQ(toString(testMesh(), layout), R"([{"dp"}, {}])");
}

TEST_F(LayoutConversionTest, AxesOfSizeOneAreDropped) {
  Mesh mesh({{"one", 1}, {"tp", 4}});
  Layout layout = *layoutOf(parseSharding(R"(@mesh, [{"one"}, {"one", "tp"}])"), mesh);
  EXPECT_EQ(toString(mesh, layout), R"([{}, {"tp"}])");
}

TEST_F(LayoutConversionTest, ForeignAxesFail) {
  EXPECT_TRUE(failed(layoutOf(parseSharding(R"(@mesh, [{"y"}])"), testMesh())));
  EXPECT_TRUE(failed(layoutOf(parseSharding(R"(@mesh, [{"tp":(3)2}])"), testMesh())));
  EXPECT_TRUE(failed(layoutOf(parseSharding(R"(@mesh, [{}], unreduced={"y"})"), testMesh())));
}

/// Every path that the planner finds, even over uneven sizes, passes the collectives' verifier in
/// both forms, and a step does what applyStep says.
TEST_F(LayoutConversionTest, PlannedStepsVerify) {
  uint32_t seed = seedFromEnvironment();
  std::mt19937 random(seed);
  RandomLayouts layouts(random, testMesh());
  ReshardPlanner planner(testMesh());
  int steps = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(replayText(seed, round));
    unsigned rank = 1 + random() % 3;
    Layout from = layouts.make(rank, true), to = layouts.make(rank, false);
    SmallVector<int64_t> shape(rank);
    for (int64_t &size : shape)
      size = 1 + random() % 60;
    auto global = RankedTensorType::get(shape, Float32Type::get(&context));
    for (bool local : {false, true}) {
      OwningOpRef<ModuleOp> module = makeModule(testMesh());
      OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
      Location loc = builder.getUnknownLoc();
      RankedTensorType type = local ? localType(global, meshSym, testMesh(), from) : global;
      auto function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType(type, {}));
      Block *block = function.addEntryBlock();
      if (local)
        function->setAttr(CleaveDialect::kMeshAttr, meshSym);
      else
        setSharding(block->getArgument(0), shardingOf(&context, meshSym, testMesh(), from));
      builder.setInsertionPointToEnd(block);
      Value value = block->getArgument(0);
      Layout layout = from;
      for (const ReshardStep &step : planner.path(shape, 4, from, to)) {
        std::string error;
        FailureOr<Layout> next = applyStep(step, shape, layout, testMesh(), error);
        ASSERT_TRUE(succeeded(next)) << error;
        EXPECT_EQ(*next, step.result);
        layout = *next;
        value = createCollective(builder, loc, value, step, meshSym, testMesh());
        auto collective = cast<CollectiveOpInterface>(value.getDefiningOp());
        ReshardStep read = stepOf(collective, testMesh());
        EXPECT_EQ(read.kind, step.kind);
        EXPECT_EQ(read.axes, step.axes);
        EXPECT_EQ(read.result, step.result);
        EXPECT_EQ(getMeshSymbol(collective), meshSym);
        ++steps;
      }
      EXPECT_EQ(layout, to);
      func::ReturnOp::create(builder, loc);
      EXPECT_TRUE(succeeded(verify(*module)));
    }
  }
  EXPECT_GT(steps, 300);
}

TEST_F(LayoutConversionTest, PermuteNeedsEqualRanks) {
  ReshardStep step{CollectiveKind::CollectivePermute, {}};
  step.result = Layout::replicated(2);
  std::string error;
  EXPECT_TRUE(failed(applyStep(step, {4}, Layout::replicated(1), testMesh(), error)));
  EXPECT_EQ(error, "operand and result differ in rank");
}

TEST_F(LayoutConversionTest, ShardingsOfValues) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    cleave.mesh @mesh = <["dp"=2, "tp"=4]>
    func.func @f(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
      %0:3 = scf.if %c -> (tensor<8xf32>, i1, tensor<8xf32>) {
        scf.yield %x, %c, %x : tensor<8xf32>, i1, tensor<8xf32>
      } else {
        scf.yield %x, %c, %x : tensor<8xf32>, i1, tensor<8xf32>
      }
      %1 = cleave.sharding_constraint %0#0 <@mesh, [{"dp"}]> : tensor<8xf32>
      %2 = cleave.reshard %1 <@mesh, [{"tp"}]> : tensor<8xf32>
      %3, %t = cleave.all_gather_start %2 over ["tp"] dim 0 sharding=<@mesh, [{}]> : tensor<8xf32>
      %4 = cleave.done %3, %t : tensor<8xf32>
      %5 = cleave.manual_computation(%4) in_shardings=[<@mesh, [{"tp", "dp", ?}p1]>]
          out_shardings=[<@mesh, [{"tp"}]>] manual_axes=["tp"]
          (%a: tensor<2xf32, #cleave.shard<@mesh, [{"tp"}], global=[8]>>) {
        cleave.return %a : tensor<2xf32, #cleave.shard<@mesh, [{"tp"}], global=[8]>>
      } : (tensor<8xf32>) -> tensor<8xf32>
      return %5 : tensor<8xf32>
    })mlir");
  auto function = *module->getOps<func::FuncOp>().begin();
  SmallVector<Operation *> ops =
      llvm::map_to_vector(function.front(), [](Operation &op) { return &op; });
  ShardingAttr dp = parseSharding(R"(@mesh, [{"dp"}])"), tp = parseSharding(R"(@mesh, [{"tp"}])");
  ShardingAttr none = parseSharding("@mesh, [{}]");

  Value argument = function.getArgument(0);
  EXPECT_FALSE(getSharding(argument));
  setSharding(argument, dp);
  EXPECT_EQ(getSharding(argument), dp);
  setSharding(argument, {});
  EXPECT_FALSE(function.getArgAttr(0, "cleave.sharding"));
  setArgumentShardings(function, {tp, {}});
  EXPECT_EQ(getSharding(argument), tp);
  EXPECT_FALSE(getSharding(function.getArgument(1)));

  // An op's attribute has one entry a result and goes when all are gone.
  Operation *branch = ops[0];
  EXPECT_FALSE(getSharding(branch->getResult(0)));
  setSharding(branch->getResult(2), tp);
  EXPECT_FALSE(getSharding(branch->getResult(0)));
  EXPECT_EQ(getSharding(branch->getResult(2)), tp);
  EXPECT_TRUE(succeeded(verify(*module)));
  setSharding(branch->getResult(2), {});
  EXPECT_FALSE(branch->hasAttr("cleave.shardings"));

  EXPECT_EQ(getSharding(ops[1]->getResult(0)), dp);
  setSharding(ops[1]->getResult(0), tp);
  EXPECT_EQ(cast<ShardingConstraintOp>(ops[1]).getSharding(), tp);
  EXPECT_EQ(getSharding(ops[2]->getResult(0)), tp);
  EXPECT_EQ(getSharding(ops[3]->getResult(0)), none);
  EXPECT_FALSE(getSharding(ops[3]->getResult(1)));
  EXPECT_EQ(getSharding(ops[4]->getResult(0)), none);
  EXPECT_EQ(getSharding(ops[5]->getResult(0)), tp);
  setSharding(ops[5]->getResult(0), dp);
  EXPECT_EQ(getSharding(ops[5]->getResult(0)), dp);
  EXPECT_EQ(getSharding(ops[5]->getRegion(0).getArgument(0)),
            parseSharding(R"(@mesh, [{"dp", ?}p1])"));

  EXPECT_FALSE(getResultSharding(function, 0));
  setResultSharding(function, 0, tp);
  EXPECT_EQ(getResultSharding(function, 0), tp);
  setResultSharding(function, 0, {});
  EXPECT_FALSE(getResultSharding(function, 0));
}

TEST_F(LayoutConversionTest, RulesOfOps) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    cleave.mesh @mesh = <["dp"=2, "tp"=4]>
    func.func @f(%x: tensor<8x4xf32>, %c: i1) {
      %0 = cleave.sharding_constraint %x <@mesh, [{"dp"}, {}]> : tensor<8x4xf32>
      %1 = cleave.sharding_constraint %x <@mesh, [{"dp"}, {}]>
          {cleave.sharding_rule = #cleave.sharding_rule<([i, j]) -> ([i, j]) {i=8, j=4} priority=7>}
          : tensor<8x4xf32>
      return
    })mlir");
  auto function = *module->getOps<func::FuncOp>().begin();
  auto ops = function.front().begin();
  std::optional<FactorRule> own = shardingRuleOf(&*ops), custom = shardingRuleOf(&*std::next(ops));
  ASSERT_TRUE(own && custom);
  EXPECT_EQ(own->opPriority, 1);
  EXPECT_EQ(own->factors.size(), 2u);
  EXPECT_EQ(checkRule(*own, {{8, 4}}, {{8, 4}}), "");
  EXPECT_EQ(custom->opPriority, 7);
  EXPECT_FALSE(shardingRuleOf(function.front().getTerminator()));
}

TEST_F(LayoutConversionTest, ShardOffset) {
  OwningOpRef<ModuleOp> module = makeModule(testMesh());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  Location loc = builder.getUnknownLoc();
  auto function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  FactorRule rule;
  PartitionInfo info{testMesh(), meshSym, {}, rule, {}, {}, {}};
  info.shardOffset(builder, loc, {}, 5);
  info.shardOffset(builder, loc, {testMesh().axis(1)}, 5);
  func::ReturnOp::create(builder, loc);
  EXPECT_TRUE(succeeded(verify(*module)));
  std::string text;
  llvm::raw_string_ostream stream(text);
  function.print(stream);
  EXPECT_NE(text.find("arith.constant 0 : index"), std::string::npos) << text;
  EXPECT_NE(text.find("cleave.device_coord @mesh [\"tp\"] : index"), std::string::npos) << text;
  EXPECT_NE(text.find("arith.muli %coord_tp, %c5 : index"), std::string::npos) << text;
}

} // namespace
