// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// GPT-2: layer norms with bias, learned positions, weights stored [in, out].

#include "ActivationAxes.h"
#include "GraphWriter.h"
#include "Model.h"
#include <cmath>

using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using mlir::Value;

namespace cleave {
namespace {

constexpr StringRef kFused[] = {"batch", "seq_attn", "", "kv_heads", "head_dim"};

class Gpt2Model final : public Model {
public:
  explicit Gpt2Model(Gpt2Config config) : config(std::move(config)) {}

  std::vector<Parameter> parameters() const override;
  StringRef basePrefix() const override { return "transformer."; }
  int64_t widestFeature() const override {
    return std::max({config.vocabSize, 3 * config.hiddenSize, config.intermediateSize});
  }
  int64_t headCount() const override { return config.heads; }
  std::string checkSequence(int64_t sequence) const override;
  std::string warnAboutSequence(int64_t) const override { return ""; }
  llvm::SmallVector<std::pair<StringRef, double>> dropoutRates() const override {
    return {{"embd_pdrop", config.embeddingDropout},
            {"resid_pdrop", config.residualDropout},
            {"attn_pdrop", config.attentionDropout}};
  }
  ModelSizes sizes() const override;
  bool headsFillHidden() const override { return true; }
  void writeSizes(nlohmann::json &object, const ModelSizes &sizes) const override;
  Value buildLogits(GraphWriter &graph, Value inputIds) const override;

private:
  int64_t headDim() const { return config.hiddenSize / config.heads; }
  Value buildNorm(GraphWriter &graph, StringRef name, Value x) const;
  Value buildAttention(GraphWriter &graph, Value x, int64_t layer) const;
  Value buildMlp(GraphWriter &graph, Value x) const;

