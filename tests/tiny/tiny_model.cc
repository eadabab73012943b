#include "tiny/tiny_model.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>

#include "base/hash.h"
#include "base/rng.h"
#include "tensor/float16.h"
#include "tiny/tiny_vocabulary.h"
#include "weights/gguf_writer.h"
#include "weights/safetensors_writer.h"

namespace brio::tiny {
namespace {

using tensor::DType;

// One weight: fp32 rows [rows, cols] in Hugging Face's row order, or block bytes for quantised types.
struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<std::byte> bytes;
};

void put_f16(std::byte* at, float value) {
  const uint16_t half = tensor::f32_to_f16(value);
  std::memcpy(at, &half, sizeof(half));
}

// Byte offsets of a block's f16 scale and min (-1: none).
struct ScaleOffsets {
  int scale;
  int min;
};
ScaleOffsets scale_offsets(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ2_K:
      return {80, 82};
    case DType::kQ3_K:
      return {108, -1};
    case DType::kQ6_K:
      return {208, -1};
    default:
      return {0, -1};
  }
}

// Random codes and sub-scales under scales that keep the values near +-bound.
std::vector<std::byte> random_blocks(DType type, int64_t elements, float bound, Rng& rng) {
  const auto& traits = tensor::traits(type);
  const int64_t blocks = elements / traits.block_elements;
  std::vector<std::byte> bytes(static_cast<size_t>(blocks * traits.block_bytes));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.next());
  const bool sub_scales = traits.block_elements == 256;
  const float steps = type == DType::kQ8_0 || type == DType::kIQ4_NL ? 127.0F : sub_scales ? 600.0F : 12.0F;
  const ScaleOffsets offsets = scale_offsets(type);
  for (int64_t b = 0; b < blocks; ++b) {
    std::byte* block = &bytes[static_cast<size_t>(b * traits.block_bytes)];
    put_f16(block + offsets.scale, bound / steps * rng.uniform(0.5F, 1.5F));
    if (offsets.min >= 0) put_f16(block + offsets.min, (sub_scales ? bound / 60.0F : -bound) * rng.uniform(0.5F, 1.0F));
  }
  return bytes;
}

std::vector<std::byte> random_floats(DType type, int64_t elements, float bound, Rng& rng) {
  std::vector<std::byte> bytes(static_cast<size_t>(tensor::row_bytes(type, elements)));
  for (int64_t i = 0; i < elements; ++i) {
    const float value = rng.uniform(-bound, bound);
    if (type == DType::kF32) {
      std::memcpy(&bytes[static_cast<size_t>(4 * i)], &value, 4);
    } else {
      const uint16_t half =
          type == DType::kF16 ? tensor::f32_to_f16(value) : static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
      std::memcpy(&bytes[static_cast<size_t>(2 * i)], &half, 2);
    }
  }
  return bytes;
}

// GGUF's llama files hold q and k rows for interleaved rotary pairs: row 2i + j of a head is half-split row j d/2 + i.
Matrix interleave_heads(const Matrix& in, int head_dim) {
  Matrix out = in;
  const size_t row = in.bytes.size() / static_cast<size_t>(in.rows);
  for (int64_t r = 0; r < in.rows; ++r) {
    const int64_t head = r / head_dim;
    const int64_t inside = r % head_dim;
    const int64_t source = head * head_dim + inside % 2 * (head_dim / 2) + inside / 2;
    std::memcpy(&out.bytes[static_cast<size_t>(r) * row], &in.bytes[static_cast<size_t>(source) * row], row);
  }
  return out;
}

std::vector<float> interleave_heads(const std::vector<float>& in, int head_dim) {
  std::vector<float> out;
  for (int r = 0; r < static_cast<int>(in.size()); ++r) {
    const int head = r / head_dim;
    const int inside = r % head_dim;
    out.push_back(in[static_cast<size_t>(head * head_dim + inside % 2 * (head_dim / 2) + inside / 2)]);
  }
  return out;
}

