// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the architectures that Cleave knows say about themselves in config.json.
#ifndef CLEAVE_IMPORT_HUGGINGFACE_CONFIG_H
#define CLEAVE_IMPORT_HUGGINGFACE_CONFIG_H

#include "cleave/Import/HuggingFace/ConfigReader.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace cleave {

enum class Activation : uint8_t { Silu, Gelu, GeluTanh, Relu };

/// Rotary position embedding.
struct RopeConfig {
  enum class Scaling : uint8_t { None, Linear, Llama3 };

  double theta = 10000;
  int64_t rotaryDim = 0; ///< leading entries of a head that are rotated; even
  Scaling scaling = Scaling::None;
  double factor = 1;        ///< linear and llama3
  double lowFreqFactor = 0; ///< llama3
  double highFreqFactor = 0;
  int64_t originalMaxPositions = 0;

  bool operator==(const RopeConfig &) const = default;
};

/// Decoders with RMS norms, rotary positions and a gated MLP: LLaMA and its kin.
struct DecoderConfig {
  int64_t vocabSize = 0, hiddenSize = 0, intermediateSize = 0, layers = 0;
  int64_t heads = 0, kvHeads = 0, headDim = 0; ///< kvHeads divides heads
  std::optional<int64_t> maxPositions;
  double normEps = 0;
  Activation activation = Activation::Silu;
  bool tiedEmbeddings = false;
  bool qkvBias = false, outputBias = false, mlpBias = false;
  bool qkNorm = false;         ///< norms on queries and keys, per head, before the rotation
  double attentionDropout = 0; ///< of the weights of attention, in training
  RopeConfig rope;
  /// One a layer: a position sees itself and the windows[i] - 1 before it; 0 is no limit.
  llvm::SmallVector<int64_t> windows;
};

/// What sets the members of the family apart, where config.json does not say it.
struct DecoderTraits {
  llvm::StringRef architecture;
  bool readsAttentionBias = false; ///< `attention_bias`: on q, k, v and o
  bool readsMlpBias = false;
  bool alwaysQkvBias = false;
  bool qkNorm = false;
  /// transformers' default for an absent `num_key_value_heads` is the number of heads.
  bool kvHeadsDefault = false;
  int64_t headDimDefault = 0; ///< of an absent `head_dim`; 0: hidden_size / heads
  enum class Windows : uint8_t {
    None,
    AllLayers, ///< `sliding_window` holds for every layer
    ByLayer,   ///< `use_sliding_window`, `max_window_layers`, `layer_types`
  } windows = Windows::None;
};

llvm::Expected<DecoderConfig> readDecoderConfig(ConfigReader &reader, const DecoderTraits &traits);

/// GPT-2: layer norms, learned positions, a plain MLP.
struct Gpt2Config {
  int64_t vocabSize = 0, hiddenSize = 0, intermediateSize = 0, layers = 0, heads = 0, positions = 0;
  double normEps = 0;
  Activation activation = Activation::GeluTanh;
  bool tiedEmbeddings = true;
  bool scaleByHeadDim = true; ///< scores are divided by the root of the head's size
  bool scaleByLayer = false;  ///< and by the layer's number, counted from 1
  /// Chances to drop elements in training: of the embeddings, of what attention and MLP add to the
  /// residual stream, and of the weights of attention.
  double embeddingDropout = 0, residualDropout = 0, attentionDropout = 0;
};

llvm::Expected<Gpt2Config> readGpt2Config(ConfigReader &reader);

} // namespace cleave

#endif // CLEAVE_IMPORT_HUGGINGFACE_CONFIG_H
