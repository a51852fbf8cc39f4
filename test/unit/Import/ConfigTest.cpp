// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Import/HuggingFace/Config.h"
#include "TemporaryFolder.h"
#include "gmock/gmock.h"

using namespace cleave;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

constexpr DecoderTraits kLlama{.architecture = "LlamaForCausalLM",
                               .readsAttentionBias = true,
                               .readsMlpBias = true,
                               .kvHeadsDefault = true};
constexpr DecoderTraits kMistral{.architecture = "MistralForCausalLM",
                                 .windows = DecoderTraits::Windows::AllLayers};
constexpr DecoderTraits kQwen2{.architecture = "Qwen2ForCausalLM",
                               .alwaysQkvBias = true,
                               .windows = DecoderTraits::Windows::ByLayer};

/// A valid configuration with some keys replaced. An empty value removes the key.
std::string configWith(std::initializer_list<std::pair<const char *, const char *>> changes) {
  std::map<std::string, std::string> keys{
      {"vocab_size", "512"},       {"hidden_size", "64"},           {"intermediate_size", "176"},
      {"num_hidden_layers", "3"},  {"num_attention_heads", "8"},    {"num_key_value_heads", "2"},
      {"rms_norm_eps", "1e-05"},   {"hidden_act", "\"silu\""},      {"rope_theta", "10000.0"},
      {"model_type", "\"llama\""}, {"tie_word_embeddings", "false"}};
  for (auto [key, value] : changes)
    if (*value)
      keys[key] = value;
    else
      keys.erase(key);
  std::string text = "{\n";
  for (auto &[key, value] : keys)
    text += (text.size() > 2 ? ",\n  \"" : "  \"") + key + "\": " + value;
  return text + "\n}\n";
}

struct Outcome {
  std::optional<DecoderConfig> config;
  std::string fault;
  std::vector<std::string> warnings;
};

Outcome readText(llvm::StringRef text, const DecoderTraits &traits = kLlama) {
  TemporaryFolder folder;
  std::string path = folder.write("config.json", text);
  Outcome outcome;
  llvm::Expected<ConfigReader> reader = ConfigReader::open(folder.path());
  if (reader) {
    llvm::Expected<DecoderConfig> config = readDecoderConfig(*reader, traits);
    outcome.warnings = reader->warnings().vec();
    if (config)
      outcome.config = std::move(*config);
    else
      outcome.fault = llvm::toString(config.takeError());
  } else {
    outcome.fault = llvm::toString(reader.takeError());
  }
  if (!outcome.fault.empty()) {
    EXPECT_THAT(outcome.fault, testing::StartsWith(path + ": "));
    EXPECT_THAT(outcome.fault, Not(HasSubstr("\n")));
    outcome.fault.erase(0, path.size() + 2);
  }
  return outcome;
}

Outcome readWith(std::initializer_list<std::pair<const char *, const char *>> changes,
                 const DecoderTraits &traits = kLlama) {
  return readText(configWith(changes), traits);
}

TEST(Config, DefaultsOfAbsentKeys) {
  Outcome outcome = readWith({});
  ASSERT_TRUE(outcome.config) << outcome.fault;
  EXPECT_EQ(outcome.config->headDim, 8);
  EXPECT_EQ(outcome.config->rope.rotaryDim, 8);
  EXPECT_FALSE(outcome.config->qkvBias);
  EXPECT_THAT(outcome.config->windows, ElementsAre(0, 0, 0));
  EXPECT_THAT(outcome.warnings, testing::IsEmpty());
  // LLaMA 1 has no num_key_value_heads and no rope_theta.
  outcome = readWith({{"num_key_value_heads", ""}, {"rope_theta", ""}});
  ASSERT_TRUE(outcome.config) << outcome.fault;
  EXPECT_EQ(outcome.config->kvHeads, 8);
  EXPECT_EQ(outcome.config->rope.theta, 10000);
  // For its kin, transformers would fill in a number of its own.
  EXPECT_THAT(
      readWith({{"num_key_value_heads", ""}}, kMistral).fault,
      HasSubstr(R"("num_key_value_heads": expected a positive integer, found no such key)"));
  EXPECT_EQ(readWith({{"num_key_value_heads", "null"}}, kMistral).config->kvHeads, 8);
}

