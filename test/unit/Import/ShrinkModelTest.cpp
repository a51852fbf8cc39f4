// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Import/HuggingFace/ShrinkModel.h"
#include "../Layout/Seed.h"
#include "cleave/Layout/ShardClass.h"
#include "llvm/Support/FormatVariadic.h"
#include "gmock/gmock.h"

using namespace cleave;
using testing::ElementsAre;

namespace {

std::string llama(int64_t layers, int64_t hidden, int64_t mlp, int64_t vocabulary, int64_t kvHeads,
                  int64_t groups, int64_t headDim) {
  return llvm::formatv(R"({{"model_type": "llama", "num_hidden_layers": {0}, "hidden_size": {1},
    "intermediate_size": {2}, "vocab_size": {3}, "num_key_value_heads": {4},
    "num_attention_heads": {5}, "head_dim": {6}, "rms_norm_eps": 1e-5, "hidden_act": "silu"})",
                       layers, hidden, mlp, vocabulary, kvHeads, kvHeads * groups, headDim)
      .str();
}

std::string gpt2(int64_t layers, int64_t heads, int64_t headDim, int64_t mlp, int64_t positions) {
  return llvm::formatv(R"({{"model_type": "gpt2", "n_layer": {0}, "n_embd": {1}, "n_head": {2},
    "n_inner": {3}, "n_positions": {4}, "vocab_size": 50257, "layer_norm_epsilon": 1e-5,
    "activation_function": "gelu_new"})",
                       layers, heads * headDim, heads, mlp, positions)
      .str();
}

ShrunkModel shrink(const std::string &config, const ShrinkRequest &request) {
  llvm::Expected<ShrunkModel> model = shrinkModel(config, "config.json", request);
  if (!model) {
    ADD_FAILURE() << llvm::toString(model.takeError());
    return {};
  }
  // The text says what the sizes say.
  llvm::Expected<ModelSizes> sizes = modelSizes(model->config, "twin");
  if (!sizes)
    ADD_FAILURE() << llvm::toString(sizes.takeError());
  else
    EXPECT_EQ(*sizes, model->sizes);
  return *model;
}

TEST(ShrinkModel, PublishedShape) {
  llvm::SmallVector<int64_t> counts = divisorsOf({8});
  ShrunkModel twin = shrink(llama(32, 4096, 14336, 128256, 8, 4, 128),
                            {.batch = 8, .sequence = 2048, .counts = counts});
  EXPECT_EQ(twin.sizes.layers(), 3);
  EXPECT_EQ(twin.sizes.hidden, 16);
  EXPECT_EQ(twin.sizes.mlp, 24); // Stays above hidden.
  EXPECT_EQ(twin.sizes.vocabulary, 32);
  EXPECT_EQ(twin.sizes.kvHeads, 8);
  EXPECT_EQ(twin.sizes.groups, 4);
  EXPECT_EQ(twin.sizes.headDim, 16);
  EXPECT_EQ(twin.batch, 8);
  EXPECT_EQ(twin.sequence, 16);
  EXPECT_EQ(twin.layerOf.size(), 32u);
  EXPECT_EQ(twin.layerOf.front(), 0);
  EXPECT_EQ(twin.layerOf[1], 1);
  EXPECT_EQ(twin.layerOf[30], 1);
  EXPECT_EQ(twin.layerOf.back(), 2);
}

TEST(ShrinkModel, RatioOfTokensToWidths) {
  llvm::SmallVector<int64_t> counts = divisorsOf({2, 4});
  ShrunkModel twin =
      shrink(llama(32, 4096, 14336, 128256, 8, 4, 128),
             {.batch = 8, .sequence = 2048, .counts = counts, .divisor = 64, .keepLayers = true});
  EXPECT_EQ(twin.sizes.hidden, 64);
  EXPECT_EQ(twin.sizes.mlp, 224);
  EXPECT_EQ(twin.batch, 8);
  EXPECT_EQ(twin.sequence, 32); // 8 x 2048 tokens for 4096 are 256 for 64.
  EXPECT_EQ(twin.sizes.layers(), 32);
  EXPECT_EQ(twin.layerOf[17], 17);
}

