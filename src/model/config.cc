#include "model/config.h"

#include <algorithm>
#include <cmath>

namespace brio::model {
namespace {

using weights::Checkpoint;

// Bounds that no real model reaches; they keep products of sizes far inside 64 bits and allocations sane.
constexpr uint64_t kMaxLayers = 1024;
constexpr uint64_t kMaxWidth = 1 << 20;
constexpr uint64_t kMaxHeads = 4096;
constexpr uint64_t kMaxHeadDim = ops::kMaxHeadDim;
constexpr uint64_t kMaxContext = uint64_t{1} << 24;

Error bad_key(const Checkpoint& checkpoint, std::string_view key, std::string_view why) {
  const auto* entry = checkpoint.is_folder() ? nullptr : checkpoint.metadata().find(checkpoint.full_key(key));
  const std::string where = entry == nullptr ? "" : fmt::format(" (byte {})", entry->offset);
  return error(ErrorCode::kInvalidFile, "{}: '{}' {}{}", checkpoint.path().string(), checkpoint.full_key(key), why,
               where);
}

Result<int> bounded(const Checkpoint& checkpoint, std::string_view key, uint64_t value, uint64_t most) {
  if (value == 0 || value > most) {
    return bad_key(checkpoint, key, fmt::format("is {}, expected 1 to {}", value, most));
  }
  return static_cast<int>(value);
}

Result<int> read_int(const Checkpoint& checkpoint, std::string_view key, uint64_t most) {
  BRIO_TRY(const uint64_t value, checkpoint.u64(key));
  return bounded(checkpoint, key, value, most);
}

Result<int> read_int_or(const Checkpoint& checkpoint, std::string_view key, uint64_t fallback, uint64_t most) {
  BRIO_TRY(const uint64_t value, checkpoint.u64_or(key, fallback));
  return bounded(checkpoint, key, value, most);
}

Result<double> read_positive_or(const Checkpoint& checkpoint, std::string_view key, double fallback) {
  BRIO_TRY(const double value, checkpoint.f64_or(key, fallback));
  if (!std::isfinite(value) || value <= 0) return bad_key(checkpoint, key, fmt::format("is {}, expected > 0", value));
  return value;
}

Result<void> read_rope_scaling(const Checkpoint& checkpoint, const Config& config, ops::RopeSpec& rope) {
  using Scaling = ops::RopeSpec::Scaling;
  // Files from before the type was named: a factor alone meant linear.
  const bool untyped = checkpoint.has("rope.scaling.factor") || checkpoint.has("rope.scale_linear");
  BRIO_TRY(const std::string_view type, checkpoint.string_or("rope.scaling.type", untyped ? "linear" : "none"));
  if (type == "none" || type.empty()) {
    rope.scaling = Scaling::kNone;
  } else if (type == "linear") {
    rope.scaling = Scaling::kLinear;
  } else if (type == "llama3") {
    rope.scaling = Scaling::kLlama3;
  } else if (type == "yarn") {
    rope.scaling = Scaling::kYarn;
  } else {
    return bad_key(checkpoint, "rope.scaling.type",
                   fmt::format("is '{}'; brio knows none, linear, llama3 and yarn", type));
  }
  if (rope.scaling == Scaling::kNone) return {};
  BRIO_TRY(const double old_factor, read_positive_or(checkpoint, "rope.scale_linear", 1.0));
  BRIO_TRY(rope.factor, read_positive_or(checkpoint, "rope.scaling.factor", old_factor));
  BRIO_TRY(rope.low_freq_factor, read_positive_or(checkpoint, "rope.scaling.low_freq_factor", 1.0));
  BRIO_TRY(rope.high_freq_factor, read_positive_or(checkpoint, "rope.scaling.high_freq_factor", 4.0));
  BRIO_TRY(rope.original_context, read_positive_or(checkpoint, "rope.scaling.original_context_length", config.context));
  BRIO_TRY(rope.beta_fast, read_positive_or(checkpoint, "rope.scaling.yarn_beta_fast", 32.0));
  BRIO_TRY(rope.beta_slow, read_positive_or(checkpoint, "rope.scaling.yarn_beta_slow", 1.0));
  BRIO_TRY(rope.attention_factor, checkpoint.f64_or("rope.scaling.attention_factor", 0.0));
  BRIO_TRY(rope.attention_multiplier, read_positive_or(checkpoint, "rope.scaling.attn_factor", 1.0));
  if (!std::isfinite(rope.attention_factor) || rope.attention_factor < 0) {
    return bad_key(checkpoint, "rope.scaling.attention_factor", fmt::format("is {}", rope.attention_factor));
  }
  return {};
}

Result<void> read_rope(const Checkpoint& checkpoint, Config& config) {
  ops::RopeSpec& rope = config.rope;
  BRIO_TRY(rope.base, read_positive_or(checkpoint, "rope.freq_base", 10000.0));
  BRIO_TRY(rope.rotary_dim, read_int_or(checkpoint, "rope.dimension_count", static_cast<uint64_t>(config.head_dim),
                                        static_cast<uint64_t>(config.head_dim)));
  if (rope.rotary_dim % 2 != 0) {
    return bad_key(checkpoint, "rope.dimension_count", fmt::format("is {}, expected an even number", rope.rotary_dim));
  }
  BRIO_TRY_OK(read_rope_scaling(checkpoint, config, rope));
  if (checkpoint.has_tensor("rope_freqs.weight")) {
    BRIO_TRY(rope.frequency_factors, checkpoint.vector("rope_freqs.weight", rope.rotary_dim / 2));
    for (const float factor : rope.frequency_factors) {
      if (!std::isfinite(factor) || factor <= 0) {
        return error(ErrorCode::kInvalidFile, "{}: tensor 'rope_freqs.weight' holds {}, expected values > 0",
                     checkpoint.path().string(), factor);
      }
    }
  }
  config.local_rope = rope;  // window layers: their own base, no scaling
  config.local_rope.scaling = ops::RopeSpec::Scaling::kNone;
  config.local_rope.frequency_factors.clear();
  BRIO_TRY(config.local_rope.base, read_positive_or(checkpoint, "rope.freq_base_swa", 10000.0));
  return {};
}

// Which layers see a window only. Gemma 3: five window layers, then a full one. Others: all layers, where the file says so.
Result<void> read_windows(const Checkpoint& checkpoint, Config& config) {
  config.windows.assign(static_cast<size_t>(config.num_layers), 0);
  if (!checkpoint.has("attention.sliding_window")) return {};
  BRIO_TRY(const uint64_t window, checkpoint.u64("attention.sliding_window"));
  if (window == 0) return {};
  BRIO_TRY(const int size, bounded(checkpoint, "attention.sliding_window", window, kMaxContext));
  const std::string key = checkpoint.full_key("attention.sliding_window_pattern");
  const bool gemma = config.architecture == "gemma3";
  if (checkpoint.metadata().is_array(key)) {
    BRIO_TRY(const std::vector<int64_t> pattern, checkpoint.metadata().integers(key));
    if (pattern.size() != config.windows.size()) {
      return bad_key(checkpoint, "attention.sliding_window_pattern",
                     fmt::format("has {} entries for {} layers", pattern.size(), config.num_layers));
    }
    for (size_t l = 0; l < config.windows.size(); ++l) config.windows[l] = pattern[l] != 0 ? size : 0;
    return {};
  }
  BRIO_TRY(const uint64_t period, checkpoint.u64_or("attention.sliding_window_pattern", gemma ? 6 : 0));
  for (size_t l = 0; l < config.windows.size(); ++l) {
    const bool full = period > 0 && l % period == period - 1;
    config.windows[l] = full ? 0 : size;
  }
  return {};
}

Result<void> read_attention(const Checkpoint& checkpoint, Config& config) {
  BRIO_TRY(config.num_heads, read_int(checkpoint, "attention.head_count", kMaxHeads));
  BRIO_TRY(config.num_kv_heads,
           read_int_or(checkpoint, "attention.head_count_kv", static_cast<uint64_t>(config.num_heads), kMaxHeads));
  if (config.num_heads % config.num_kv_heads != 0) {
    return bad_key(
        checkpoint, "attention.head_count_kv",
        fmt::format("is {}, which does not divide the {} query heads", config.num_kv_heads, config.num_heads));
  }
  if (!checkpoint.has("attention.key_length") && config.hidden % config.num_heads != 0) {
    return bad_key(checkpoint, "embedding_length",
                   fmt::format("is {}, not a multiple of {} heads", config.hidden, config.num_heads));
  }
  BRIO_TRY(config.head_dim, read_int_or(checkpoint, "attention.key_length",
                                        static_cast<uint64_t>(config.hidden / config.num_heads), kMaxHeadDim));
  BRIO_TRY(const int value_length,
           read_int_or(checkpoint, "attention.value_length", static_cast<uint64_t>(config.head_dim), kMaxHeadDim));
  if (value_length != config.head_dim) {
    return bad_key(checkpoint, "attention.value_length",
                   fmt::format("is {}, brio needs it equal to the key length {}", value_length, config.head_dim));
  }
  if (config.head_dim % 2 != 0) {
    return bad_key(checkpoint, "attention.key_length", fmt::format("is {}, expected an even number", config.head_dim));
  }
  // Gemma 3 27B scales by its hidden size per head instead of head_dim; its GGUF says so only through its 62 layers.
  const bool gemma_27b = config.architecture == "gemma3" && config.num_layers == 62;
  const double scale_dim = gemma_27b ? static_cast<double>(config.hidden) / config.num_heads : config.head_dim;
  BRIO_TRY(const double scale, read_positive_or(checkpoint, "attention.scale", 1.0 / std::sqrt(scale_dim)));
  config.attention_scale = static_cast<float>(scale);
  return {};
}

}  // namespace

Result<Config> read_config(const Checkpoint& checkpoint, tensor::KvType kv_type) {
  Config config;
  config.architecture = checkpoint.architecture();
  config.kv_type = kv_type;
  const auto& known = known_architectures();
  if (std::find(known.begin(), known.end(), config.architecture) == known.end()) {
    return error(ErrorCode::kUnsupported, "{}: architecture '{}' is not supported; brio knows {}",
                 checkpoint.path().string(), config.architecture, fmt::join(known, ", "));
  }
  BRIO_TRY(config.num_layers, read_int(checkpoint, "block_count", kMaxLayers));
  BRIO_TRY(config.hidden, read_int(checkpoint, "embedding_length", kMaxWidth));
  BRIO_TRY(config.feed_forward, read_int(checkpoint, "feed_forward_length", kMaxWidth));
  BRIO_TRY(config.context, read_int(checkpoint, "context_length", kMaxContext));
  BRIO_TRY(const double epsilon, read_positive_or(checkpoint, "attention.layer_norm_rms_epsilon", 1e-6));
  config.norm_epsilon = static_cast<float>(epsilon);
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    BRIO_TRY(const double cap, checkpoint.f64_or(key, 0.0));
    if (cap != 0.0) {
      return error(ErrorCode::kUnsupported, "{}: '{}' is {}; brio does not cap logits", checkpoint.path().string(),
                   checkpoint.full_key(key), cap);
    }
  }
  BRIO_TRY_OK(read_attention(checkpoint, config));
  BRIO_TRY_OK(read_rope(checkpoint, config));
  BRIO_TRY_OK(read_windows(checkpoint, config));
  if (config.architecture == "gemma3") config.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  BRIO_TRY(const weights::TensorView embedding, checkpoint.tensor("token_embd.weight"));
  if (embedding.rows < 1 || embedding.rows > static_cast<int64_t>(kMaxWidth) * 4) {
    return error(ErrorCode::kInvalidFile, "{}: tensor 'token_embd.weight' has {} rows", checkpoint.path().string(),
                 embedding.rows);
  }
  config.vocab = static_cast<int>(embedding.rows);
  return config;
}

tensor::KvSpec kv_spec(const Config& config, int layer) {
  tensor::KvSpec spec;
  spec.window = config.windows[static_cast<size_t>(layer)];
  spec.kind = spec.window > 0 ? tensor::KvSpec::Kind::kWindow : tensor::KvSpec::Kind::kFull;
  spec.num_kv_heads = config.num_kv_heads;
  spec.head_dim = config.head_dim;
  spec.type = config.kv_type;
  return spec;
}

int64_t kv_bytes_per_token(const Config& config) {
  int64_t bytes = 0;
  for (int l = 0; l < config.num_layers; ++l) {
    const tensor::KvSpec spec = kv_spec(config, l);
    if (spec.kind == tensor::KvSpec::Kind::kFull) bytes += tensor::record_bytes(spec) / tensor::kBlockTokens;
  }
  return bytes;
}

}  // namespace brio::model