  Gpt2Config config;
};

std::vector<Parameter> Gpt2Model::parameters() const {
  int64_t hidden = config.hiddenSize, mlp = config.intermediateSize;
  int64_t heads = config.heads, dim = headDim();
  ParameterList result;
  auto addNorm = [&](const Twine &name) {
    result.add(name + ".weight", {{}, {hidden}, {}, {"norm"}});
    result.add(name + ".bias", {{}, {hidden}, {}, {"norm"}});
  };

  result.add("transformer.wte.weight", {{}, {config.vocabSize, hidden}, {}, {"vocab", "embed"}});
  result.add("transformer.wpe.weight",
             {{}, {config.positions, hidden}, {}, {"positions", "embed"}});
  for (int64_t i = 0; i < config.layers; ++i) {
    std::string layer = ("transformer.h." + Twine(i) + ".").str();
    addNorm(layer + "ln_1");
    // Queries, keys and values lie side by side in the outputs.
    result.add(
        layer + "attn.c_attn.weight",
        {{}, {hidden, 3 * hidden}, {hidden, 3, heads, dim}, {"embed", "", "kv_heads", "head_dim"}});
    result.add(layer + "attn.c_attn.bias",
               {{}, {3 * hidden}, {3, heads, dim}, {"", "kv_heads", "head_dim"}});
    result.add(layer + "attn.c_proj.weight", {{},
                                              {hidden, hidden},
                                              {heads, 1, dim, hidden},
                                              {"kv_heads", "q_groups", "head_dim", "embed"}});
    result.add(layer + "attn.c_proj.bias", {{}, {hidden}, {}, {"embed"}});
    addNorm(layer + "ln_2");
    result.add(layer + "mlp.c_fc.weight", {{}, {hidden, mlp}, {}, {"embed", "mlp"}});
    result.add(layer + "mlp.c_fc.bias", {{}, {mlp}, {}, {"mlp"}});
    result.add(layer + "mlp.c_proj.weight", {{}, {mlp, hidden}, {}, {"mlp", "embed"}});
    result.add(layer + "mlp.c_proj.bias", {{}, {hidden}, {}, {"embed"}});
  }
  addNorm("transformer.ln_f");
  if (!config.tiedEmbeddings)
    result.add("lm_head.weight", {{}, {config.vocabSize, hidden}, {}, {"vocab", "embed"}});
  return result.take();
}

ModelSizes Gpt2Model::sizes() const {
  return {.vocabulary = config.vocabSize,
          .hidden = config.hiddenSize,
          .mlp = config.intermediateSize,
          .kvHeads = config.heads,
          .groups = 1,
          .headDim = headDim(),
          .positions = config.positions,
          .windows = llvm::SmallVector<int64_t>(config.layers, 0)};
}

void Gpt2Model::writeSizes(nlohmann::json &object, const ModelSizes &sizes) const {
  object["vocab_size"] = sizes.vocabulary;
  object["n_embd"] = sizes.hidden;
  object["n_inner"] = sizes.mlp;
  object["n_layer"] = sizes.windows.size();
  object["n_head"] = sizes.kvHeads;
  object["n_positions"] = sizes.positions;
}

std::string Gpt2Model::checkSequence(int64_t sequence) const {
  if (sequence <= config.positions)
    return "";
  return ("\"n_positions\": the model has " + Twine(config.positions) +
          " learned positions, and the sequence length is " + Twine(sequence) +
          "; choose a shorter one")
      .str();
}

Value Gpt2Model::buildNorm(GraphWriter &graph, StringRef name, Value x) const {
  return graph.make<graph::LayerNormOp>(name, kHidden, x, graph.parameter(name + ".weight"),
                                        graph.parameter(name + ".bias"), config.normEps);
}

Value Gpt2Model::buildAttention(GraphWriter &graph, Value x, int64_t layer) const {
  constexpr StringRef kIn = "attn.c_attn", kOut = "attn.c_proj";
  Value fused = graph.linear(kIn, kFused, x, {2}, graph.parameter(kIn + ".weight"), {0},
                             graph.parameter(kIn + ".bias"));
  auto shape = mlir::cast<mlir::RankedTensorType>(fused.getType()).getShape();
  int64_t batch = shape[0], sequence = shape[1], heads = config.heads, dim = headDim();
  auto part = [&](StringRef name, int64_t index, llvm::ArrayRef<StringRef> logical,
                  llvm::ArrayRef<int64_t> partShape) {
    Value slice = graph.make<graph::SliceOp>(name, {}, fused, int64_t(2), index, index + 1);
    return graph.make<graph::ReshapeOp>(name, logical, slice, partShape);
  };
  Value q = part("attn.q", 0, kQueries, {batch, sequence, heads, 1, dim});
  Value k = part("attn.k", 1, kKeys, {batch, sequence, heads, dim});
  Value v = part("attn.v", 2, kKeys, {batch, sequence, heads, dim});
  double scale = config.scaleByHeadDim ? 1 / std::sqrt(double(dim)) : 1;
  if (config.scaleByLayer)
    scale /= double(layer + 1);
  auto attention = graph.create<graph::AttentionOp>("attn", {}, q, k, v, scale, /*causal=*/true);
  if (graph::DropoutAttr dropout = graph.dropoutAt("attn.attn_dropout", config.attentionDropout))
    attention.setDropoutAttr(dropout);
  Value out =
      graph.linear(kOut, {}, attention.getResult(), {2, 3, 4}, graph.parameter(kOut + ".weight"),
                   {0, 1, 2}, graph.parameter(kOut + ".bias"));
  return graph.dropout("attn.resid_dropout", {}, out, config.residualDropout);
}

Value Gpt2Model::buildMlp(GraphWriter &graph, Value x) const {
  Value hidden = graph.linear("mlp.c_fc", kMlpHidden, x, {2}, graph.parameter("mlp.c_fc.weight"),
                              {0}, graph.parameter("mlp.c_fc.bias"));
  Value active = graph.activation("mlp.act", {}, config.activation, hidden);
  Value out = graph.linear("mlp.c_proj", {}, active, {2}, graph.parameter("mlp.c_proj.weight"), {0},
                           graph.parameter("mlp.c_proj.bias"));
  return graph.dropout("mlp.dropout", {}, out, config.residualDropout);
}

Value Gpt2Model::buildLogits(GraphWriter &graph, Value inputIds) const {
  auto idShape = mlir::cast<mlir::RankedTensorType>(inputIds.getType()).getShape();
  int64_t batch = idShape[0], sequence = idShape[1];
  Value embedding = graph.parameter("transformer.wte.weight");
  Value tokens = graph.make<graph::EmbeddingOp>("transformer.wte", kHidden, inputIds, embedding);
  Value positions = graph.parameter("transformer.wpe.weight");
  if (sequence < config.positions)
    positions = graph.make<graph::SliceOp>("transformer.wpe", {}, positions, int64_t(0), int64_t(0),
                                           sequence);
  positions = graph.broadcastTo("transformer.wpe", positions, {batch, sequence, config.hiddenSize});
  Value x = graph.make<graph::AddOp>("transformer.embeddings", kHidden, tokens, positions);
  x = graph.dropout("transformer.drop", kHidden, x, config.embeddingDropout);
  for (int64_t i = 0; i < config.layers; ++i) {
    GraphWriter::BlockScope scope(graph, "transformer.h." + Twine(i), "layer", i);
    Value attention = buildAttention(graph, buildNorm(graph, "ln_1", x), i);
    x = graph.make<graph::AddOp>("attn.residual", kHidden, x, attention);
    Value mlp = buildMlp(graph, buildNorm(graph, "ln_2", x));
    x = graph.make<graph::AddOp>("mlp.residual", kHidden, x, mlp);
  }
  x = buildNorm(graph, "transformer.ln_f", x);
  Value head = config.tiedEmbeddings ? embedding : graph.parameter("lm_head.weight");
  return graph.linear("lm_head", kLogits, x, {2}, head, {1}, {}, graph.builder.getF32Type());
}

} // namespace

Expected<std::unique_ptr<Model>> createGpt2(ConfigReader &reader) {
  Expected<Gpt2Config> config = readGpt2Config(reader);
  if (!config)
    return config.takeError();
  return std::make_unique<Gpt2Model>(std::move(*config));
}

} // namespace cleave
