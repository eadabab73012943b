#include "weights/hf_names.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace brio::weights {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr Pair kTop[] = {{"embed_tokens", "token_embd"}, {"norm", "output_norm"}, {"lm_head", "output"}};

constexpr Pair kLayer[] = {
    {"input_layernorm", "attn_norm"},    {"self_attn.q_proj", "attn_q"},      {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},      {"self_attn.o_proj", "attn_output"}, {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"}, {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
};

// Before the feed-forward in the Llama family; Gemma 3 has a norm on both sides of each branch.
constexpr Pair kLlamaNorms[] = {{"post_attention_layernorm", "ffn_norm"}};
constexpr Pair kGemmaNorms[] = {{"post_attention_layernorm", "post_attention_norm"},
                                {"pre_feedforward_layernorm", "ffn_norm"},
                                {"post_feedforward_layernorm", "post_ffw_norm"}};

template <size_t N>
std::optional<std::string_view> look_up(const Pair (&table)[N], std::string_view name) {
  for (const auto& [from, to] : table) {
    if (from == name) return to;
  }
  return std::nullopt;
}

bool remove_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::string_view> layer_part(std::string_view architecture, std::string_view name) {
  if (const auto found = look_up(kLayer, name)) return found;
  return architecture == "gemma3" ? look_up(kGemmaNorms, name) : look_up(kLlamaNorms, name);
}

}  // namespace

std::optional<std::string> gguf_tensor_name(std::string_view architecture, std::string_view hf_name) {
  std::string_view rest = hf_name;
  // Text models inside a multimodal one carry a longer prefix, spelled differently by two generations of files.
  remove_prefix(rest, "model.language_model.") || remove_prefix(rest, "language_model.model.") ||
      remove_prefix(rest, "language_model.") || remove_prefix(rest, "model.");
  if (rest.starts_with("vision_tower.") || rest.starts_with("multi_modal_projector.") || rest.ends_with(".inv_freq")) {
    return std::nullopt;
  }
  const size_t dot = rest.rfind('.');
  if (dot == std::string_view::npos) return std::string(hf_name);
  const std::string_view suffix = rest.substr(dot);  // ".weight" or ".bias"
  std::string_view stem = rest.substr(0, dot);
  if (const auto top = look_up(kTop, stem)) return std::string(*top).append(suffix);
  if (!remove_prefix(stem, "layers.")) return std::string(hf_name);
  const std::string_view number = stem.substr(0, stem.find('.'));
  const bool digits =
      !number.empty() && std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); });
  if (!digits || number.size() == stem.size()) return std::string(hf_name);
  const auto part = layer_part(architecture, stem.substr(number.size() + 1));
  if (!part) return std::string(hf_name);
  return std::string("blk.").append(number).append(".").append(*part).append(suffix);
}

}  // namespace brio::weights