TEST(Config, HeadDim) {
  EXPECT_EQ(readWith({{"head_dim", "null"}}).config->headDim, 8);
  EXPECT_EQ(readWith({{"head_dim", "32"}}).config->headDim, 32);
  // With a head_dim, heads need not divide hidden_size.
  EXPECT_EQ(readWith({{"head_dim", "32"}, {"num_attention_heads", "6"}}).config->headDim, 32);
  EXPECT_THAT(
      readWith({{"num_attention_heads", "6"}}).fault,
      HasSubstr("\"num_attention_heads\": expected a divisor of hidden_size (64), found 6"));
  EXPECT_THAT(readWith({{"num_key_value_heads", "3"}}).fault,
              HasSubstr("expected a divisor of num_attention_heads (8), found 3"));
  EXPECT_THAT(readWith({{"head_dim", "7"}}).fault,
              HasSubstr("an even number of entries a head, not 7"));
  EXPECT_THAT(readWith({{"num_attention_heads", "64"}}).fault,
              HasSubstr("an even number of entries a head, not 1"));
}

TEST(Config, BadNumbers) {
  EXPECT_THAT(readWith({{"num_attention_heads", ""}}).fault,
              testing::StrEq("\"num_attention_heads\": expected a positive integer, found no such "
                             "key; add the key as the model's authors give it"));
  EXPECT_THAT(readWith({{"vocab_size", "null"}}).fault, HasSubstr("found null"));
  EXPECT_THAT(readWith({{"vocab_size", "-512"}}).fault,
              HasSubstr("\"vocab_size\": expected an integer from 1 to 2147483647, found -512"));
  EXPECT_THAT(readWith({{"hidden_size", "0"}}).fault, HasSubstr("found 0"));
  EXPECT_THAT(readWith({{"hidden_size", "\"64\""}}).fault, HasSubstr("found \"64\""));
  EXPECT_THAT(readWith({{"hidden_size", "64.5"}}).fault, HasSubstr("found 64.5"));
  EXPECT_THAT(readWith({{"hidden_size", "[64]"}}).fault, HasSubstr("found a list of 1"));
  EXPECT_THAT(readWith({{"hidden_size", "true"}}).fault, HasSubstr("found true"));
  EXPECT_THAT(readWith({{"hidden_size", "4294967296"}}).fault, HasSubstr("found 4294967296"));
  EXPECT_THAT(readWith({{"hidden_size", "99999999999999999999999"}}).fault,
              HasSubstr("\"hidden_size\": expected an integer"));
  EXPECT_THAT(readWith({{"num_hidden_layers", "1000000"}}).fault,
              HasSubstr("at most 10000 layers, found 1000000"));
  EXPECT_THAT(readWith({{"rms_norm_eps", "-1e-5"}}).fault,
              HasSubstr("\"rms_norm_eps\": expected a positive number"));
  EXPECT_THAT(readWith({{"rms_norm_eps", "\"small\""}}).fault, HasSubstr("found \"small\""));
  EXPECT_THAT(readWith({{"rms_norm_eps", "NaN"}}).fault,
              AllOf(HasSubstr("line "), HasSubstr("at key \"rms_norm_eps\": found NaN")));
  EXPECT_THAT(readWith({{"rope_theta", "-Infinity"}}).fault, HasSubstr("found -Infinity"));
  EXPECT_THAT(readWith({{"rope_theta", "1e999"}}).fault, HasSubstr("does not fit a 64-bit float"));
  EXPECT_THAT(readWith({{"tie_word_embeddings", "1"}}).fault, HasSubstr("expected true or false"));
}

