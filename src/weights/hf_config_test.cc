// config.json of the families and generations of files that exist, and of hostile ones.
#include "weights/hf_config.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <map>
#include <string>

#include "weights/metadata.h"

namespace brio::weights {
namespace {

namespace json = boost::json;

json::object base_config(std::string_view class_name) {
  json::object config = {{"hidden_size", 32},
                         {"intermediate_size", 64},
                         {"num_hidden_layers", 4},
                         {"num_attention_heads", 4},
                         {"vocab_size", 100},
                         {"max_position_embeddings", 1024},
                         {"architectures", {json::value(class_name)}}};
  return config;
}

// The translated keys as text, without the architecture's prefix.
std::map<std::string, std::string> keys_of(const json::object& config) {
  auto translated = translate_config(config, {});
  if (!translated.ok()) return {{"error", translated.error().message}};
  ByteReader in(std::as_bytes(std::span(translated->keys.key_bytes())));
  auto metadata = Metadata::parse(in, translated->keys.num_keys());
  if (!metadata.ok()) return {{"error", metadata.error().message}};
  std::map<std::string, std::string> keys;
  const std::string prefix = translated->architecture + ".";
  for (const MetadataEntry& entry : metadata->entries()) {
    const std::string key(entry.key.starts_with(prefix) ? entry.key.substr(prefix.size()) : entry.key);
    keys[key] = Metadata::describe(entry);
    if (entry.element == ValueType::kBool && entry.type == ValueType::kArray) {
      keys[key].clear();
      const std::vector<int64_t> bits = metadata->integers(entry.key).value();
      for (const int64_t bit : bits) keys[key] += bit != 0 ? 'w' : 'f';
    }
  }
  return keys;
}

TEST(HfConfig, KnowsTheClassesAndPassesOthersThrough) {
  const std::map<std::string, std::string> kClasses = {{"LlamaForCausalLM", "llama"},
                                                       {"MistralForCausalLM", "llama"},
                                                       {"Qwen2ForCausalLM", "qwen2"},
                                                       {"Qwen3ForCausalLM", "qwen3"},
                                                       {"Gemma3ForCausalLM", "gemma3"}};
  for (const auto& [class_name, architecture] : kClasses) {
    EXPECT_EQ(keys_of(base_config(class_name))["general.architecture"], "\"" + architecture + "\"");
  }
  auto unknown = translate_config(base_config("GPT2LMHeadModel"), {});
  ASSERT_TRUE(unknown.ok());
  EXPECT_FALSE(unknown->known);
  EXPECT_EQ(unknown->architecture, "GPT2LMHeadModel");
  EXPECT_EQ(unknown->keys.num_keys(), 1U);
  EXPECT_NE(keys_of({})["error"].find("'architectures'"), std::string::npos);
}

TEST(HfConfig, FillsInWhatTheClassAssumes) {
  auto keys = keys_of(base_config("LlamaForCausalLM"));
  EXPECT_EQ(keys["attention.head_count_kv"], "4");
  EXPECT_EQ(keys["attention.key_length"], "8");
  EXPECT_EQ(keys["rope.dimension_count"], "8");
  EXPECT_EQ(keys["rope.freq_base"], "10000");
  EXPECT_EQ(keys["attention.layer_norm_rms_epsilon"], "1e-06");
  EXPECT_EQ(keys_of(base_config("Qwen3ForCausalLM"))["attention.key_length"], "128");
}

TEST(HfConfig, TranslatesRopeScalings) {
  json::object config = base_config("LlamaForCausalLM");
  config["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  auto keys = keys_of(config);
  EXPECT_EQ(keys["rope.scaling.type"], "\"linear\"");
  EXPECT_EQ(keys["rope.scaling.factor"], "2");
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 8192}};
  keys = keys_of(config);
  EXPECT_EQ(keys["rope.scaling.type"], "\"llama3\"");
  EXPECT_EQ(keys["rope.scaling.low_freq_factor"], "1");
  EXPECT_EQ(keys["rope.scaling.high_freq_factor"], "4");
  EXPECT_EQ(keys["rope.scaling.original_context_length"], "8192");
  config["rope_scaling"] = {{"type", "yarn"}, {"factor", 4.0}, {"attention_factor", 1.25}, {"beta_fast", 16}};
  keys = keys_of(config);
  EXPECT_EQ(keys["rope.scaling.type"], "\"yarn\"");
  EXPECT_EQ(keys["rope.scaling.original_context_length"], "1024") << "the trained context where the field is absent";
  EXPECT_EQ(keys["rope.scaling.attention_factor"], "1.25");
  EXPECT_EQ(keys["rope.scaling.yarn_beta_fast"], "16");
  config["rope_scaling"] = nullptr;
  EXPECT_FALSE(keys_of(config).contains("rope.scaling.type"));
  config["rope_scaling"] = {{"type", "dynamic"}, {"factor", 4.0}};
  EXPECT_NE(keys_of(config)["error"].find("'rope_scaling': type 'dynamic'"), std::string::npos);
}

TEST(HfConfig, ReadsTheNewerRopeParameters) {
  json::object config = base_config("Qwen3ForCausalLM");
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5000000}};
  EXPECT_EQ(keys_of(config)["rope.freq_base"], "5000000");
  config = base_config("Gemma3ForCausalLM");
  config["rope_parameters"] = {
      {"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1000000.0}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 20000.0}}}};
  auto keys = keys_of(config);
  EXPECT_EQ(keys["rope.freq_base"], "1000000");
  EXPECT_EQ(keys["rope.freq_base_swa"], "20000");
  EXPECT_EQ(keys["rope.scaling.factor"], "8");
}

TEST(HfConfig, FindsTheWindowLayers) {
  json::object mistral = base_config("MistralForCausalLM");
  mistral["sliding_window"] = 512;
  auto keys = keys_of(mistral);
  EXPECT_EQ(keys["attention.sliding_window"], "512");
  EXPECT_FALSE(keys.contains("attention.sliding_window_pattern")) << "all layers";
  json::object qwen = base_config("Qwen2ForCausalLM");
  qwen["sliding_window"] = 512;
  qwen["max_window_layers"] = 3;
  EXPECT_FALSE(keys_of(qwen).contains("attention.sliding_window")) << "use_sliding_window is off by default";
  qwen["use_sliding_window"] = true;
  EXPECT_EQ(keys_of(qwen)["attention.sliding_window_pattern"], "fffw");
  qwen["layer_types"] = {"sliding_attention", "full_attention", "full_attention", "sliding_attention"};
  EXPECT_EQ(keys_of(qwen)["attention.sliding_window_pattern"], "wffw");
  qwen["layer_types"] = json::array{"sliding_attention"};
  EXPECT_NE(keys_of(qwen)["error"].find("'layer_types' does not list 4 layers"), std::string::npos);
  qwen["layer_types"] = {"full_attention", "full_attention", "mamba", "full_attention"};
  EXPECT_NE(keys_of(qwen)["error"].find("layer 2"), std::string::npos);
}

TEST(HfConfig, ScalesGemmasScoresByItsOwnNumber) {
  json::object config = base_config("Gemma3ForCausalLM");
  config["query_pre_attn_scalar"] = 168;
  EXPECT_EQ(keys_of(config)["attention.scale"], fmt::format("{}", static_cast<float>(1 / std::sqrt(168.0))));
}

TEST(HfConfig, ReadsTheTextPartOfMultimodalModels) {
  json::object config = {{"architectures", {"Gemma3ForConditionalGeneration"}}};
  json::object text = base_config("x");
  text["num_attention_heads"] = 16;
  config["text_config"] = text;
  EXPECT_EQ(keys_of(config)["attention.head_count"], "16");
}

TEST(HfConfig, TakesStopIdsFromTheGenerationConfig) {
  json::object config = base_config("LlamaForCausalLM");
  config["eos_token_id"] = 7;
  auto translated = translate_config(config, {{"eos_token_id", {3, 4}}, {"bos_token_id", 1}});
  ASSERT_TRUE(translated.ok());
  ByteReader in(std::as_bytes(std::span(translated->keys.key_bytes())));
  auto metadata = Metadata::parse(in, translated->keys.num_keys());
  ASSERT_TRUE(metadata.ok());
  EXPECT_EQ(metadata->u64("tokenizer.ggml.eos_token_id").value(), 3U);
  EXPECT_EQ(metadata->u64("tokenizer.ggml.bos_token_id").value(), 1U);
  EXPECT_EQ(metadata->integers("tokenizer.ggml.eos_token_ids").value(), (std::vector<int64_t>{3, 4}));
}

TEST(HfConfig, NamesTheFieldAtFault) {
  const std::pair<std::string, json::value> kFaults[] = {
      {"hidden_size", -1},
      {"hidden_size", "32"},
      {"hidden_size", nullptr},
      {"num_attention_heads", 0},
      {"num_attention_heads", 5},
      {"num_hidden_layers", 1000000000000},
      {"rms_norm_eps", "small"},
      {"rope_theta", json::array{}},
      {"rope_scaling", "linear"},
      {"rope_parameters", 3},
      {"text_config", 7},
      {"mlp_bias", true},
      {"hidden_act", "relu"},
      {"quantization_config", json::object{{"bits", 4}}},
      {"partial_rotary_factor", 3},
      {"head_dim", 0},
      {"eos_token_id", -4},
  };
  for (const auto& [field, value] : kFaults) {
    json::object config = base_config("LlamaForCausalLM");
    config[field] = value;
    EXPECT_NE(keys_of(config)["error"].find("'" + field + "'"), std::string::npos) << field << " = " << value;
  }
  json::object config = base_config("LlamaForCausalLM");
  config["rope_parameters"] = json::object{{"full_attention", true}};
  EXPECT_NE(keys_of(config)["error"].find("'full_attention' is no object"), std::string::npos);
  config = base_config("LlamaForCausalLM");
  config["num_hidden_layers"] = 4000000000;
  config["sliding_window"] = 4;
  EXPECT_NE(keys_of(config)["error"].find("'num_hidden_layers' is 4000000000"), std::string::npos);
}

}  // namespace
}  // namespace brio::weights