// Every weight of a model under its GGUF name, in file order; each drawn from its own stream, so that a name's values
// do not depend on which others exist.
class Weights {
 public:
  explicit Weights(const TinySpec& spec) : spec_(spec) {}

  template <typename OnMatrix, typename OnVector>
  void visit(const OnMatrix& on_matrix, const OnVector& on_vector) const {
    const TinySpec& s = spec_;
    const int q = s.heads * s.head_dim;
    const int kv = s.kv_heads * s.head_dim;
    on_matrix("token_embd.weight", matrix("token_embd.weight", s.vocab, s.hidden, 1.0F));
    on_vector("output_norm.weight", vector("output_norm.weight", s.hidden));
    if (!s.tied) on_matrix("output.weight", matrix("output.weight", s.vocab, s.hidden));
    for (int l = 0; l < s.layers; ++l) {
      const auto put_matrix = [&](const char* name, int64_t rows, int64_t cols) {
        const std::string full = fmt::format("blk.{}.{}.weight", l, name);
        on_matrix(full, matrix(full, rows, cols));
      };
      const auto put_vector = [&](const std::string& name, int64_t size) {
        const std::string full = fmt::format("blk.{}.{}", l, name);
        on_vector(full, vector(full, size));
      };
      put_vector("attn_norm.weight", s.hidden);
      put_matrix("attn_q", q, s.hidden);
      put_matrix("attn_k", kv, s.hidden);
      put_matrix("attn_v", kv, s.hidden);
      put_matrix("attn_output", s.hidden, q);
      if (s.architecture == "qwen2" || s.attention_bias) {
        put_vector("attn_q.bias", q);
        put_vector("attn_k.bias", kv);
        put_vector("attn_v.bias", kv);
      }
      if (s.attention_bias) put_vector("attn_output.bias", s.hidden);
      if (s.architecture == "qwen3" || s.architecture == "gemma3") {
        put_vector("attn_q_norm.weight", s.head_dim);
        put_vector("attn_k_norm.weight", s.head_dim);
      }
      if (s.architecture == "gemma3") {
        put_vector("post_attention_norm.weight", s.hidden);
        put_vector("post_ffw_norm.weight", s.hidden);
      }
      put_vector("ffn_norm.weight", s.hidden);
      put_matrix("ffn_gate", s.feed_forward, s.hidden);
      put_matrix("ffn_up", s.feed_forward, s.hidden);
      put_matrix("ffn_down", s.hidden, s.feed_forward);
    }
  }

 private:
  Rng stream(std::string_view name) const { return Rng(hash_bytes(name, spec_.seed)); }

  Matrix matrix(std::string_view name, int64_t rows, int64_t cols, float bound = 0.0F) const {
    Rng rng = stream(name);
    if (bound == 0.0F) bound = std::sqrt(3.0F / static_cast<float>(cols));
    const bool floats = tensor::traits(spec_.type).block_elements == 1;
    return {rows, cols,
            floats ? random_floats(spec_.type, rows * cols, bound, rng)
                   : random_blocks(spec_.type, rows * cols, bound, rng)};
  }
  std::vector<float> vector(std::string_view name, int64_t size) const {
    Rng rng = stream(name);
    std::vector<float> values(static_cast<size_t>(size));
    const bool bias = name.ends_with("bias");
    for (float& value : values) value = bias ? rng.uniform(-2.0F, 2.0F) : rng.uniform(0.5F, 1.5F);
    return values;
  }

  const TinySpec& spec_;
};

constexpr double kRopeBase = 10000.0;
constexpr int kContext = 4096;
constexpr double kScalingFactor = 4.0;
constexpr int kOriginalContext = 64;

