// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Defaults of absent keys are those of the model's configuration class in transformers, where they
// cannot be wrong for a published model; other keys are required.

#include "cleave/Import/HuggingFace/Config.h"
#include "llvm/ADT/STLExtras.h"

using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace cleave {
namespace {

/// Layers are unrolled; a number beyond this is a mistake.
constexpr int64_t kMaxLayers = 10'000;
constexpr double kDefaultTheta = 10000;
constexpr double kGpt2Dropout = 0.1;
constexpr int64_t kDefaultWindow = 4096;
constexpr int64_t kDefaultMaxWindowLayers = 28;

struct RefusedKey {
  StringRef key, harmless, why;
};

/// Keys that would change the result and that no importer here follows.
constexpr RefusedKey kRefused[] = {
    {"quantization_config", "null",
     "Cleave does not run quantized weights: use the full-precision model"},
    {"pretraining_tp", "1",
     "Cleave does not imitate the sliced products of pretraining: set it to 1"},
    {"add_cross_attention", "false", "Cleave does not run cross-attention"},
    {"cross_attention_hidden_size", "null", "Cleave does not run cross-attention"},
    {"is_encoder_decoder", "false", "Cleave runs decoders only"},
    {"is_causal", "true", "Cleave runs causal decoders only"},
    {"use_bidirectional_attention", "false", "Cleave runs causal decoders only"},
    {"pruned_heads", "{}", "Cleave does not prune heads"},
    {"attn_logit_softcapping", "null", "this model_type has no soft-capping"},
    {"final_logit_softcapping", "null", "this model_type has no soft-capping"},
    {"use_mrope", "false", "Cleave does not run multimodal rotary positions"},
    {"num_experts", "null", "this model_type has no experts"},
    {"num_local_experts", "null", "this model_type has no experts"},
    {"vision_config", "null", "Cleave runs text decoders only"},
};

/// Keys that do not change what is computed here: metadata, initialisation, dropout of other model
/// types and heads, generation defaults.
constexpr StringRef kIgnored[] = {
    "architectures",
    "model_type",
    "torch_dtype",
    "dtype",
    "transformers_version",
    "_name_or_path",
    "use_cache",
    "initializer_range",
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "unk_token_id",
    "sep_token_id",
    "attention_dropout",
    "attn_pdrop",
    "embd_pdrop",
    "resid_pdrop",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "task_specific_params",
    "n_ctx",
    "reorder_and_upcast_attn",
    "id2label",
    "label2id",
    "return_dict",
    "output_attentions",
    "output_hidden_states",
    "is_decoder",
    "_attn_implementation",
    "chunk_size_feed_forward",
    "problem_type",
    "finetuning_task",
    "gradient_checkpointing",
    "max_sequence_length",
};

/// The keys that all architectures treat alike. Called last, when the others are marked as used.
void readCommonKeys(ConfigReader &reader, StringRef architecture) {
  for (const RefusedKey &refused : kRefused)
    reader.refuseUnless(refused.key, refused.harmless, refused.why);
  auto architectures = reader.optionalTexts("architectures");
  if (architectures && !architectures->empty() && !llvm::is_contained(*architectures, architecture))
    reader.fault("architectures", "[\"" + architecture + "\"]",
                 "Cleave imports the language model of this model_type, with its head");
  for (StringRef key : kIgnored)
    reader.ignore(key);
  for (const std::string &key : reader.unusedKeys())
    reader.warn("\"" + key +
                "\" is not a key that Cleave knows for this model_type; it is ignored");
}

Activation readActivation(ConfigReader &reader, StringRef key) {
  static constexpr std::pair<StringRef, Activation> kNames[] = {
      {"silu", Activation::Silu},          {"swish", Activation::Silu},
      {"gelu", Activation::Gelu},          {"gelu_python", Activation::Gelu},
      {"gelu_new", Activation::GeluTanh},  {"gelu_pytorch_tanh", Activation::GeluTanh},
      {"gelu_fast", Activation::GeluTanh}, {"relu", Activation::Relu}};
  std::string name = reader.text(key);
  for (const auto &[known, activation] : kNames)
    if (known == name)
      return activation;
  reader.fault(key, "silu, gelu, gelu_new, gelu_pytorch_tanh or relu",
               "Cleave has no other activation");
  return Activation::Silu;
}

int64_t readLayers(ConfigReader &reader, StringRef key) {
  int64_t layers = reader.size(key);
  if (layers > kMaxLayers)
    reader.fault(key, "at most " + Twine(kMaxLayers) + " layers", "correct the value");
  return reader.failed() ? 1 : layers;
}

//===----------------------------------------------------------------------===//
// Rotary positions
//===----------------------------------------------------------------------===//

/// Reads `rope_scaling` (an object beside `rope_theta`) or `rope_parameters` (an object with it).
void readRopeScaling(ConfigReader &object, RopeConfig &rope) {
  // Older files say "type".
  StringRef typeKey = object.has("rope_type") || !object.has("type") ? "rope_type" : "type";
  std::string type = object.optionalText(typeKey).value_or("default");
  if (type == "linear") {
    rope.scaling = RopeConfig::Scaling::Linear;
    rope.factor = object.positive("factor");
  } else if (type == "llama3") {
    rope.scaling = RopeConfig::Scaling::Llama3;
    rope.factor = object.positive("factor");
    rope.lowFreqFactor = object.positive("low_freq_factor");
    rope.highFreqFactor = object.positive("high_freq_factor");
    rope.originalMaxPositions = object.size("original_max_position_embeddings");
    if (rope.lowFreqFactor >= rope.highFreqFactor)
      object.fault("high_freq_factor", "a number above low_freq_factor", "correct one of the two");
  } else if (type != "default") {
    object.fault(typeKey, "\"default\", \"linear\" or \"llama3\"",
                 "Cleave has no other scaling of rotary positions");
  }
}

/// transformers follows this key for other model types only; here it would either be ignored or
/// fail.
void refusePartialRotation(ConfigReader &reader) {
  reader.refuseUnless("partial_rotary_factor", "1.0",
                      "heads of this model_type are rotated whole: remove the key");
}

RopeConfig readRope(ConfigReader &reader, int64_t headDim) {
  RopeConfig rope;
  rope.theta = reader.positiveOr("rope_theta", kDefaultTheta);
  rope.rotaryDim = headDim;
  if (headDim % 2 != 0)
    reader.fault("head_dim", "an even number of entries a head, not " + Twine(headDim),
                 "correct the value, or hidden_size and the number of heads");
  refusePartialRotation(reader);
  if (std::optional<ConfigReader> scaling = reader.optionalObject("rope_scaling")) {
    // Without a type the file asks for something that we cannot name.
    if (!scaling->has("type"))
      scaling->text("rope_type");
    readRopeScaling(*scaling, rope);
    refusePartialRotation(*scaling);
  }
  if (std::optional<ConfigReader> object = reader.optionalObject("rope_parameters")) {
    RopeConfig whole;
    whole.rotaryDim = headDim;
    whole.theta = object->positiveOr("rope_theta", rope.theta);
    readRopeScaling(*object, whole);
    refusePartialRotation(*object);
    if ((reader.has("rope_theta") && whole.theta != rope.theta) ||
        (reader.has("rope_scaling") && !(whole == rope)))
      reader.fault("rope_parameters", "the values of rope_theta and rope_scaling in the same file",
                   "keep one spelling");
    rope = whole;
    for (StringRef key : {"full_attention", "sliding_attention"})
      object->refuseUnless(key, "null", "Cleave has one rotation for all layers");
  }
  // Some files repeat this key outside; there it would take precedence in transformers.
  StringRef outside = "original_max_position_embeddings";
  std::optional<int64_t> maxPositions = reader.optionalSize(outside);
  if (maxPositions && rope.scaling == RopeConfig::Scaling::Llama3 &&
      *maxPositions != rope.originalMaxPositions)
    reader.fault(outside,
                 "the value inside the rotary settings, " + Twine(rope.originalMaxPositions),
                 "keep one of the two");
  return rope;
}

//===----------------------------------------------------------------------===//
// Sliding windows
//===----------------------------------------------------------------------===//

/// `layer_types` as one flag a layer (true: sliding); nothing if absent.
std::optional<llvm::SmallVector<bool>> readLayerTypes(ConfigReader &reader, int64_t layers) {
  auto types = reader.optionalTexts("layer_types");
  if (!types)
    return std::nullopt;
  if (int64_t(types->size()) != layers)
    reader.fault("layer_types", "one entry for each of " + Twine(layers) + " layers",
                 "correct it or num_hidden_layers");
  llvm::SmallVector<bool> sliding;
  for (const std::string &type : *types) {
    sliding.push_back(type == "sliding_attention");
    if (type != "sliding_attention" && type != "full_attention")
      reader.fault("layer_types",
                   "\"full_attention\" or \"sliding_attention\" only, not \"" + type + "\"",
                   "Cleave has no other attention for this model_type");
  }
  return sliding;
}

/// An absent key means transformers' default, null means none.
std::optional<int64_t> readWindow(ConfigReader &reader) {
  return reader.isPresent("sliding_window") ? reader.optionalSize("sliding_window")
                                            : kDefaultWindow;
}

llvm::SmallVector<int64_t> readWindows(ConfigReader &reader, DecoderTraits::Windows kind,
                                       int64_t layers) {
  using Windows = DecoderTraits::Windows;
  llvm::SmallVector<int64_t> windows(layers, 0);
  auto types = readLayerTypes(reader, layers);
  if (reader.failed())
    return windows;
  if (kind == Windows::ByLayer) {
    bool enabled = reader.flagOr("use_sliding_window", false);
    int64_t first = reader.countOr("max_window_layers", kDefaultMaxWindowLayers);
    std::optional<int64_t> window = readWindow(reader);
    bool anySliding = types && llvm::is_contained(*types, true);
    if (anySliding && !(enabled && window)) {
      reader.fault(window ? "use_sliding_window" : "sliding_window",
                   window ? "true" : "a window, with use_sliding_window true",
                   "layer_types asks for sliding attention");
      return windows;
    }
    if (enabled && window)
      for (int64_t i = 0; i < layers; ++i)
        windows[i] = (types ? (*types)[i] : i >= first) ? *window : 0;
    return windows;
  }

  int64_t window = 0;
  if (kind == Windows::AllLayers)
    window = readWindow(reader).value_or(0);
  else
    reader.refuseUnless("sliding_window", "null", "this model_type has no sliding window");
  windows.assign(layers, window);
  if (types && llvm::is_contained(*types, window == 0))
    reader.fault("layer_types",
                 window ? "\"sliding_attention\" for every layer, as sliding_window is set"
                        : "\"full_attention\" for every layer, as sliding_window is not set",
                 "this model_type does not mix the two");
  return windows;
}

} // namespace

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

Expected<DecoderConfig> readDecoderConfig(ConfigReader &reader, const DecoderTraits &traits) {
  DecoderConfig config;
  config.vocabSize = reader.size("vocab_size");
  config.hiddenSize = reader.size("hidden_size");
  config.intermediateSize = reader.size("intermediate_size");
  config.layers = readLayers(reader, "num_hidden_layers");
  config.heads = reader.size("num_attention_heads");
  // null has the meaning of its own that absence has for LLaMA.
  config.kvHeads = traits.kvHeadsDefault || reader.isPresent("num_key_value_heads")
                       ? reader.sizeOr("num_key_value_heads", config.heads)
                       : reader.size("num_key_value_heads");
  if (config.heads % config.kvHeads != 0)
    reader.fault("num_key_value_heads",
                 "a divisor of num_attention_heads (" + Twine(config.heads) + ")",
                 "correct one of the two");
  if (auto headDim = reader.optionalSize("head_dim"))
    config.headDim = *headDim;
  else if (traits.headDimDefault)
    config.headDim = traits.headDimDefault;
  else if (config.hiddenSize % config.heads != 0)
    reader.fault("num_attention_heads",
                 "a divisor of hidden_size (" + Twine(config.hiddenSize) + ")",
                 "correct one of the two or give head_dim");
  else
    config.headDim = config.hiddenSize / config.heads;
  config.maxPositions = reader.optionalSize("max_position_embeddings");
  config.normEps = reader.positive("rms_norm_eps");
  config.activation = readActivation(reader, "hidden_act");
  config.tiedEmbeddings = reader.flagOr("tie_word_embeddings", false);
  config.attentionDropout = reader.chanceOr("attention_dropout", 0);
  config.qkNorm = traits.qkNorm;
  config.qkvBias = traits.alwaysQkvBias;
  if (traits.readsAttentionBias)
    config.qkvBias = config.outputBias = reader.flagOr("attention_bias", false);
  else
    reader.refuseUnless("attention_bias", traits.alwaysQkvBias ? "true" : "false",
                        "this model_type does not read the key");
  if (traits.readsMlpBias)
    config.mlpBias = reader.flagOr("mlp_bias", false);
  else
    reader.refuseUnless("mlp_bias", "false", "this model_type has no biases in its MLP");
  config.rope = readRope(reader, config.headDim);
  config.windows = readWindows(reader, traits.windows, config.layers);
  readCommonKeys(reader, traits.architecture);
  if (llvm::Error error = reader.takeFault())
    return std::move(error);
  return config;
}

Expected<Gpt2Config> readGpt2Config(ConfigReader &reader) {
  Gpt2Config config;
  config.vocabSize = reader.size("vocab_size");
  config.hiddenSize = reader.size("n_embd");
  config.layers = readLayers(reader, "n_layer");
  config.heads = reader.size("n_head");
  config.positions = reader.size("n_positions");
  if (config.hiddenSize % config.heads != 0)
    reader.fault("n_head", "a divisor of n_embd (" + Twine(config.hiddenSize) + ")",
                 "correct one of the two");
  config.intermediateSize = reader.sizeOr("n_inner", 4 * config.hiddenSize);
  config.normEps = reader.positive("layer_norm_epsilon");
  config.activation = readActivation(reader, "activation_function");
  config.tiedEmbeddings = reader.flagOr("tie_word_embeddings", true);
  config.embeddingDropout = reader.chanceOr("embd_pdrop", kGpt2Dropout);
  config.residualDropout = reader.chanceOr("resid_pdrop", kGpt2Dropout);
  config.attentionDropout = reader.chanceOr("attn_pdrop", kGpt2Dropout);
  config.scaleByHeadDim = reader.flagOr("scale_attn_weights", true);
  config.scaleByLayer = reader.flagOr("scale_attn_by_inverse_layer_idx", false);
  readCommonKeys(reader, "GPT2LMHeadModel");
  if (llvm::Error error = reader.takeFault())
    return std::move(error);
  return config;
}

} // namespace cleave
