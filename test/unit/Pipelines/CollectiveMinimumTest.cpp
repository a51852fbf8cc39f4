// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The collectives of imported models are those that the known strategies need, and no more.

#include "cleave/Dialect/Cleave/IR/Buckets.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "cleave/Pipelines/Phases.h"
#include "cleave/Pipelines/Register.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace cleave;

namespace {

/// Members of a bucket count as one, and as as many parts.
struct Counts {
  std::map<CollectiveKind, int> kinds, parts;
  double bytes = 0;
  std::string list;
  int operator[](CollectiveKind kind) const {
    auto it = kinds.find(kind);
    return it == kinds.end() ? 0 : it->second;
  }
  int total() const {
    int sum = 0;
    for (auto [kind, count] : kinds)
      sum += count;
    return sum;
  }
};

class CollectiveMinimum : public ::testing::Test {
protected:
  CollectiveMinimum() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
    static bool once = (registerAllPasses(), true);
    (void)once;
  }

  Counts compile(llvm::StringRef model, llvm::ArrayRef<Mesh::Axis> axes,
                 bool sequenceParallel = false, int64_t batch = 8, int64_t sequence = 16) {
    HuggingFaceOptions options;
    options.batch = batch;
    options.sequence = sequence;
    auto imported = importHuggingFace(std::string(CLEAVE_TEST_DATA) + "/reference/" + model.str(),
                                      options, &context);
    EXPECT_TRUE(bool(imported)) << llvm::toString(imported.takeError());
    module = std::move(imported->module);
    OpBuilder b = OpBuilder::atBlockBegin(module->getBody());
    MeshOp::create(b, module->getLoc(), "mesh", MeshAttr::get(&context, Mesh(axes)));
    PhaseOptions phases;
    phases.sequenceParallel = sequenceParallel;
    phases.last = Phase::Merge;
    PassManager pm(&context);
    EXPECT_TRUE(succeeded(buildPhases(pm, phases)));
    EXPECT_TRUE(succeeded(pm.run(*module)));
    return count();
  }

  int numLayers() {
    int64_t last = -1;
    module->walk([&](Operation *op) {
      if (auto instance = op->getAttrOfType<IntegerAttr>(CleaveDialect::kInstanceAttr))
        last = std::max(last, instance.getInt());
    });
    return last + 1;
  }

  Counts count() {
    Counts counts;
    llvm::DenseSet<Operation *> behind; // Members that are not the first of their bucket.
    module->walk([&](CollectiveOpInterface op) {
      if (op.getCollectiveKind() == CollectiveKind::AllSlice)
        return;
      const Mesh &mesh = *findMesh(op, getMeshSymbol(op));
      ShardAttr shard = getShard(op.getTensorOperand());
      auto type = cast<RankedTensorType>(op.getTensorOperand().getType());
      double bytes = ringBytes(stepOf(op, mesh), shard.getGlobalShape(),
                               type.getElementTypeBitWidth() / 8, layoutOf(shard, mesh));
      counts.kinds[op.getCollectiveKind()] += !behind.contains(op);
      ++counts.parts[op.getCollectiveKind()];
      if (CollectiveOpInterface next = nextInBucket(op))
        behind.insert(next);
      counts.bytes += bytes;
      llvm::raw_string_ostream stream(counts.list);
      stream << op->getName() << " " << bytes << " bytes of " << type << ": "
             << op->getAttr(CleaveDialect::kReasonAttr) << "\n";
    });
    return counts;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr int kLayers = 3; // of llama-gqa
constexpr llvm::StringLiteral kModels[] = {"llama-gqa", "llama-mha-tied", "qwen2", "qwen3", "gpt2"};
/// Batch and sequence, also such that gathering weights would send less than gathering activations.
constexpr std::pair<int64_t, int64_t> kSizes[] = {{8, 16}, {1, 8}, {3, 7}, {16, 64}};

// Two sums a layer, the embedding, and of the loss the maximum and the sum of exponentials of each
// token. What a token's own logit adds stays partial until it is one number.
TEST_F(CollectiveMinimum, TensorParallel) {
  for (llvm::StringRef model : kModels) {
    for (uint32_t tp : {2, 3, 5, 8}) {
      for (auto [batch, sequence] : kSizes) {
        Counts counts = compile(model, {{"tp", tp}}, false, batch, sequence);
        int expected = 2 * numLayers() + 1 + 3;
        EXPECT_EQ(counts[CollectiveKind::AllReduce], expected) << model.str() << counts.list;
        EXPECT_EQ(counts.total(), expected) << model.str() << " tp " << tp << "\n" << counts.list;
      }
    }
  }
}

// q, k and v share one gathered input, as do gate and up, and the head gathers one.
TEST_F(CollectiveMinimum, SequenceParallel) {
  for (llvm::StringRef model : kModels) {
    for (uint32_t tp : {2, 3, 5, 8}) {
      for (auto [batch, sequence] : kSizes) {
        Counts counts = compile(model, {{"tp", tp}}, /*sequenceParallel=*/true, batch, sequence);
        int half = 2 * numLayers() + 1;
        EXPECT_EQ(counts[CollectiveKind::AllGather], half) << model.str() << counts.list;
        EXPECT_EQ(counts[CollectiveKind::ReduceScatter], half) << model.str() << counts.list;
        EXPECT_EQ(counts[CollectiveKind::AllReduce], 3) << model.str() << counts.list;
        EXPECT_EQ(counts.total(), 2 * half + 3) << model.str() << " tp " << tp << "\n"
                                                << counts.list;
      }
    }
  }
}

// The sum and the count of the loss, in one.
TEST_F(CollectiveMinimum, DataParallel) {
  for (uint32_t dp : {2, 3, 8}) {
    Counts counts = compile("llama-gqa", {{"dp", dp}});
    EXPECT_EQ(counts.total(), 1) << counts.list;
    EXPECT_LE(counts.bytes, 16) << counts.list;
  }
}

// The count of labels is summed over dp, the loss over both.
TEST_F(CollectiveMinimum, DataAndTensorParallel) {
  Counts counts = compile("llama-gqa", {{"dp", 2}, {"tp", 4}});
  EXPECT_EQ(counts[CollectiveKind::AllReduce], 2 * kLayers + 1 + 4) << counts.list;
  EXPECT_EQ(counts.total(), 2 * kLayers + 1 + 4) << counts.list;
}

TEST_F(CollectiveMinimum, ShardedParametersAreGatheredOnce) {
  for (llvm::StringRef model : kModels) {
    Counts counts = compile(model, {{"fsdp", 8}});
    double parameters = 0;
    int number = 0;
    for (auto state : module->getOps<StateOp>()) {
      auto type = cast<RankedTensorType>(state.getType());
      bool sharded = llvm::any_of(state.getSharding()->getDimShardings(),
                                  [](DimShardingAttr dim) { return !dim.empty(); });
      if (!sharded)
        continue;
      parameters += 4. * type.getNumElements();
      ++number;
    }
    EXPECT_EQ(counts.parts[CollectiveKind::AllGather], number) << model.str() << "\n"
                                                               << counts.list;
    // All parameters of a layer of these small models are one; outside there are at most three.
    EXPECT_LE(counts[CollectiveKind::AllGather], numLayers() + 3) << counts.list;
    EXPECT_EQ(counts.total(), counts[CollectiveKind::AllGather] + 1) << counts.list;
    EXPECT_NEAR(counts.bytes, 7. / 8 * parameters, 16) << model.str() << "\n" << counts.list;
  }
}

} // namespace