// Llama 3's rule as GGUF files hold it: one divisor per rotary pair.
std::vector<float> llama3_factors(int head_dim) {
  std::vector<float> factors;
  const double low = kOriginalContext / 1.0;
  const double high = kOriginalContext / 4.0;
  for (int i = 0; i < head_dim / 2; ++i) {
    const double wavelength = 2 * M_PI * std::pow(kRopeBase, 2.0 * i / head_dim);
    double factor = 1.0;
    if (wavelength > low) {
      factor = kScalingFactor;
    } else if (wavelength > high) {
      const double smooth = (kOriginalContext / wavelength - 1.0) / (4.0 - 1.0);
      factor = 1.0 / ((1.0 - smooth) / kScalingFactor + smooth);
    }
    factors.push_back(static_cast<float>(factor));
  }
  return factors;
}

void write_hyperparameters(const TinySpec& spec, weights::GgufWriter& out) {
  const auto key = [&](const char* name) { return fmt::format("{}.{}", spec.architecture, name); };
  out.string("general.architecture", spec.architecture);
  out.string("general.name", spec.name);
  out.u32(key("block_count"), static_cast<uint32_t>(spec.layers));
  out.u32(key("context_length"), kContext);
  out.u32(key("embedding_length"), static_cast<uint32_t>(spec.hidden));
  out.u32(key("feed_forward_length"), static_cast<uint32_t>(spec.feed_forward));
  out.u32(key("attention.head_count"), static_cast<uint32_t>(spec.heads));
  out.u32(key("attention.head_count_kv"), static_cast<uint32_t>(spec.kv_heads));
  out.u32(key("attention.key_length"), static_cast<uint32_t>(spec.head_dim));
  out.u32(key("attention.value_length"), static_cast<uint32_t>(spec.head_dim));
  out.f32(key("attention.layer_norm_rms_epsilon"), 1e-6F);
  out.u32(key("rope.dimension_count"), static_cast<uint32_t>(spec.head_dim));
  out.f32(key("rope.freq_base"), static_cast<float>(kRopeBase));
  if (spec.window > 0) out.u32(key("attention.sliding_window"), static_cast<uint32_t>(spec.window));
  if (spec.rope_scaling == "linear" || spec.rope_scaling == "yarn") {
    out.string(key("rope.scaling.type"), spec.rope_scaling);
    out.f32(key("rope.scaling.factor"), static_cast<float>(kScalingFactor));
    out.u32(key("rope.scaling.original_context_length"), kOriginalContext);
  }
}

void write_vocabulary(const TinySpec& spec, weights::GgufWriter& out) {
  out.string("tokenizer.ggml.model", "gpt2");
  out.string("tokenizer.ggml.pre", "gpt-2");
  const std::vector<std::string> tokens = vocabulary(spec.vocab);
  out.strings("tokenizer.ggml.tokens", tokens);
  std::vector<int32_t> types(tokens.size(), 1);
  for (int i = kNumBytes; i < spec.vocab; ++i)
    types[static_cast<size_t>(i)] = i < kMergedToken ? 3 : i == kMergedToken ? 1 : 5;
  out.i32s("tokenizer.ggml.token_type", types);
  out.strings("tokenizer.ggml.merges", merges());
  out.u32("tokenizer.ggml.bos_token_id", 256);
  out.u32("tokenizer.ggml.eos_token_id", 257);
}

}  // namespace

Result<void> write_gguf(const TinySpec& spec, const std::filesystem::path& path) {
  weights::GgufWriter out;
  write_hyperparameters(spec, out);
  write_vocabulary(spec, out);
  if (spec.rope_scaling == "llama3")
    out.tensor("rope_freqs.weight", {spec.head_dim / 2}, llama3_factors(spec.head_dim));
  Weights(spec).visit(
      [&](const std::string& name, const Matrix& matrix) {
        const bool rotary =
            spec.architecture == "llama" && (name.ends_with("attn_q.weight") || name.ends_with("attn_k.weight"));
        const Matrix stored = rotary ? interleave_heads(matrix, spec.head_dim) : matrix;
        out.tensor(name, spec.type, {matrix.cols, matrix.rows}, stored.bytes);
      },
      [&](const std::string& name, const std::vector<float>& values) {
        const bool rotary =
            spec.architecture == "llama" && (name.ends_with("attn_q.bias") || name.ends_with("attn_k.bias"));
        out.tensor(name, {static_cast<int64_t>(values.size())},
                   rotary ? interleave_heads(values, spec.head_dim) : values);
      });
  return out.write(path);
}

