#include "weights/hf_config.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <cmath>
#include <optional>
#include <vector>

namespace brio::weights {
namespace {

namespace json = boost::json;

constexpr uint64_t kMaxLayers = 4096;

struct Family {
  std::string_view class_name;
  std::string_view architecture;
  std::string_view activation;
  bool all_windows = false;  // sliding_window, where given, holds for every layer
};
constexpr Family kFamilies[] = {
    {"LlamaForCausalLM", "llama", "silu"},
    {"MistralForCausalLM", "llama", "silu", true},
    {"Qwen2ForCausalLM", "qwen2", "silu"},
    {"Qwen3ForCausalLM", "qwen3", "silu"},
    {"Gemma3ForCausalLM", "gemma3", "gelu_pytorch_tanh"},
    {"Gemma3ForConditionalGeneration", "gemma3", "gelu_pytorch_tanh"},
};

// What the class assumes for fields that its config.json may leave out.
struct Default {
  std::string_view architecture;  // empty: all
  std::string_view field;
  double value;
};
constexpr Default kDefaults[] = {
    {"", "rms_norm_eps", 1e-6},
    {"qwen3", "head_dim", 128},
    {"gemma3", "vocab_size", 262208},
    {"gemma3", "num_attention_heads", 8},
    {"gemma3", "num_key_value_heads", 4},
    {"gemma3", "head_dim", 256},
    {"gemma3", "max_position_embeddings", 131072},
    {"gemma3", "query_pre_attn_scalar", 256},
    {"gemma3", "sliding_window", 4096},
    {"gemma3", "sliding_window_pattern", 6},
};

// Typed access to the fields of one JSON object. Null is absent.
class Fields {
 public:
  explicit Fields(const json::object& object) : object_(object) {}

  const json::value* find(std::string_view name) const {
    const json::value* value = object_.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  Result<std::optional<uint64_t>> natural(std::string_view name) const {
    const json::value* value = find(name);
    if (value == nullptr) return std::optional<uint64_t>{};
    if (value->is_int64() && value->get_int64() >= 0) return std::optional(static_cast<uint64_t>(value->get_int64()));
    return error(ErrorCode::kInvalidFile, "field '{}' is no whole number of zero or more", name);
  }
  Result<std::optional<double>> number(std::string_view name) const {
    const json::value* value = find(name);
    if (value == nullptr) return std::optional<double>{};
    if (value->is_number() && std::isfinite(value->to_number<double>()))
      return std::optional(value->to_number<double>());
    return error(ErrorCode::kInvalidFile, "field '{}' is not a number", name);
  }
  Result<std::optional<std::string>> text(std::string_view name) const {
    const json::value* value = find(name);
    if (value == nullptr) return std::optional<std::string>{};
    if (value->is_string()) return std::optional(std::string(std::string_view(value->get_string())));
    return error(ErrorCode::kInvalidFile, "field '{}' is not a string", name);
  }
  Result<std::optional<bool>> boolean(std::string_view name) const {
    const json::value* value = find(name);
    if (value == nullptr) return std::optional<bool>{};
    if (value->is_bool()) return std::optional(value->get_bool());
    return error(ErrorCode::kInvalidFile, "field '{}' is not true or false", name);
  }
  Result<const json::object*> object(std::string_view name) const {  // null if absent
    const json::value* value = find(name);
    if (value == nullptr) return nullptr;
    if (value->is_object()) return &value->get_object();
    return error(ErrorCode::kInvalidFile, "field '{}' is no object", name);
  }

 private:
  const json::object& object_;
};

// One translation in progress: reads `in`, writes keys prefixed with the architecture.
struct Translation {
  Fields in;
  TranslatedConfig& out;
  const Family& family;

