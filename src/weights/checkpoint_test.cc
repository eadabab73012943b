// One model as a GGUF file and as a Hugging Face folder must look the same through Checkpoint; config.json translation.
#include "weights/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/temporary_folder.h"
#include "tensor/float16.h"
#include "weights/gguf_writer.h"
#include "weights/hf_names.h"
#include "weights/safetensors_writer.h"

namespace brio::weights {
namespace {

using tensor::DType;

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path) << text;
}

std::vector<float> random_values(int64_t count, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = rng.uniform(-1, 1);
  return values;
}

std::vector<float> values_of(const TensorView& view) {
  std::vector<float> values(static_cast<size_t>(view.rows * view.cols));
  std::memcpy(values.data(), view.data, values.size() * sizeof(float));
  return values;
}

// How GGUF converters order the rows of q and k for architecture llama: a head's [2][half] rows become [half][2].
std::vector<float> interleaved(const std::vector<float>& rows, int64_t heads, int64_t head_dim, int64_t cols) {
  std::vector<float> out(rows.size());
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t half = 0; half < 2; ++half) {
      for (int64_t i = 0; i < head_dim / 2; ++i) {
        const auto from = rows.begin() + (head * head_dim + half * head_dim / 2 + i) * cols;
        std::copy(from, from + cols, out.begin() + (head * head_dim + i * 2 + half) * cols);
      }
    }
  }
  return out;
}

constexpr int kHidden = 24;
constexpr int kHeads = 3;
constexpr int kKvHeads = 1;
constexpr int kHeadDim = 8;

constexpr std::string_view kLlamaConfig = R"({
  "architectures": ["LlamaForCausalLM"], "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 1,
  "num_attention_heads": 3, "num_key_value_heads": 1, "max_position_embeddings": 64, "vocab_size": 5,
  "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": true, "hidden_act": "silu",
  "bos_token_id": 1, "eos_token_id": 2})";

class TinyLlama : public testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_ / "config.json", kLlamaConfig);
    SafetensorsWriter hf;
    hf.tensor("model.embed_tokens.weight", {5, kHidden}, embedding_);
    hf.tensor("lm_head.weight", {5, kHidden}, embedding_);
    hf.tensor("model.layers.0.self_attn.q_proj.weight", {kHeads * kHeadDim, kHidden}, q_);
    hf.tensor("model.layers.0.self_attn.q_proj.bias", {kHeads * kHeadDim}, q_bias_);
    hf.tensor("model.layers.0.self_attn.k_proj.weight", {kKvHeads * kHeadDim, kHidden}, k_);
    hf.tensor("model.layers.0.post_attention_layernorm.weight", {kHidden}, norm_);
    hf.tensor("model.layers.0.self_attn.rotary_emb.inv_freq", {1}, std::vector<float>{1});
    ASSERT_TRUE(hf.write(folder_ / "model.safetensors").ok());
    GgufWriter gguf;
    write_keys(gguf);
    gguf.tensor("token_embd.weight", {kHidden, 5}, embedding_);
    gguf.tensor("blk.0.attn_q.weight", {kHidden, kHeads * kHeadDim}, interleaved(q_, kHeads, kHeadDim, kHidden));
    gguf.tensor("blk.0.attn_q.bias", {kHeads * kHeadDim}, interleaved(q_bias_, kHeads, kHeadDim, 1));
    gguf.tensor("blk.0.attn_k.weight", {kHidden, kKvHeads * kHeadDim}, interleaved(k_, kKvHeads, kHeadDim, kHidden));
    gguf.tensor("blk.0.ffn_norm.weight", {kHidden}, norm_);
    ASSERT_TRUE(gguf.write(folder_ / "tiny.gguf").ok());
  }
  static void write_keys(GgufWriter& gguf) {
    gguf.string("general.architecture", "llama");
    gguf.u32("llama.block_count", 1);
    gguf.u32("llama.embedding_length", kHidden);
    gguf.u32("llama.feed_forward_length", 40);
    gguf.u32("llama.attention.head_count", kHeads);
    gguf.u32("llama.attention.head_count_kv", kKvHeads);
    gguf.u32("llama.rope.dimension_count", kHeadDim);
    gguf.u32("llama.context_length", 64);
    gguf.u32("llama.vocab_size", 5);
    gguf.f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    gguf.f32("llama.rope.freq_base", 500000.0F);
    gguf.u32("tokenizer.ggml.bos_token_id", 1);
    gguf.u32("tokenizer.ggml.eos_token_id", 2);
  }
  TemporaryFolder folder_;
  std::vector<float> embedding_ = random_values(5 * kHidden, 1);
  std::vector<float> q_ = random_values(kHeads * kHeadDim * kHidden, 2);
  std::vector<float> q_bias_ = random_values(kHeads * kHeadDim, 3);
  std::vector<float> k_ = random_values(kKvHeads * kHeadDim * kHidden, 4);
  std::vector<float> norm_ = random_values(kHidden, 5);
};