namespace {

// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"
std::string hugging_face_name(const std::string& name, const std::string& architecture) {
  if (name == "token_embd.weight") return "model.embed_tokens.weight";
  if (name == "output_norm.weight") return "model.norm.weight";
  if (name == "output.weight") return "lm_head.weight";
  const bool gemma = architecture == "gemma3";
  const std::pair<const char*, const char*> parts[] = {
      {"attn_norm", "input_layernorm"},
      {"attn_q_norm", "self_attn.q_norm"},
      {"attn_k_norm", "self_attn.k_norm"},
      {"attn_q", "self_attn.q_proj"},
      {"attn_k", "self_attn.k_proj"},
      {"attn_v", "self_attn.v_proj"},
      {"attn_output", "self_attn.o_proj"},
      {"post_attention_norm", "post_attention_layernorm"},
      {"post_ffw_norm", "post_feedforward_layernorm"},
      {"ffn_norm", gemma ? "pre_feedforward_layernorm" : "post_attention_layernorm"},
      {"ffn_gate", "mlp.gate_proj"},
      {"ffn_up", "mlp.up_proj"},
      {"ffn_down", "mlp.down_proj"},
  };
  const size_t layer_end = name.find('.', 4);
  const size_t part_end = name.rfind('.');
  const std::string layer = name.substr(4, layer_end - 4);
  const std::string part = name.substr(layer_end + 1, part_end - layer_end - 1);
  for (const auto& [gguf, hugging_face] : parts) {
    if (part == gguf) return fmt::format("model.layers.{}.{}{}", layer, hugging_face, name.substr(part_end));
  }
  return name;
}

std::string config_json(const TinySpec& spec) {
  const std::pair<const char*, const char*> classes[] = {{"llama", "LlamaForCausalLM"},
                                                         {"qwen2", "Qwen2ForCausalLM"},
                                                         {"qwen3", "Qwen3ForCausalLM"},
                                                         {"gemma3", "Gemma3ForCausalLM"}};
  std::string model_class;
  for (const auto& [name, value] : classes) {
    if (spec.architecture == name) model_class = value;
  }
  std::string scaling = "null";
  if (spec.rope_scaling != "none") {
    scaling = fmt::format(
        R"({{"rope_type": "{}", "factor": {}, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": {}}})",
        spec.rope_scaling, kScalingFactor, kOriginalContext);
  }
  std::string gemma;
  if (spec.architecture == "gemma3") {
    gemma = fmt::format(
        R"("sliding_window": {}, "sliding_window_pattern": 6, "rope_local_base_freq": 10000.0, "query_pre_attn_scalar": {}, )",
        spec.window, spec.head_dim);
  }
  return fmt::format(
      R"({{"architectures": ["{}"], "num_hidden_layers": {}, "hidden_size": {}, "intermediate_size": {}, "num_attention_heads": {}, )"
      R"("num_key_value_heads": {}, "head_dim": {}, "vocab_size": {}, "max_position_embeddings": {}, "rms_norm_eps": 1e-6, )"
      R"("rope_theta": {}, "rope_scaling": {}, {}"tie_word_embeddings": {}, "torch_dtype": "float32"}})",
      model_class, spec.layers, spec.hidden, spec.feed_forward, spec.heads, spec.kv_heads, spec.head_dim, spec.vocab,
      kContext, kRopeBase, scaling, gemma, spec.tied);
}

Result<void> write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  if (!out) return error(ErrorCode::kIo, "cannot write {}", path.string());
  return {};
}

}  // namespace