  std::string key(std::string_view name) const { return fmt::format("{}.{}", out.architecture, name); }
  Result<std::optional<uint64_t>> copy_natural(std::string_view field, std::string_view name) {
    BRIO_TRY(std::optional<uint64_t> value, in.natural(field));
    if (value && *value > UINT32_MAX)
      return error(ErrorCode::kInvalidFile, "field '{}' is {}, out of range", field, *value);
    if (value) out.keys.u32(key(name), static_cast<uint32_t>(*value));
    return value;
  }
  // fp32, as converters store it in GGUF files, so that both kinds of file give equal numbers.
  Result<void> copy_number(const Fields& from, std::string_view field, std::string_view name) {
    BRIO_TRY(std::optional<double> value, from.number(field));
    if (value) out.keys.f32(key(name), static_cast<float>(*value));
    return {};
  }
};

Result<void> check_supported(const Fields& in, const Family& family) {
  BRIO_TRY(std::optional<std::string> act, in.text("hidden_act"));
  if (in.find("hidden_activation") != nullptr) {
    BRIO_TRY(act, in.text("hidden_activation"));
  }
  if (act && *act != family.activation) {
    return error(ErrorCode::kUnsupported, "field 'hidden_act' is '{}', {} uses '{}'", *act, family.class_name,
                 family.activation);
  }
  BRIO_TRY(std::optional<bool> mlp_bias, in.boolean("mlp_bias"));
  if (mlp_bias.value_or(false)) return error(ErrorCode::kUnsupported, "field 'mlp_bias': feed-forward biases");
  if (in.find("quantization_config") != nullptr) {
    return error(ErrorCode::kUnsupported, "field 'quantization_config': brio reads F32, F16 and BF16 safetensors");
  }
  return {};
}

Result<void> translate_shape(Translation& t) {
  constexpr std::pair<std::string_view, std::string_view> kRequired[] = {
      {"hidden_size", "embedding_length"},           {"intermediate_size", "feed_forward_length"},
      {"num_hidden_layers", "block_count"},          {"num_attention_heads", "attention.head_count"},
      {"max_position_embeddings", "context_length"}, {"vocab_size", "vocab_size"}};
  for (const auto& [field, name] : kRequired) {
    BRIO_TRY(std::optional<uint64_t> value, t.copy_natural(field, name));
    if (!value || *value == 0) return error(ErrorCode::kInvalidFile, "field '{}' is missing or 0", field);
  }
  BRIO_TRY(std::optional<uint64_t> hidden, t.in.natural("hidden_size"));
  BRIO_TRY(std::optional<uint64_t> heads, t.in.natural("num_attention_heads"));
  BRIO_TRY(std::optional<uint64_t> kv_heads, t.copy_natural("num_key_value_heads", "attention.head_count_kv"));
  if (!kv_heads) t.out.keys.u32(t.key("attention.head_count_kv"), static_cast<uint32_t>(*heads));
  BRIO_TRY(std::optional<uint64_t> head_dim, t.in.natural("head_dim"));
  if (!head_dim && *hidden % *heads != 0) {
    return error(ErrorCode::kInvalidFile, "field 'hidden_size' {} is not a multiple of 'num_attention_heads' {}",
                 *hidden, *heads);
  }
  const uint64_t dim = head_dim.value_or(*hidden / *heads);
  if (dim == 0 || dim > UINT16_MAX) return error(ErrorCode::kInvalidFile, "field 'head_dim' is {}, out of range", dim);
  t.out.keys.u32(t.key("attention.key_length"), static_cast<uint32_t>(dim));
  t.out.keys.u32(t.key("attention.value_length"), static_cast<uint32_t>(dim));
  BRIO_TRY(std::optional<double> rotary, t.in.number("partial_rotary_factor"));
  if (rotary && (*rotary <= 0 || *rotary > 1)) {
    return error(ErrorCode::kInvalidFile, "field 'partial_rotary_factor' is {}, out of range", *rotary);
  }
  t.out.keys.u32(t.key("rope.dimension_count"), static_cast<uint32_t>(static_cast<double>(dim) * rotary.value_or(1.0)));
  BRIO_TRY(std::optional<double> scalar, t.in.number("query_pre_attn_scalar"));
  if (scalar && *scalar <= 0) return error(ErrorCode::kInvalidFile, "field 'query_pre_attn_scalar' is {}", *scalar);
  if (scalar && *scalar != static_cast<double>(dim)) {
    t.out.keys.f32(t.key("attention.scale"), static_cast<float>(1.0 / std::sqrt(*scalar)));
  }
  return {};
}

Result<void> translate_rope_scaling(Translation& t, const Fields& scaling) {
  BRIO_TRY(std::optional<std::string> type, scaling.text("rope_type"));
  if (!type) {
    BRIO_TRY(type, scaling.text("type"));
  }
  if (!type || *type == "default" || *type == "none") return {};
  if (*type != "linear" && *type != "llama3" && *type != "yarn") {
    return error(ErrorCode::kUnsupported, "field 'rope_scaling': type '{}'; brio knows linear, llama3 and yarn", *type);
  }
  for (const std::string_view field : {"mscale", "mscale_all_dim"}) {
    if (scaling.find(field) != nullptr) return error(ErrorCode::kUnsupported, "field 'rope_scaling': '{}'", field);
  }
  BRIO_TRY(std::optional<bool> truncate, scaling.boolean("truncate"));
  if (!truncate.value_or(true)) return error(ErrorCode::kUnsupported, "field 'rope_scaling': 'truncate' is false");
  BRIO_TRY(std::optional<double> factor, scaling.number("factor"));
  if (!factor || *factor <= 0)
    return error(ErrorCode::kInvalidFile, "field 'rope_scaling': 'factor' is missing or not positive");
  t.out.keys.string(t.key("rope.scaling.type"), *type);
  t.out.keys.f32(t.key("rope.scaling.factor"), static_cast<float>(*factor));
  if (*type == "linear") return {};
  BRIO_TRY(std::optional<uint64_t> original, scaling.natural("original_max_position_embeddings"));
  if (!original) {
    BRIO_TRY(original, t.in.natural("max_position_embeddings"));
  }
  if (*original > UINT32_MAX)
    return error(ErrorCode::kInvalidFile, "field 'original_max_position_embeddings' is {}, out of range", *original);
  t.out.keys.u32(t.key("rope.scaling.original_context_length"), static_cast<uint32_t>(*original));
  if (*type == "llama3") {
    BRIO_TRY_OK(t.copy_number(scaling, "low_freq_factor", "rope.scaling.low_freq_factor"));
    return t.copy_number(scaling, "high_freq_factor", "rope.scaling.high_freq_factor");
  }
  BRIO_TRY_OK(t.copy_number(scaling, "attention_factor", "rope.scaling.attention_factor"));
  BRIO_TRY_OK(t.copy_number(scaling, "beta_fast", "rope.scaling.yarn_beta_fast"));
  return t.copy_number(scaling, "beta_slow", "rope.scaling.yarn_beta_slow");
}

// Older files have rope_theta and rope_scaling; newer ones rope_parameters, for Gemma 3 one per layer type.
Result<void> translate_rope(Translation& t) {
  const json::object none;
  BRIO_TRY(const json::object* global, t.in.object("rope_parameters"));
  const json::object* local = &none;
  if (global != nullptr) {
    const Fields parameters(*global);
    BRIO_TRY(const json::object* full, parameters.object("full_attention"));
    if (full != nullptr) {
      global = full;
      BRIO_TRY(local, parameters.object("sliding_attention"));
      if (local == nullptr)
        return error(ErrorCode::kInvalidFile, "field 'rope_parameters': 'sliding_attention' is missing");
    }
  }
  const bool gemma = t.out.architecture == "gemma3";
  const Fields from = global != nullptr && Fields(*global).find("rope_theta") != nullptr ? Fields(*global) : t.in;
  BRIO_TRY(std::optional<double> theta, from.number("rope_theta"));
  t.out.keys.f32(t.key("rope.freq_base"), static_cast<float>(theta.value_or(gemma ? 1e6 : 1e4)));
  if (gemma) {
    BRIO_TRY(std::optional<double> local_theta, Fields(*local).number("rope_theta"));
    if (!local_theta) {
      BRIO_TRY(local_theta, t.in.number("rope_local_base_freq"));
    }
    t.out.keys.f32(t.key("rope.freq_base_swa"), static_cast<float>(local_theta.value_or(1e4)));
  }
  BRIO_TRY(const json::object* scaling, t.in.object("rope_scaling"));
  if (global != nullptr) scaling = global;
  return scaling == nullptr ? Result<void>() : translate_rope_scaling(t, Fields(*scaling));
}

// Which layers see a window only; empty: none.
Result<std::vector<bool>> window_layers(const Translation& t, uint64_t num_layers) {
  std::vector<bool> windowed(num_layers, false);
  if (const json::value* types = t.in.find("layer_types")) {
    if (!types->is_array() || types->get_array().size() != num_layers) {
      return error(ErrorCode::kInvalidFile, "field 'layer_types' does not list {} layers", num_layers);
    }
    for (size_t i = 0; i < num_layers; ++i) {
      const json::value& type = types->get_array()[i];
      windowed[i] = type == "sliding_attention";
      if (!windowed[i] && type != "full_attention") {
        return error(ErrorCode::kUnsupported, "field 'layer_types': layer {} is neither full nor sliding attention", i);
      }
    }
    return windowed;
  }
  if (t.out.architecture == "gemma3") {
    BRIO_TRY(std::optional<uint64_t> pattern, t.in.natural("_sliding_window_pattern"));
    if (!pattern) {
      BRIO_TRY(pattern, t.in.natural("sliding_window_pattern"));
    }
    if (*pattern == 0) return error(ErrorCode::kInvalidFile, "field 'sliding_window_pattern' is 0");
    for (size_t i = 0; i < num_layers; ++i) windowed[i] = (i + 1) % *pattern != 0;
    return windowed;
  }
  if (t.out.architecture == "llama") return std::vector<bool>(num_layers, t.family.all_windows);
  BRIO_TRY(std::optional<bool> use, t.in.boolean("use_sliding_window"));
  if (!use.value_or(false)) return windowed;
  BRIO_TRY(std::optional<uint64_t> first, t.in.natural("max_window_layers"));
  for (size_t i = first.value_or(28); i < num_layers; ++i) windowed[i] = true;
  return windowed;
}

Result<void> translate_windows(Translation& t) {
  BRIO_TRY(std::optional<uint64_t> num_layers, t.in.natural("num_hidden_layers"));
  if (*num_layers > kMaxLayers) {
    return error(ErrorCode::kInvalidFile, "field 'num_hidden_layers' is {}, the most is {}", *num_layers, kMaxLayers);
  }
  BRIO_TRY(std::optional<uint64_t> window, t.in.natural("sliding_window"));
  if (!window || *window == 0) return {};
  BRIO_TRY(std::vector<bool> windowed, window_layers(t, *num_layers));
  const auto count = std::count(windowed.begin(), windowed.end(), true);
  if (count == 0) return {};
  BRIO_TRY_OK(t.copy_natural("sliding_window", "attention.sliding_window"));
  const bool all = static_cast<uint64_t>(count) == *num_layers;
  if (!all || t.out.architecture == "gemma3") t.out.keys.bools(t.key("attention.sliding_window_pattern"), windowed);
  return {};
}

// Ids that end generation: one number or a list.
Result<void> translate_token_ids(const Fields& config, const Fields& generation, GgufWriter& keys) {
  for (const std::string_view field : {"bos_token_id", "eos_token_id"}) {
    const json::value* value = generation.find(field);
    if (value == nullptr) value = config.find(field);
    if (value == nullptr) continue;
    std::vector<int32_t> ids;
    const json::array one{*value};
    for (const json::value& id : value->is_array() ? value->get_array() : one) {
      if (!id.is_int64() || id.get_int64() < 0 || id.get_int64() > INT32_MAX) {
        return error(ErrorCode::kInvalidFile, "field '{}' holds no token id", field);
      }
      ids.push_back(static_cast<int32_t>(id.get_int64()));
    }
    if (ids.empty()) continue;
    keys.u32(fmt::format("tokenizer.ggml.{}", field), static_cast<uint32_t>(ids[0]));
    if (field == "eos_token_id") keys.i32s("tokenizer.ggml.eos_token_ids", ids);
  }
  return {};
}

Result<std::string> class_name(const json::object& config) {
  const json::value* list = Fields(config).find("architectures");
  if (list != nullptr && list->is_array() && !list->get_array().empty() && list->get_array()[0].is_string()) {
    return std::string(std::string_view(list->get_array()[0].get_string()));
  }
  return error(ErrorCode::kInvalidFile, "field 'architectures' is missing or names no class");
}

json::object with_defaults(json::object config, std::string_view architecture) {
  for (const Default& d : kDefaults) {
    const bool applies = d.architecture.empty() || d.architecture == architecture;
    const bool whole = d.value == std::floor(d.value);
    const json::value* given = config.if_contains(d.field);
    if (applies && (given == nullptr || given->is_null())) {
      config[d.field] = whole ? json::value(static_cast<int64_t>(d.value)) : json::value(d.value);
    }
  }
  return config;
}

}  // namespace

Result<TranslatedConfig> translate_config(const json::object& config, const json::object& generation) {
  TranslatedConfig out;
  BRIO_TRY(std::string class_label, class_name(config));
  const Family* family = nullptr;
  for (const Family& candidate : kFamilies) {
    if (candidate.class_name == class_label) family = &candidate;
  }
  out.known = family != nullptr;
  out.architecture = out.known ? std::string(family->architecture) : class_label;
  out.keys.string("general.architecture", out.architecture);
  if (!out.known) return out;
  BRIO_TRY(const json::object* text, Fields(config).object("text_config"));
  const json::object merged = with_defaults(text != nullptr ? *text : config, out.architecture);
  Translation t{Fields(merged), out, *family};
  BRIO_TRY_OK(check_supported(t.in, t.family));
  BRIO_TRY_OK(translate_shape(t));
  for (const auto& [field, name] : {std::pair{"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
                                    {"attn_logit_softcapping", "attn_logit_softcapping"},
                                    {"final_logit_softcapping", "final_logit_softcapping"}}) {
    BRIO_TRY_OK(t.copy_number(t.in, field, name));
  }
  BRIO_TRY_OK(translate_rope(t));
  BRIO_TRY_OK(translate_windows(t));
  BRIO_TRY_OK(translate_token_ids(Fields(config), Fields(generation), out.keys));
  BRIO_TRY(std::optional<bool> tied, Fields(config).boolean("tie_word_embeddings"));
  out.norms_add_one = out.architecture == "gemma3";
  out.tied = tied.value_or(out.architecture == "gemma3");
  return out;
}

}  // namespace brio::weights