TEST_F(TinyLlama, LooksTheSameFromBothKindsOfFile) {
  auto gguf = Checkpoint::open(folder_ / "tiny.gguf");
  auto hf = Checkpoint::open(folder_.path());
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  ASSERT_TRUE(hf.ok()) << hf.error().message;
  EXPECT_EQ(hf->architecture(), "llama");
  EXPECT_EQ(hf->tensors().size(), 5U) << "the tied head and the rotary table are no tensors of the model";
  for (const auto& summary : gguf->tensors()) {
    auto a = gguf->tensor(summary.name);
    auto b = hf->tensor(summary.name);
    ASSERT_TRUE(a.ok() && b.ok()) << summary.name;
    EXPECT_EQ(a->rows, b->rows) << summary.name;
    EXPECT_EQ(values_of(*a), values_of(*b)) << summary.name;
  }
  EXPECT_EQ(values_of(hf->tensor("blk.0.attn_q.weight").value()), q_)
      << "half-split pairs are Hugging Face's own order";
  for (const MetadataEntry& entry : gguf->metadata().entries()) {
    const MetadataEntry* other = hf->metadata().find(entry.key);
    ASSERT_NE(other, nullptr) << entry.key;
    EXPECT_EQ(Metadata::describe(entry), Metadata::describe(*other)) << entry.key;
  }
}

TEST_F(TinyLlama, KeepsViewsReadableAfterDrop) {
  for (const auto& path : {folder_ / "tiny.gguf", folder_.path()}) {
    auto checkpoint = Checkpoint::open(path);
    ASSERT_TRUE(checkpoint.ok());
    const TensorView view = checkpoint->tensor("blk.0.attn_q.weight", kHeads * kHeadDim, kHidden).value();
    checkpoint->drop(view);
    EXPECT_EQ(values_of(view), q_);
  }
}

TEST_F(TinyLlama, NamesMissingTensorsAndWrongShapes) {
  auto checkpoint = Checkpoint::open(folder_ / "tiny.gguf");
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_NE(checkpoint->tensor("blk.7.attn_q.weight").error().message.find("'blk.7.attn_q.weight' is missing"),
            std::string::npos);
  EXPECT_NE(checkpoint->tensor("blk.0.attn_q.weight", 8, 24).error().message.find("is [24, 24], expected [8, 24]"),
            std::string::npos);
  EXPECT_FALSE(checkpoint->vector("blk.0.ffn_norm.weight", 23).ok());
  EXPECT_EQ(checkpoint->vector("blk.0.ffn_norm.weight", 24).value(), norm_);
}

TEST_F(TinyLlama, RefusesHeadCountsThatDoNotFitTheRows) {
  GgufWriter gguf;
  gguf.string("general.architecture", "llama");
  gguf.u32("llama.attention.head_count", 7);
  gguf.tensor("blk.0.attn_q.weight", {kHidden, kHeads * kHeadDim}, q_);
  ASSERT_TRUE(gguf.write(folder_ / "odd.gguf").ok());
  auto checkpoint = Checkpoint::open(folder_ / "odd.gguf");
  ASSERT_TRUE(checkpoint.ok());
  const auto view = checkpoint->tensor("blk.0.attn_q.weight");
  ASSERT_FALSE(view.ok());
  EXPECT_NE(view.error().message.find("24 rows, no multiple of the 7 heads"), std::string::npos);
}

TEST_F(TinyLlama, FindsTheChatTemplateWhereverItIs) {
  auto open_template = [&] { return Checkpoint::open(folder_.path())->chat_template().value(); };
  EXPECT_EQ(open_template(), std::nullopt);
  write_text(folder_ / "tokenizer_config.json", R"({"chat_template": "one"})");
  EXPECT_EQ(open_template(), "one");
  write_text(folder_ / "tokenizer_config.json",
             R"({"chat_template": [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "two"}]})");
  EXPECT_EQ(open_template(), "two");
  write_text(folder_ / "chat_template.jinja", "three");
  EXPECT_EQ(open_template(), "three");
  EXPECT_EQ(Checkpoint::open(folder_.path())->folder_file("../x").error().code, ErrorCode::kNotFound);
}