Result<void> write_safetensors(const TinySpec& spec, const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) return error(ErrorCode::kIo, "{}: {}", folder.string(), failure.message());
  weights::SafetensorsWriter out;
  const bool gemma = spec.architecture == "gemma3";
  Weights(spec).visit(
      [&](const std::string& name, const Matrix& matrix) {
        out.tensor(hugging_face_name(name, spec.architecture), spec.type, {matrix.rows, matrix.cols}, matrix.bytes);
      },
      [&](const std::string& name, std::vector<float> values) {
        if (gemma) {  // stored as w, used as 1 + w; multiples of 2^-22 lose nothing on the way there and back
          for (float& value : values) value -= 1.0F;
        }
        out.tensor(hugging_face_name(name, spec.architecture), {static_cast<int64_t>(values.size())}, values);
      });
  BRIO_TRY_OK(out.write(folder / "model.safetensors"));
  BRIO_TRY_OK(write_text(folder / "tokenizer.json", tokenizer_json(spec.vocab)));
  return write_text(folder / "config.json", config_json(spec));
}

std::vector<TinySpec> shape_specs() {
  std::vector<TinySpec> specs;
  const auto add = [&](TinySpec spec) {
    spec.seed = specs.size() + 1;
    specs.push_back(std::move(spec));
  };
  add({.name = "llama-mha-d64", .hidden = 128, .feed_forward = 200, .heads = 2, .kv_heads = 2, .head_dim = 64});
  add({.name = "llama-gqa3-d80",
       .hidden = 100,
       .feed_forward = 173,
       .heads = 3,
       .kv_heads = 1,
       .head_dim = 80,
       .tied = false});
  add({.name = "llama-gqa4-d128-linear",
       .hidden = 72,
       .feed_forward = 96,
       .heads = 4,
       .kv_heads = 1,
       .head_dim = 128,
       .rope_scaling = "linear"});
  add({.name = "llama-llama3",
       .hidden = 64,
       .feed_forward = 96,
       .heads = 4,
       .kv_heads = 2,
       .head_dim = 64,
       .rope_scaling = "llama3"});
  add({.name = "llama-yarn",
       .hidden = 64,
       .feed_forward = 96,
       .heads = 4,
       .kv_heads = 2,
       .head_dim = 64,
       .rope_scaling = "yarn"});
  add({.name = "llama-vocab-32003",
       .hidden = 64,
       .feed_forward = 96,
       .heads = 2,
       .kv_heads = 1,
       .head_dim = 64,
       .vocab = 32003,
       .tied = false});
  add({.name = "qwen2-gqa7",
       .architecture = "qwen2",
       .hidden = 112,
       .feed_forward = 150,
       .heads = 7,
       .kv_heads = 1,
       .head_dim = 16});
  add({.name = "qwen3-gqa4",
       .architecture = "qwen3",
       .hidden = 96,
       .feed_forward = 131,
       .heads = 8,
       .kv_heads = 2,
       .head_dim = 64,
       .tied = false});
  add({.name = "gemma3-mqa-d256-window5",
       .architecture = "gemma3",
       .layers = 7,
       .hidden = 80,
       .feed_forward = 128,
       .heads = 4,
       .kv_heads = 1,
       .head_dim = 256,
       .window = 5});
  add({.name = "llama-biases",
       .hidden = 64,
       .feed_forward = 96,
       .heads = 4,
       .kv_heads = 2,
       .head_dim = 64,
       .attention_bias = true});
  return specs;
}

std::vector<TinySpec> type_specs() {
  std::vector<TinySpec> specs;
  for (int type = 0; type <= static_cast<int>(DType::kIQ4_XS); ++type) {
    const auto dtype = static_cast<DType>(type);
    TinySpec spec{.name = fmt::format("llama-{}", tensor::name(dtype)),
                  .hidden = 256,
                  .feed_forward = 512,
                  .heads = 4,
                  .kv_heads = 2,
                  .head_dim = 64,
                  .tied = type % 2 == 0,
                  .type = dtype};
    spec.seed = 100 + static_cast<uint64_t>(type);
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace brio::tiny
