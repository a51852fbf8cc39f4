// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "TemporaryFolder.h"
#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Import/HuggingFace/Safetensors.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"

using namespace cleave;
using mlir::func::FuncOp;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

class ImportHuggingFace : public testing::Test {
protected:
  ImportedModel import(llvm::StringRef path, HuggingFaceOptions options = {2, 8}) {
    llvm::Expected<ImportedModel> model = importHuggingFace(path, options, &context);
    if (!model) {
      ADD_FAILURE() << llvm::toString(model.takeError());
      return {};
    }
    EXPECT_TRUE(succeeded(mlir::verify(*model->module)));
    return std::move(*model);
  }
  std::string faultOf(llvm::StringRef path, HuggingFaceOptions options = {2, 8}) {
    llvm::Expected<ImportedModel> model = importHuggingFace(path, options, &context);
    std::string message = model ? "" : llvm::toString(model.takeError());
    EXPECT_THAT(message, Not(HasSubstr("\n")));
    return message;
  }
  static FuncOp entryOf(ImportedModel &model) { return *model.module->getOps<FuncOp>().begin(); }
  template <typename Op> static std::vector<Op> opsOf(ImportedModel &model) {
    std::vector<Op> ops;
    model.module->walk([&](Op op) { ops.push_back(op); });
    return ops;
  }
  static std::string nameOf(mlir::Operation *op) {
    auto name = mlir::dyn_cast<mlir::NameLoc>(op->getLoc());
    return name ? name.getName().str() : "";
  }
  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }

  mlir::MLIRContext context;
  TemporaryFolder folder;
};

std::string reference(llvm::StringRef name) { return CLEAVE_REFERENCE_DIR "/" + name.str(); }

/// Keys of a small configuration of the LLaMA family.
std::string decoderConfig(llvm::StringRef modelType, llvm::StringRef extra = "") {
  return (R"({"model_type": ")" + modelType + R"(", "vocab_size": 16, "hidden_size": 8,
      "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "hidden_act": "silu")" +
          extra + "}")
      .str();
}

std::string gpt2Config(llvm::StringRef extra = "") {
  return (R"({"model_type": "gpt2", "vocab_size": 16, "n_embd": 8, "n_layer": 2, "n_head": 2,
      "n_positions": 12, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new")" +
          extra + "}")
      .str();
}

/// A safetensors file of zeros that holds the states of a model, which `change` may edit.
void writeWeights(const TemporaryFolder &folder, ImportedModel &model,
                  llvm::function_ref<void(std::vector<safetensors::TensorToWrite> &)> change) {
  std::vector<safetensors::TensorToWrite> tensors;
  static const std::string zeros(1 << 16, '\0');
  for (StateOp state : model.module->getOps<StateOp>()) {
    llvm::ArrayRef<int64_t> shape = *state.getCheckpointShape();
    tensors.push_back({state.getSymName().str(),
                       safetensors::DType::F32,
                       llvm::SmallVector<int64_t, 4>(shape),
                       {}});
  }
  change(tensors);
  for (auto &tensor : tensors) {
    int64_t count = 1;
    for (int64_t size : tensor.shape)
      count *= size;
    tensor.bytes = llvm::StringRef(zeros).take_front(count * safetensors::byteSize(tensor.dtype));
  }
  llvm::Error error = safetensors::write(folder.path("model.safetensors"), tensors);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
}