TEST(Config, NotJson) {
  EXPECT_THAT(readText("").fault, HasSubstr("empty"));
  EXPECT_THAT(readText("hello").fault, HasSubstr("line 1, column 1, not JSON near \"hello\""));
  EXPECT_THAT(readText("[1, 2]").fault, HasSubstr("expected an object"));
  EXPECT_THAT(readText("{\"vocab_size\": 5").fault, HasSubstr("ends in the middle of a value"));
  EXPECT_THAT(readText("{\"vocab_size\": 5,}").fault, HasSubstr("not JSON"));
  EXPECT_THAT(readText("{\"vocab_size\": 5, \"vocab_size\": 6}").fault, HasSubstr("occurs twice"));
  TemporaryFolder folder;
  EXPECT_THAT(llvm::toString(ConfigReader::open(folder.path()).takeError()),
              HasSubstr("config.json: cannot be read"));
  EXPECT_THAT(llvm::toString(ConfigReader::open(folder.path("none")).takeError()),
              HasSubstr("none: cannot be read"));
}

TEST(Config, RopeInBothSpellings) {
  auto rope = [](const char *theta, const char *scaling, const char *parameters) {
    return readWith(
        {{"rope_theta", theta}, {"rope_scaling", scaling}, {"rope_parameters", parameters}});
  };
  RopeConfig llama3{.theta = 500000,
                    .rotaryDim = 8,
                    .scaling = RopeConfig::Scaling::Llama3,
                    .factor = 8,
                    .lowFreqFactor = 1,
                    .highFreqFactor = 4,
                    .originalMaxPositions = 8192};
#define LLAMA3                                                                                     \
  R"("rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 8192})"
  EXPECT_EQ(rope("500000", "{" LLAMA3, "").config->rope, llama3);
  EXPECT_EQ(rope("", "", R"({"rope_theta": 5e5, )" LLAMA3).config->rope, llama3);
  EXPECT_EQ(rope("5e5", "{" LLAMA3, R"({"rope_theta": 5e5, )" LLAMA3).config->rope, llama3);
  EXPECT_THAT(
      readWith({{"original_max_position_embeddings", "4096"}, {"rope_scaling", "{" LLAMA3}}).fault,
      HasSubstr("\"original_max_position_embeddings\": expected the value inside the rotary "
                "settings, 8192, found 4096"));
#undef LLAMA3
  RopeConfig linear{
      .theta = 10000, .rotaryDim = 8, .scaling = RopeConfig::Scaling::Linear, .factor = 2};
  EXPECT_EQ(rope("", R"({"type": "linear", "factor": 2})", "").config->rope, linear);
  EXPECT_EQ(rope("", "null", R"({"rope_type": "linear", "factor": 2})").config->rope, linear);
  EXPECT_EQ(rope("1e6", "null", "").config->rope.theta, 1e6);
  EXPECT_EQ(rope("", "", R"({"rope_theta": 1e6})").config->rope.theta, 1e6);

  EXPECT_THAT(rope("1e6", "", R"({"rope_theta": 1e5})").fault, HasSubstr("keep one spelling"));
  EXPECT_THAT(rope("", R"({"rope_type": "yarn", "factor": 2})", "").fault,
              HasSubstr(R"("rope_scaling.rope_type": expected "default", "linear" or "llama3", )"
                        R"(found "yarn")"));
  EXPECT_THAT(rope("", "", R"({"rope_type": "longrope"})").fault,
              HasSubstr(R"("rope_parameters.rope_type")"));
  EXPECT_THAT(rope("", R"({"type": "dynamic", "factor": 2})", "").fault,
              HasSubstr(R"("rope_scaling.type")"));
  EXPECT_THAT(rope("", R"({"factor": 2})", "").fault,
              HasSubstr(R"("rope_scaling.rope_type": expected a string, found no such key)"));
  EXPECT_THAT(rope("", R"({"type": "linear"})", "").fault, HasSubstr("\"rope_scaling.factor\""));
  EXPECT_THAT(rope("", R"({"rope_type": "llama3", "factor": 8})", "").fault,
              HasSubstr("low_freq_factor"));
  EXPECT_THAT(rope("", "3", "").fault, HasSubstr("\"rope_scaling\": expected an object"));
  EXPECT_THAT(rope("", "", R"({"full_attention": {"rope_theta": 1e6}})").fault,
              HasSubstr("one rotation for all layers"));
}

