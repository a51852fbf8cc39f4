// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// LLaMA and its kin: RMS norms before attention and MLP, rotary positions, grouped key-value heads,
// a gated MLP.

#include "ActivationAxes.h"
#include "GraphWriter.h"
#include "Model.h"
#include <cmath>

using llvm::ArrayRef;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using mlir::Value;

namespace cleave {
namespace {

class DecoderModel final : public Model {
public:
  DecoderModel(DecoderConfig config, DecoderTraits::Windows windows)
      : config(std::move(config)), windowsKind(windows) {}

  std::vector<Parameter> parameters() const override;
  StringRef basePrefix() const override { return "model."; }
  int64_t widestFeature() const override {
    return std::max({config.vocabSize, config.hiddenSize, config.intermediateSize,
                     config.heads * config.headDim});
  }
  int64_t headCount() const override { return config.heads; }
  std::string checkSequence(int64_t) const override { return ""; }
  std::string warnAboutSequence(int64_t sequence) const override;
  llvm::SmallVector<std::pair<StringRef, double>> dropoutRates() const override {
    return {{"attention_dropout", config.attentionDropout}};
  }
  ModelSizes sizes() const override;
  void writeSizes(nlohmann::json &object, const ModelSizes &sizes) const override;
  Value buildLogits(GraphWriter &graph, Value inputIds) const override;

private:
  struct Rotation {
    Value cos, sin;
  };

  int64_t groups() const { return config.heads / config.kvHeads; }
  Value buildAttention(GraphWriter &graph, Value x, Rotation rotation, int64_t layer) const;
  Value buildMlp(GraphWriter &graph, Value x) const;
  Rotation buildRotation(GraphWriter &graph, int64_t sequence) const;