TEST(ShrinkModel, KindsOfLayersStay) {
  std::string qwen = R"({"model_type": "qwen2", "num_hidden_layers": 6, "hidden_size": 64,
    "intermediate_size": 96, "vocab_size": 211, "num_key_value_heads": 2,
    "num_attention_heads": 4, "rms_norm_eps": 1e-6, "hidden_act": "silu",
    "use_sliding_window": true, "sliding_window": 16, "layer_types": ["full_attention",
    "full_attention", "sliding_attention", "full_attention", "sliding_attention",
    "full_attention"]})";
  llvm::SmallVector<int64_t> counts = divisorsOf({3});
  ShrunkModel twin = shrink(qwen, {.batch = 4, .sequence = 64, .counts = counts});
  EXPECT_EQ(twin.sequence, 5); // 22, 22, 20 of 64; 2, 2, 1 of 5.
  EXPECT_THAT(twin.sizes.windows, ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(twin.layerOf, ElementsAre(0, 1, 2, 1, 2, 3));
  // A window that no pair exceeds stays one.
  twin = shrink(qwen, {.batch = 4, .sequence = 16, .counts = counts});
  EXPECT_THAT(twin.sizes.windows, ElementsAre(0, 0, 16, 0));
}

TEST(ShrinkModel, PositionsStayAboveOrAtTheSequence) {
  llvm::SmallVector<int64_t> counts = divisorsOf({8});
  ShrunkModel twin = shrink(gpt2(2, 12, 64, 3072, 1024), {.sequence = 1024, .counts = counts});
  EXPECT_EQ(twin.sizes.positions, twin.sequence);
  EXPECT_EQ(twin.sizes.layers(), 2);
  twin = shrink(gpt2(2, 12, 64, 3072, 1024), {.sequence = 512, .counts = counts});
  EXPECT_GT(twin.sizes.positions, twin.sequence);
}

TEST(ShrinkModel, RandomModelsKeepTheirClasses) {
  uint32_t seed = test::seedFromEnvironment();
  std::mt19937 random(seed);
  auto draw = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(test::replayText(seed, round));
    llvm::SmallVector<int64_t> counts = divisorsOf({draw(1, 8), draw(1, 8)});
    int64_t heads = draw(1, 12), dim = 2 * draw(1, 64), sequence = draw(1, 300);
    bool fills = draw(0, 1);
    std::string config =
        fills ? gpt2(draw(1, 5), heads, dim, draw(1, 3000), sequence + draw(0, 1) * draw(0, 500))
              : llama(draw(1, 9), draw(1, 2000), draw(1, 3000), draw(1, 9000), heads, draw(1, 9),
                      dim);
    ShrinkRequest request{.batch = draw(1, 64),
                          .sequence = sequence,
                          .counts = counts,
                          .divisor = draw(0, 1) * draw(1, 64),
                          .keepLayers = draw(0, 1) == 1};
    ShrunkModel twin = shrink(config, request);
    llvm::Expected<ModelSizes> from = modelSizes(config, "config.json");
    ASSERT_TRUE(bool(from));
    const ModelSizes &to = twin.sizes;
    std::pair<int64_t, int64_t> pairs[] = {
        {from->vocabulary, to.vocabulary},
        {from->hidden, to.hidden},
        {from->mlp, to.mlp},
        {from->kvHeads, to.kvHeads},
        {from->groups, to.groups},
        {from->headDim, to.headDim},
        {request.batch, twin.batch},
        {sequence, twin.sequence},
        {from->kvHeads * from->headDim * from->groups, to.kvHeads * to.headDim * to.groups}};
    for (size_t i = 0; i + 1 < std::size(pairs); ++i) {
      EXPECT_LE(pairs[i].second, pairs[i].first) << i;
      EXPECT_TRUE(haveSameClasses(pairs[i].second, pairs[i].first, counts)) << i;
    }
    EXPECT_EQ(from->headDim % 2, to.headDim % 2);
    EXPECT_EQ(from->hidden < from->mlp, to.hidden < to.mlp);
    EXPECT_EQ(from->mlp < from->vocabulary, to.mlp < to.vocabulary);
    EXPECT_GE(to.layers(), std::min<int64_t>(2, from->layers()));
    EXPECT_EQ(int64_t(twin.layerOf.size()), from->layers());
    if (fills) {
      EXPECT_EQ(to.hidden, to.kvHeads * to.headDim);
      EXPECT_TRUE(from->positions == sequence ? to.positions == twin.sequence
                                              : to.positions > twin.sequence);
    }
  }
}

} // namespace