TEST(Config, PartialRotation) {
  EXPECT_EQ(readWith({{"partial_rotary_factor", "1"}}).config->rope.rotaryDim, 8);
  EXPECT_THAT(readWith({{"partial_rotary_factor", "0.5"}}).fault,
              HasSubstr("\"partial_rotary_factor\": expected 1.0, found 0.5"));
  EXPECT_THAT(readWith({{"rope_parameters", R"({"partial_rotary_factor": 0.5})"}}).fault,
              HasSubstr("\"rope_parameters.partial_rotary_factor\": expected 1.0, found 0.5"));
}

TEST(Config, Biases) {
  Outcome outcome = readWith({{"attention_bias", "true"}, {"mlp_bias", "true"}});
  ASSERT_TRUE(outcome.config) << outcome.fault;
  EXPECT_TRUE(outcome.config->qkvBias && outcome.config->outputBias && outcome.config->mlpBias);
  outcome = readWith({}, kQwen2);
  ASSERT_TRUE(outcome.config) << outcome.fault;
  EXPECT_TRUE(outcome.config->qkvBias && !outcome.config->outputBias);
  EXPECT_THAT(readWith({{"attention_bias", "true"}}, kMistral).fault,
              HasSubstr("\"attention_bias\": expected false, found true"));
  EXPECT_THAT(readWith({{"mlp_bias", "true"}}, kQwen2).fault, HasSubstr("\"mlp_bias\""));
}

TEST(Config, SlidingWindows) {
  EXPECT_THAT(readWith({{"sliding_window", "16"}}).fault, HasSubstr("no sliding window"));
  EXPECT_THAT(readWith({{"sliding_window", "16"}}, kMistral).config->windows,
              ElementsAre(16, 16, 16));
  EXPECT_THAT(readWith({{"sliding_window", "null"}}, kMistral).config->windows,
              ElementsAre(0, 0, 0));
  EXPECT_THAT(readWith({}, kMistral).config->windows, ElementsAre(4096, 4096, 4096));
  EXPECT_THAT(readWith({{"sliding_window", "0"}}, kMistral).fault, HasSubstr("found 0"));

  auto qwen = [](const char *use, const char *first, const char *types) {
    return readWith({{"sliding_window", "16"},
                     {"use_sliding_window", use},
                     {"max_window_layers", first},
                     {"layer_types", types}},
                    kQwen2);
  };
  EXPECT_THAT(qwen("false", "0", "").config->windows, ElementsAre(0, 0, 0));
  EXPECT_THAT(qwen("true", "1", "").config->windows, ElementsAre(0, 16, 16));
  EXPECT_THAT(qwen("true", "", "").config->windows, ElementsAre(0, 0, 0));
  EXPECT_THAT(qwen("true", "0", R"(["full_attention", "sliding_attention", "full_attention"])")
                  .config->windows,
              ElementsAre(0, 16, 0));
  EXPECT_THAT(
      qwen("false", "", R"(["full_attention", "sliding_attention", "full_attention"])").fault,
      HasSubstr("\"use_sliding_window\": expected true"));
  EXPECT_THAT(qwen("true", "", R"(["full_attention"])").fault,
              HasSubstr("one entry for each of 3 layers, found a list of 1"));
  EXPECT_THAT(qwen("true", "", R"(["full_attention", "linear_attention", "full_attention"])").fault,
              HasSubstr("not \"linear_attention\""));
  EXPECT_THAT(
      readWith({{"sliding_window", "16"}, {"layer_types", R"(["full_attention", "sliding_attention",
                                            "sliding_attention"])"}},
               kMistral)
          .fault,
      HasSubstr("does not mix the two"));
}