TEST_F(ImportHuggingFace, SignatureOfALlama) {
  ImportedModel model = import(folder.write("config.json", decoderConfig("llama")));
  FuncOp entry = entryOf(model);
  EXPECT_EQ(entry.getName(), "forward");
  EXPECT_TRUE(entry->hasAttr(CleaveDialect::kEntryAttr));
  std::vector<std::string> arguments;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    if (auto state = entry.getArgAttrOfType<mlir::FlatSymbolRefAttr>(i, CleaveDialect::kStateAttr))
      arguments.push_back(state.getValue().str());
    else
      arguments.push_back(
          "%" + entry.getArgAttrOfType<mlir::StringAttr>(i, CleaveDialect::kInputAttr).str());
    auto logical = entry.getArgAttrOfType<LogicalAxesAttr>(i, CleaveDialect::kLogicalAttr);
    EXPECT_EQ(logical.getRank(), typeOf(entry.getArgument(i)).getRank());
  }
  EXPECT_THAT(
      llvm::ArrayRef(arguments).take_front(11),
      ElementsAre(
          "model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight",
          "model.layers.0.self_attn.k_proj.weight", "model.layers.0.self_attn.v_proj.weight",
          "model.layers.0.self_attn.o_proj.weight", "model.layers.0.mlp.gate_proj.weight",
          "model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.down_proj.weight",
          "model.layers.0.input_layernorm.weight", "model.layers.0.post_attention_layernorm.weight",
          "model.layers.1.self_attn.q_proj.weight"));
  EXPECT_THAT(llvm::ArrayRef(arguments).take_back(4),
              ElementsAre("model.norm.weight", "lm_head.weight", "%input_ids", "%labels"));
  EXPECT_EQ(entry.getResultAttrOfType<mlir::StringAttr>(0, CleaveDialect::kOutputAttr), "logits");
  EXPECT_EQ(entry.getResultAttrOfType<mlir::StringAttr>(1, CleaveDialect::kOutputAttr), "loss");
  mlir::Builder builder(&context);
  EXPECT_EQ(entry.getResultTypes()[0],
            mlir::RankedTensorType::get({2, 8, 16}, builder.getF32Type()));
  EXPECT_EQ(entry.getResultTypes()[1], mlir::RankedTensorType::get({}, builder.getF32Type()));
  EXPECT_THAT(model.warnings, testing::IsEmpty());
}

TEST_F(ImportHuggingFace, StatesViewTheirCheckpointTensors) {
  for (llvm::StringRef config : {"llama-gqa", "llama-mha-tied", "gpt2", "qwen2", "qwen3"}) {
    ImportedModel model = import(reference(config));
    llvm::Expected<safetensors::Checkpoint> checkpoint =
        safetensors::Checkpoint::open(reference(config));
    ASSERT_TRUE(bool(checkpoint));
    size_t states = 0;
    for (StateOp state : model.module->getOps<StateOp>()) {
      ++states;
      safetensors::TensorRef tensor = checkpoint->find(*state.getCheckpoint());
      ASSERT_TRUE(bool(tensor)) << state.getCheckpoint()->str();
      EXPECT_EQ(*state.getCheckpointShape(), llvm::ArrayRef(tensor.info->shape));
      EXPECT_EQ(mlir::cast<mlir::RankedTensorType>(state.getType()).getNumElements(),
                tensor.info->elementCount());
      EXPECT_EQ(*state.getKind(), "weight");
    }
    EXPECT_EQ(states, checkpoint->names().size());
    EXPECT_THAT(model.warnings, testing::IsEmpty());
  }
}

TEST_F(ImportHuggingFace, BothSpellingsGiveTheSameModule) {
  for (llvm::StringRef config : {"llama-gqa", "llama-mha-tied"}) {
    auto textOf = [&](llvm::StringRef file) {
      ImportedModel model = import(reference(config) + file.str());
      std::string text;
      llvm::raw_string_ostream(text) << *model.module;
      return text;
    };
    EXPECT_EQ(textOf("/config.json"), textOf("/config.v4.json"));
  }
}

TEST_F(ImportHuggingFace, OpsCarryNamesBlocksAndAxes) {
  ImportedModel model = import(reference("llama-gqa"));
  std::map<std::string, mlir::Operation *> byName;
  entryOf(model).getBody().walk([&](mlir::Operation *op) {
    if (!mlir::isa<mlir::func::ReturnOp>(op)) {
      EXPECT_NE(nameOf(op), "");
    }
    byName[nameOf(op)] = op;
  });
  mlir::Operation *q = byName["model.layers.2.self_attn.q_proj"];
  ASSERT_TRUE(q);
  EXPECT_TRUE(mlir::isa<graph::DotGeneralOp>(q));
  EXPECT_EQ(q->getAttrOfType<mlir::StringAttr>(CleaveDialect::kBlockAttr), "layer");
  EXPECT_EQ(q->getAttrOfType<mlir::IntegerAttr>(CleaveDialect::kInstanceAttr).getInt(), 2);
  auto logical = q->getAttrOfType<mlir::ArrayAttr>(CleaveDialect::kLogicalAttr);
  EXPECT_EQ(logical,
            mlir::ArrayAttr::get(&context,
                                 LogicalAxesAttr::get(&context, llvm::ArrayRef<llvm::StringRef>{
                                                                    "batch", "seq_attn", "kv_heads",
                                                                    "q_groups", "head_dim"})));
  EXPECT_THAT(typeOf(q->getResult(0)).getShape(), ElementsAre(2, 8, 2, 4, 8));
  EXPECT_TRUE(byName.count("model.layers.0.mlp.residual"));
  EXPECT_FALSE(byName["lm_head"]->hasAttr(CleaveDialect::kBlockAttr));
  EXPECT_EQ(opsOf<graph::RopeTableOp>(model).size(), 1u);
  EXPECT_EQ(opsOf<graph::RopeOp>(model).size(), 6u);
}