TEST(Gemma, NormWeightsAreWhatTheInputIsMultipliedWith) {
  TemporaryFolder folder;
  write_text(folder / "config.json",
             R"({"architectures": ["Gemma3ForCausalLM"], "hidden_size": 4, "intermediate_size": 8,
    "num_hidden_layers": 6, "num_attention_heads": 2, "head_dim": 256, "sliding_window": 5})");
  SafetensorsWriter hf;
  const std::vector<uint16_t> norm = {tensor::f32_to_bf16(0.5F), tensor::f32_to_bf16(-1.0F), 0,
                                      tensor::f32_to_bf16(3.0F)};
  for (const std::string name : {"model.norm.weight", "model.layers.0.self_attn.q_norm.weight",
                                 "model.layers.0.post_feedforward_layernorm.weight"}) {
    hf.tensor(name, DType::kBF16, {4}, std::as_bytes(std::span(norm)));
  }
  hf.tensor("model.embed_tokens.weight", {1, 4}, std::vector<float>{1, 2, 3, 4});
  ASSERT_TRUE(hf.write(folder / "model.safetensors").ok());
  auto checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message;
  for (const char* name : {"output_norm.weight", "blk.0.attn_q_norm.weight", "blk.0.post_ffw_norm.weight"}) {
    EXPECT_EQ(checkpoint->vector(name, 4).value(), (std::vector<float>{1.5F, 0, 1, 4})) << name;
  }
  EXPECT_EQ(checkpoint->vector("token_embd.weight", 4).value(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(checkpoint->metadata().integers("gemma3.attention.sliding_window_pattern").value(),
            (std::vector<int64_t>{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(checkpoint->u64("attention.head_count_kv").value(), 4U) << "the class's default";
  EXPECT_FALSE(checkpoint->has("attention.scale")) << "query_pre_attn_scalar equals head_dim";
  EXPECT_EQ(checkpoint->f64("rope.freq_base").value(), 1e6);
  EXPECT_EQ(checkpoint->f64("rope.freq_base_swa").value(), 1e4);
}

TEST(TensorNames, FollowTheArchitecture) {
  struct Case {
    const char* architecture;
    const char* from;
    const char* to;
  };
  constexpr Case kCases[] = {
      {"llama", "model.embed_tokens.weight", "token_embd.weight"},
      {"llama", "model.norm.weight", "output_norm.weight"},
      {"llama", "lm_head.weight", "output.weight"},
      {"qwen2", "model.layers.12.self_attn.k_proj.bias", "blk.12.attn_k.bias"},
      {"qwen3", "model.layers.0.self_attn.q_norm.weight", "blk.0.attn_q_norm.weight"},
      {"llama", "model.layers.0.post_attention_layernorm.weight", "blk.0.ffn_norm.weight"},
      {"gemma3", "model.layers.0.post_attention_layernorm.weight", "blk.0.post_attention_norm.weight"},
      {"gemma3", "model.layers.0.pre_feedforward_layernorm.weight", "blk.0.ffn_norm.weight"},
      {"gemma3", "language_model.model.layers.3.mlp.down_proj.weight", "blk.3.ffn_down.weight"},
      {"gemma3", "model.language_model.embed_tokens.weight", "token_embd.weight"},
      {"llama", "model.layers.x.mlp.up_proj.weight", "model.layers.x.mlp.up_proj.weight"},
      {"llama", "strange", "strange"},
  };
  for (const Case& c : kCases) EXPECT_EQ(gguf_tensor_name(c.architecture, c.from), c.to) << c.from;
  EXPECT_EQ(gguf_tensor_name("gemma3", "vision_tower.layer.weight"), std::nullopt);
  EXPECT_EQ(gguf_tensor_name("llama", "model.layers.0.self_attn.rotary_emb.inv_freq"), std::nullopt);
}

TEST(Checkpoint, SaysWhatIsWrongWithAPath) {
  TemporaryFolder folder;
  EXPECT_EQ(Checkpoint::open(folder / "absent.gguf").error().code, ErrorCode::kNotFound);
  const auto empty = Checkpoint::open(folder.path());
  ASSERT_FALSE(empty.ok());
  EXPECT_NE(empty.error().message.find("config.json"), std::string::npos);
  EXPECT_NE(empty.error().hint.find("model.safetensors"), std::string::npos);
  EXPECT_EQ(Checkpoint::open(folder / "model.safetensors").error().code, ErrorCode::kInvalidArgument);
  write_text(folder / "text.gguf", "not a model at all, just text");
  EXPECT_NE(Checkpoint::open(folder / "text.gguf").error().message.find("not a GGUF file"), std::string::npos);
}

}  // namespace
}  // namespace brio::weights