TEST(Config, RefusedByName) {
  std::pair<const char *, const char *> refused[] = {{"quantization_config", R"({"bits": 4})"},
                                                     {"pretraining_tp", "2"},
                                                     {"add_cross_attention", "true"},
                                                     {"hidden_act", "\"quick_gelu\""},
                                                     {"num_local_experts", "8"},
                                                     {"is_encoder_decoder", "true"},
                                                     {"attn_logit_softcapping", "50.0"},
                                                     {"architectures", R"(["LlamaModel"])"}};
  for (auto [key, value] : refused)
    EXPECT_THAT(readWith({{key, value}}).fault,
                AllOf(testing::StartsWith(std::string("\"") + key + "\": expected "),
                      HasSubstr(", found "), HasSubstr("; ")));
  Outcome outcome = readWith({{"pretraining_tp", "1"},
                              {"quantization_config", "null"},
                              {"attention_dropout", "0.1"},
                              {"architectures", R"(["LlamaForCausalLM"])"}});
  EXPECT_TRUE(outcome.config) << outcome.fault;
}

TEST(Config, UnknownKeysAreToldToTheUser) {
  Outcome outcome = readWith({{"strange_key", "3"}, {"use_cache", "true"}});
  ASSERT_TRUE(outcome.config) << outcome.fault;
  EXPECT_THAT(outcome.warnings, ElementsAre(HasSubstr("\"strange_key\"")));
}

TEST(Config, Gpt2) {
  TemporaryFolder folder;
  auto read = [&](llvm::StringRef extra) -> llvm::Expected<Gpt2Config> {
    folder.write("config.json", (R"({"vocab_size": 384, "n_embd": 64, "n_layer": 2, "n_head": 4,
        "n_positions": 64, "layer_norm_epsilon": 1e-5)" +
                                 extra + "}")
                                    .str());
    llvm::Expected<ConfigReader> reader = ConfigReader::open(folder.path());
    if (!reader)
      return reader.takeError();
    return readGpt2Config(*reader);
  };
  constexpr llvm::StringLiteral kAct = R"(, "activation_function": "gelu_new")";
  llvm::Expected<Gpt2Config> config = read(kAct);
  ASSERT_TRUE(bool(config)) << llvm::toString(config.takeError());
  EXPECT_EQ(config->intermediateSize, 256);
  EXPECT_TRUE(config->tiedEmbeddings);
  EXPECT_EQ(config->activation, Activation::GeluTanh);
  config = read((kAct + R"(, "n_inner": 100, "tie_word_embeddings": false)").str());
  ASSERT_TRUE(bool(config)) << llvm::toString(config.takeError());
  EXPECT_EQ(config->intermediateSize, 100);
  EXPECT_FALSE(config->tiedEmbeddings);
  EXPECT_THAT(llvm::toString(read("").takeError()), HasSubstr("\"activation_function\""));
  EXPECT_THAT(llvm::toString(read((kAct + R"(, "add_cross_attention": true)").str()).takeError()),
              HasSubstr("cross-attention"));
  folder.write("config.json", R"({"vocab_size": 384, "n_embd": 64, "n_layer": 2, "n_head": 5,
        "n_positions": 64, "layer_norm_epsilon": 1e-5, "activation_function": "gelu"})");
  llvm::Expected<ConfigReader> reader = ConfigReader::open(folder.path("config.json"));
  ASSERT_TRUE(bool(reader));
  EXPECT_THAT(llvm::toString(readGpt2Config(*reader).takeError()),
              HasSubstr("\"n_head\": expected a divisor of n_embd (64), found 5"));
}

} // namespace