TEST_F(ImportHuggingFace, BF16KeepsLogitsAndLossInF32) {
  ImportedModel model = import(reference("qwen3"), {2, 8, ModelElementType::BF16});
  FuncOp entry = entryOf(model);
  EXPECT_TRUE(typeOf(entry.getArgument(0)).getElementType().isBF16());
  for (auto attention : opsOf<graph::AttentionOp>(model))
    EXPECT_TRUE(typeOf(attention.getResult()).getElementType().isBF16());
  for (mlir::Type type : entry.getResultTypes())
    EXPECT_TRUE(mlir::cast<mlir::RankedTensorType>(type).getElementType().isF32());
  for (StateOp state : model.module->getOps<StateOp>())
    EXPECT_TRUE(mlir::cast<mlir::RankedTensorType>(state.getType()).getElementType().isBF16());
}

TEST_F(ImportHuggingFace, TiedHeadReadsTheEmbedding) {
  ImportedModel model = import(reference("llama-mha-tied"));
  FuncOp entry = entryOf(model);
  EXPECT_EQ(std::distance(entry.getArgument(0).use_begin(), entry.getArgument(0).use_end()), 2);
}

TEST_F(ImportHuggingFace, WindowsThatReachEverythingAreLeftOut) {
  std::string path =
      folder.write("config.json", decoderConfig("mistral", R"(, "sliding_window": 6)"));
  ImportedModel model = import(path, {1, 8});
  for (auto attention : opsOf<graph::AttentionOp>(model))
    EXPECT_EQ(attention.getWindow(), std::optional<uint64_t>(6));
  model = import(path, {1, 6});
  for (auto attention : opsOf<graph::AttentionOp>(model))
    EXPECT_EQ(attention.getWindow(), std::nullopt);
  path = folder.write("config.json",
                      decoderConfig("qwen2", R"(, "sliding_window": 3, "use_sliding_window": true,
                                              "max_window_layers": 1)"));
  model = import(path, {1, 6});
  EXPECT_EQ(opsOf<graph::AttentionOp>(model)[0].getWindow(), std::nullopt);
  EXPECT_EQ(opsOf<graph::AttentionOp>(model)[1].getWindow(), std::optional<uint64_t>(3));
}

TEST_F(ImportHuggingFace, BiasesAndNormsOfTheFamily) {
  auto statesOf = [&](llvm::StringRef modelType, llvm::StringRef extra) {
    ImportedModel model = import(folder.write("config.json", decoderConfig(modelType, extra)));
    std::vector<std::string> names;
    for (StateOp state : model.module->getOps<StateOp>()) {
      llvm::StringRef name = state.getSymName();
      if (name.consume_front("model.layers.0.") &&
          (name.ends_with(".bias") || name.contains("_norm.")))
        names.push_back(name.str());
    }
    return names;
  };
  EXPECT_THAT(statesOf("llama", R"(, "attention_bias": true, "mlp_bias": true)"),
              ElementsAre("self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias",
                          "self_attn.o_proj.bias", "mlp.gate_proj.bias", "mlp.up_proj.bias",
                          "mlp.down_proj.bias"));
  EXPECT_THAT(statesOf("qwen2", ""), ElementsAre("self_attn.q_proj.bias", "self_attn.k_proj.bias",
                                                 "self_attn.v_proj.bias"));
  EXPECT_THAT(statesOf("qwen3", R"(, "head_dim": 4)"),
              ElementsAre("self_attn.q_norm.weight", "self_attn.k_norm.weight"));
  EXPECT_THAT(statesOf("mistral", ""), testing::IsEmpty());
}

TEST_F(ImportHuggingFace, RopeScalingReachesTheTable) {
  ImportedModel model =
      import(folder.write("config.json", decoderConfig("llama", R"(, "head_dim": 4,
          "rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", "factor": 8,
          "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64})")));
  auto table = opsOf<graph::RopeTableOp>(model)[0];
  EXPECT_EQ(table.getRotaryDim(), 4u);
  EXPECT_EQ(table.getBase().convertToDouble(), 5e5);
  graph::RopeScalingAttr scaling = *table.getScaling();
  EXPECT_EQ(scaling.getKind(), graph::RopeScalingKind::Llama3);
  EXPECT_EQ(scaling.getFactor().convertToDouble(), 8);
  EXPECT_EQ(scaling.getOriginalMaxPosition(), 64);
}

TEST_F(ImportHuggingFace, Gpt2AttentionScales) {
  auto scales = [&](llvm::StringRef extra) {
    ImportedModel model = import(folder.write("config.json", gpt2Config(extra)));
    std::vector<double> result;
    for (auto attention : opsOf<graph::AttentionOp>(model))
      result.push_back(attention.getScale().convertToDouble());
    return result;
  };
  EXPECT_THAT(scales(""), ElementsAre(0.5, 0.5));
  EXPECT_THAT(scales(R"(, "scale_attn_weights": false)"), ElementsAre(1.0, 1.0));
  EXPECT_THAT(scales(R"(, "scale_attn_by_inverse_layer_idx": true)"), ElementsAre(0.5, 0.25));
}

TEST_F(ImportHuggingFace, SequenceOfOneAndAllPositions) {
  std::string path = folder.write("config.json", gpt2Config());
  import(path, {1, 1});
  import(path, {1, 12});
  EXPECT_THAT(faultOf(path, {1, 13}),
              AllOf(HasSubstr("config.json: \"n_positions\""), HasSubstr("12 learned positions")));
  path = folder.write("config.json", decoderConfig("llama", R"(, "max_position_embeddings": 4)"));
  EXPECT_THAT(import(path, {1, 5}).warnings, ElementsAre(HasSubstr("max_position_embeddings, 4")));
}

TEST_F(ImportHuggingFace, UnknownModelTypeListsTheKnown) {
  std::string path = folder.write("config.json", decoderConfig("bert"));
  EXPECT_THAT(faultOf(path),
              HasSubstr("\"model_type\": expected one of gpt2, llama, mistral, qwen2, "
                        "qwen3, found \"bert\""));
  folder.write("config.json", R"({"vocab_size": 3})");
  EXPECT_THAT(faultOf(path), AllOf(HasSubstr("one of gpt2"), HasSubstr("found no such key")));
  folder.write("config.json", R"({"model_type": 3})");
  EXPECT_THAT(faultOf(path), HasSubstr("\"model_type\": expected a string, found 3"));
  folder.write("config.json", decoderConfig("llama", R"(, "mlp_bias": 3)"));
  EXPECT_THAT(faultOf(path), HasSubstr("\"mlp_bias\""));
}

TEST_F(ImportHuggingFace, OptionsOutOfRange) {
  std::string path = folder.write("config.json", decoderConfig("llama"));
  EXPECT_THAT(faultOf(path, {0, 8}), HasSubstr("batch: expected an integer from 1"));
  EXPECT_THAT(faultOf(path, {1, int64_t(1) << 40}), HasSubstr("seq: expected"));
  EXPECT_THAT(faultOf(path, {1 << 30, 1 << 30}), HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(faultOf(path, {1, 8, ModelElementType::F32, "train"}), HasSubstr("found \"train\""));
  folder.write("config.json", R"({"model_type": "llama", "vocab_size": 2147483647,
      "hidden_size": 2147483646, "head_dim": 2147483646, "intermediate_size": 2147483647,
      "num_hidden_layers": 2, "num_attention_heads": 2147483646, "rms_norm_eps": 1e-5,
      "hidden_act": "silu"})");
  EXPECT_THAT(faultOf(path, {1, 1}), HasSubstr("more than 2^63 bytes"));
}

TEST_F(ImportHuggingFace, WeightsAreCheckedByTheirHeaders) {
  std::string path = folder.write("config.json", decoderConfig("llama"));
  using Tensors = std::vector<safetensors::TensorToWrite>;
  ImportedModel alone = import(path);
  auto with = [&](llvm::function_ref<void(Tensors &)> change) {
    writeWeights(folder, alone, change);
    return faultOf(folder.path());
  };
  EXPECT_EQ(with([](Tensors &) {}), "");
  EXPECT_THAT(
      with([](Tensors &tensors) { tensors.erase(tensors.begin() + 3); }),
      HasSubstr(": tensor \"model.layers.0.self_attn.v_proj.weight\" is missing: expected it "
                "with shape [4, 8]"));
  EXPECT_THAT(
      with([](Tensors &tensors) { tensors[7].shape = {8, 10}; }),
      HasSubstr("model.safetensors: tensor \"model.layers.0.mlp.down_proj.weight\": expected "
                "shape [8, 12], by config.json, found [8, 10]"));
  EXPECT_THAT(
      with([](Tensors &tensors) { tensors[0].dtype = safetensors::DType::I64; }),
      HasSubstr("tensor \"model.embed_tokens.weight\": expected F32, BF16, F16 or F64, found "
                "I64"));
  // A missing head is not tied by itself.
  EXPECT_THAT(with([](Tensors &tensors) { tensors.pop_back(); }), HasSubstr("\"lm_head.weight\""));
  // config.json alone does not look at the broken weights beside it.
  import(path);

  writeWeights(folder, alone, [](Tensors &tensors) {
    tensors.push_back({"model.layers.0.self_attn.q_proj.bias", safetensors::DType::F32, {8}, {}});
    tensors.push_back(
        {"model.layers.0.self_attn.rotary_emb.inv_freq", safetensors::DType::F32, {1}, {}});
    tensors[1].dtype = safetensors::DType::BF16;
    tensors[2].dtype = safetensors::DType::F16;
  });
  EXPECT_THAT(import(folder.path()).warnings,
              ElementsAre(AllOf(HasSubstr("no use for 1 tensor: "), HasSubstr("q_proj.bias"))));
}

TEST_F(ImportHuggingFace, TruncatedWeights) {
  std::string path = folder.write("config.json", decoderConfig("llama"));
  ImportedModel alone = import(path);
  writeWeights(folder, alone, [](auto &) {});
  auto buffer = llvm::MemoryBuffer::getFile(folder.path("model.safetensors"));
  folder.write("model.safetensors", (*buffer)->getBuffer().drop_back(100).str());
  EXPECT_THAT(faultOf(folder.path()), HasSubstr("model.safetensors: the file is truncated"));
}

TEST_F(ImportHuggingFace, FilesOfTheModelWithoutItsHead) {
  std::string path = folder.write("config.json", gpt2Config());
  ImportedModel alone = import(path);
  writeWeights(folder, alone, [](auto &tensors) {
    for (auto &tensor : tensors)
      tensor.name.erase(0, llvm::StringRef("transformer.").size());
    tensors.push_back({"h.0.attn.bias", safetensors::DType::F32, {1, 1, 12, 12}, {}});
  });
  ImportedModel model = import(folder.path());
  EXPECT_THAT(model.warnings, testing::IsEmpty());
  StateOp state = *model.module->getOps<StateOp>().begin();
  EXPECT_EQ(state.getSymName(), "transformer.wte.weight");
  EXPECT_EQ(*state.getCheckpoint(), "wte.weight");
}

/// Whatever config.json holds, it becomes a valid module or one line.
TEST_F(ImportHuggingFace, EveryByteOfAConfigurationChangedAndEveryLength) {
  for (std::string good :
       {decoderConfig("qwen3",
                      R"(, "head_dim": 4, "layer_types": ["full_attention", "full_attention"],
                                "rope_scaling": {"rope_type": "linear", "factor": 2.0})"),
        gpt2Config()}) {
    auto check = [&](llvm::StringRef text) {
      llvm::Expected<ImportedModel> model =
          importHuggingFace(folder.write("config.json", text), {1, 4}, &context);
      if (model)
        EXPECT_TRUE(succeeded(mlir::verify(*model->module))) << text.str();
      else
        EXPECT_THAT(llvm::toString(model.takeError()), Not(HasSubstr("\n")));
    };
    for (size_t i = 0; i < good.size(); ++i) {
      check(llvm::StringRef(good).take_front(i));
      for (char change : {char(0x01), char(0x10), char(0x80)}) {
        std::string bad = good;
        bad[i] = char(bad[i] ^ change);
        check(bad);
      }
    }
  }
}

} // namespace