  DecoderConfig config;
  DecoderTraits::Windows windowsKind;
};

std::vector<Parameter> DecoderModel::parameters() const {
  int64_t hidden = config.hiddenSize, mlp = config.intermediateSize;
  int64_t kv = config.kvHeads, dim = config.headDim, g = groups();
  int64_t queries = config.heads * dim, keys = kv * dim;
  ParameterList result;

  result.add("model.embed_tokens.weight", {{}, {config.vocabSize, hidden}, {}, {"vocab", "embed"}});
  for (int64_t i = 0; i < config.layers; ++i) {
    std::string layer = ("model.layers." + Twine(i) + ".").str();
    result.add(layer + "self_attn.q_proj.weight", {{},
                                                   {queries, hidden},
                                                   {kv, g, dim, hidden},
                                                   {"kv_heads", "q_groups", "head_dim", "embed"}});
    if (config.qkvBias)
      result.add(layer + "self_attn.q_proj.bias",
                 {{}, {queries}, {kv, g, dim}, {"kv_heads", "q_groups", "head_dim"}});
    for (StringRef name : {"self_attn.k_proj", "self_attn.v_proj"}) {
      result.add(layer + name + ".weight",
                 {{}, {keys, hidden}, {kv, dim, hidden}, {"kv_heads", "head_dim", "embed"}});
      if (config.qkvBias)
        result.add(layer + name + ".bias", {{}, {keys}, {kv, dim}, {"kv_heads", "head_dim"}});
    }
    result.add(layer + "self_attn.o_proj.weight", {{},
                                                   {hidden, queries},
                                                   {hidden, kv, g, dim},
                                                   {"embed", "kv_heads", "q_groups", "head_dim"}});
    if (config.outputBias)
      result.add(layer + "self_attn.o_proj.bias", {{}, {hidden}, {}, {"embed"}});
    if (config.qkNorm)
      for (StringRef name : {"self_attn.q_norm.weight", "self_attn.k_norm.weight"})
        result.add(layer + name, {{}, {dim}, {}, {"norm"}});
    for (StringRef name : {"mlp.gate_proj", "mlp.up_proj"}) {
      result.add(layer + name + ".weight", {{}, {mlp, hidden}, {}, {"mlp", "embed"}});
      if (config.mlpBias)
        result.add(layer + name + ".bias", {{}, {mlp}, {}, {"mlp"}});
    }
    result.add(layer + "mlp.down_proj.weight", {{}, {hidden, mlp}, {}, {"embed", "mlp"}});
    if (config.mlpBias)
      result.add(layer + "mlp.down_proj.bias", {{}, {hidden}, {}, {"embed"}});
    for (StringRef name : {"input_layernorm.weight", "post_attention_layernorm.weight"})
      result.add(layer + name, {{}, {hidden}, {}, {"norm"}});
  }
  result.add("model.norm.weight", {{}, {hidden}, {}, {"norm"}});
  if (!config.tiedEmbeddings)
    result.add("lm_head.weight", {{}, {config.vocabSize, hidden}, {}, {"vocab", "embed"}});
  return result.take();
}

std::string DecoderModel::warnAboutSequence(int64_t sequence) const {
  if (!config.maxPositions || sequence <= *config.maxPositions)
    return "";
  return ("the sequence length " + Twine(sequence) + " is above max_position_embeddings, " +
          Twine(*config.maxPositions) + ": the model was not trained for it")
      .str();
}

ModelSizes DecoderModel::sizes() const {
  return {.vocabulary = config.vocabSize,
          .hidden = config.hiddenSize,
          .mlp = config.intermediateSize,
          .kvHeads = config.kvHeads,
          .groups = groups(),
          .headDim = config.headDim,
          .windows = config.windows};
}

void DecoderModel::writeSizes(nlohmann::json &object, const ModelSizes &sizes) const {
  object["vocab_size"] = sizes.vocabulary;
  object["hidden_size"] = sizes.hidden;
  object["intermediate_size"] = sizes.mlp;
  object["num_hidden_layers"] = sizes.windows.size();
  object["num_attention_heads"] = sizes.kvHeads * sizes.groups;
  object["num_key_value_heads"] = sizes.kvHeads;
  object["head_dim"] = sizes.headDim;
  object.erase("layer_types");
  if (windowsKind == DecoderTraits::Windows::ByLayer)
    for (int64_t window : sizes.windows)
      object["layer_types"].push_back(window ? "sliding_attention" : "full_attention");
  // All windows of a model are equal.
  for (int64_t window : sizes.windows)
    if (window)
      object["sliding_window"] = window;
}

DecoderModel::Rotation DecoderModel::buildRotation(GraphWriter &graph, int64_t sequence) const {
  const RopeConfig &rope = config.rope;
  mlir::MLIRContext *context = graph.builder.getContext();
  graph::RopeScalingAttr scaling;
  if (rope.scaling == RopeConfig::Scaling::Linear)
    scaling = graph::RopeScalingAttr::get(context, rope.factor);
  else if (rope.scaling == RopeConfig::Scaling::Llama3)
    scaling = graph::RopeScalingAttr::get(context, rope.factor, rope.lowFreqFactor,
                                          rope.highFreqFactor, rope.originalMaxPositions);
  auto type = mlir::RankedTensorType::get({sequence}, graph.builder.getI64Type());
  Value positions = graph.make<graph::IotaOp>("model.rotary_emb.positions", {}, type, int64_t(0));
  auto table = graph.create<graph::RopeTableOp>("model.rotary_emb", {}, positions, rope.rotaryDim,
                                                rope.theta, scaling);
  return {table.getCos(), table.getSin()};
}

Value DecoderModel::buildAttention(GraphWriter &graph, Value x, Rotation rotation,
                                   int64_t layer) const {
  auto weight = [&](StringRef name) { return graph.parameter(name + ".weight"); };
  auto bias = [&](StringRef name, bool present) {
    return present ? graph.parameter(name + ".bias") : Value();
  };
  constexpr StringRef kQ = "self_attn.q_proj", kK = "self_attn.k_proj", kV = "self_attn.v_proj",
                      kO = "self_attn.o_proj";
  Value q = graph.linear(kQ, kQueries, x, {2}, weight(kQ), {3}, bias(kQ, config.qkvBias));
  Value k = graph.linear(kK, kKeys, x, {2}, weight(kK), {2}, bias(kK, config.qkvBias));
  Value v = graph.linear(kV, kKeys, x, {2}, weight(kV), {2}, bias(kV, config.qkvBias));
  if (config.qkNorm) {
    q = graph.make<graph::RmsNormOp>("self_attn.q_norm", {}, q, weight("self_attn.q_norm"),
                                     config.normEps);
    k = graph.make<graph::RmsNormOp>("self_attn.k_norm", {}, k, weight("self_attn.k_norm"),
                                     config.normEps);
  }
  q = graph.make<graph::RopeOp>("self_attn.q_rope", {}, q, rotation.cos, rotation.sin);
  k = graph.make<graph::RopeOp>("self_attn.k_rope", {}, k, rotation.cos, rotation.sin);

  // A window that no pair of positions exceeds says nothing.
  int64_t sequence = mlir::cast<mlir::RankedTensorType>(k.getType()).getDimSize(1);
  std::optional<int64_t> window;
  if (config.windows[layer] && config.windows[layer] < sequence)
    window = config.windows[layer];
  double scale = 1 / std::sqrt(double(config.headDim));
  auto attention =
      graph.create<graph::AttentionOp>("self_attn", {}, q, k, v, scale, /*causal=*/true, window);
  if (graph::DropoutAttr dropout = graph.dropoutAt("self_attn.dropout", config.attentionDropout))
    attention.setDropoutAttr(dropout);
  return graph.linear(kO, {}, attention.getResult(), {2, 3, 4}, weight(kO), {1, 2, 3},
                      bias(kO, config.outputBias));
}

Value DecoderModel::buildMlp(GraphWriter &graph, Value x) const {
  auto project = [&](StringRef name, ArrayRef<StringRef> logical, Value operand) {
    Value bias = config.mlpBias ? graph.parameter(name + ".bias") : Value();
    return graph.linear(name, logical, operand, {2}, graph.parameter(name + ".weight"), {1}, bias);
  };
  Value gate = project("mlp.gate_proj", kMlpHidden, x);
  Value up = project("mlp.up_proj", kMlpHidden, x);
  Value active = graph.activation("mlp.act_fn", {}, config.activation, gate);
  Value product = graph.make<graph::MultiplyOp>("mlp.gate", {}, active, up);
  return project("mlp.down_proj", {}, product);
}

Value DecoderModel::buildLogits(GraphWriter &graph, Value inputIds) const {
  int64_t sequence = mlir::cast<mlir::RankedTensorType>(inputIds.getType()).getDimSize(1);
  auto norm = [&](StringRef name, Value x) {
    return graph.make<graph::RmsNormOp>(name, kHidden, x, graph.parameter(name + ".weight"),
                                        config.normEps);
  };
  Value embedding = graph.parameter("model.embed_tokens.weight");
  Value x = graph.make<graph::EmbeddingOp>("model.embed_tokens", kHidden, inputIds, embedding);
  Rotation rotation = buildRotation(graph, sequence);
  for (int64_t i = 0; i < config.layers; ++i) {
    GraphWriter::BlockScope scope(graph, "model.layers." + Twine(i), "layer", i);
    Value attention = buildAttention(graph, norm("input_layernorm", x), rotation, i);
    x = graph.make<graph::AddOp>("self_attn.residual", kHidden, x, attention);
    Value mlp = buildMlp(graph, norm("post_attention_layernorm", x));
    x = graph.make<graph::AddOp>("mlp.residual", kHidden, x, mlp);
  }
  x = norm("model.norm", x);
  Value head = config.tiedEmbeddings ? embedding : graph.parameter("lm_head.weight");
  return graph.linear("lm_head", kLogits, x, {2}, head, {1}, {}, graph.builder.getF32Type());
}

Expected<std::unique_ptr<Model>> create(ConfigReader &reader, const DecoderTraits &traits) {
  Expected<DecoderConfig> config = readDecoderConfig(reader, traits);
  if (!config)
    return config.takeError();
  return std::make_unique<DecoderModel>(std::move(*config), traits.windows);
}

} // namespace

Expected<std::unique_ptr<Model>> createLlama(ConfigReader &reader) {
  return create(reader, {.architecture = "LlamaForCausalLM",
                         .readsAttentionBias = true,
                         .readsMlpBias = true,
                         .kvHeadsDefault = true});
}

Expected<std::unique_ptr<Model>> createMistral(ConfigReader &reader) {
  return create(
      reader, {.architecture = "MistralForCausalLM", .windows = DecoderTraits::Windows::AllLayers});
}

Expected<std::unique_ptr<Model>> createQwen2(ConfigReader &reader) {
  return create(reader, {.architecture = "Qwen2ForCausalLM",
                         .alwaysQkvBias = true,
                         .windows = DecoderTraits::Windows::ByLayer});
}

Expected<std::unique_ptr<Model>> createQwen3(ConfigReader &reader) {
  return create(reader, {.architecture = "Qwen3ForCausalLM",
                         .readsAttentionBias = true,
                         .qkNorm = true,
                         .headDimDefault = 128,
                         .windows = DecoderTraits::Windows::ByLayer});
}

} // namespace cleave
