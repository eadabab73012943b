// libFuzzer: config.json, a zero byte, generation_config.json, a zero byte, tokenizer_config.json, beside the sound
// tensors and tokenizer.json of a little model. The folder is refused with a message, or its numbers are those that
// config.json says, read here a second time.
#include <boost/json.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/temporary_folder.h"
#include "server/loaded_model.h"
#include "weights/safetensors_writer.h"

namespace {

using namespace brio;
namespace json = boost::json;

constexpr int64_t kHidden = 32;
constexpr int64_t kHeadDim = 16;
constexpr int64_t kVocab = 8;

constexpr std::string_view kTokenizer =
    R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "c": 4},
 "merges": ["a b"]}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "decoder": {"type": "ByteLevel"},
 "added_tokens": [{"id": 5, "content": "<s>", "special": true}, {"id": 6, "content": "</s>", "special": true},
 {"id": 7, "content": "<pad>", "special": true}]})";

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// Two heads of 16, one for keys and values; a layer with every vector that some architecture knows.
void write_tensors(const std::filesystem::path& folder, std::string_view architecture) {
  weights::SafetensorsWriter out;
  const auto put = [&](const std::string& name, std::vector<int64_t> shape) {
    const int64_t count = shape.size() == 1 ? shape[0] : shape[0] * shape[1];
    out.tensor(name, shape, std::vector<float>(static_cast<size_t>(count), 0.125F));
  };
  const std::string layer = "model.layers.0.";
  put("model.embed_tokens.weight", {kVocab, kHidden});
  put("lm_head.weight", {kVocab, kHidden});
  put("model.norm.weight", {kHidden});
  for (const char* name : {"input_layernorm", "post_attention_layernorm"}) put(layer + name + ".weight", {kHidden});
  put(layer + "self_attn.q_proj.weight", {2 * kHeadDim, kHidden});
  put(layer + "self_attn.k_proj.weight", {kHeadDim, kHidden});
  put(layer + "self_attn.v_proj.weight", {kHeadDim, kHidden});
  put(layer + "self_attn.o_proj.weight", {kHidden, 2 * kHeadDim});
  for (const char* name : {"gate", "up", "down"}) put(layer + "mlp." + name + "_proj.weight", {kHidden, kHidden});
  if (architecture == "Qwen2") {
    put(layer + "self_attn.q_proj.bias", {2 * kHeadDim});
    put(layer + "self_attn.k_proj.bias", {kHeadDim});
    put(layer + "self_attn.v_proj.bias", {kHeadDim});
  }
  if (architecture == "Qwen3" || architecture == "Gemma3") {
    for (const char* name : {"q_norm", "k_norm"}) put(layer + "self_attn." + name + ".weight", {kHeadDim});
  }
  if (architecture == "Gemma3") {
    for (const char* name : {"pre", "post"}) put(layer + name + "_feedforward_layernorm.weight", {kHidden});
  }
  require(out.write(folder / "model.safetensors").ok());
}

// The folder whose tensors suit the class that a config.json is most likely about.
const std::filesystem::path& folder_for(std::string_view config) {
  static constexpr std::string_view kClasses[] = {"Qwen2", "Qwen3", "Gemma3", "Llama"};
  static const TemporaryFolder root;
  static const auto folders = [] {
    std::vector<std::filesystem::path> all;
    for (const std::string_view name : kClasses) {
      all.push_back(root / std::string(name));
      std::filesystem::create_directory(all.back());
      write_tensors(all.back(), name);
      write_file(all.back() / "tokenizer.json", kTokenizer);
    }
    return all;
  }();
  size_t i = 0;
  while (i + 1 < folders.size() && config.find(kClasses[i]) == std::string_view::npos) ++i;
  return folders[i];
}

// ---- config.json, read a second time ----

const json::value* field(const json::object& config, std::string_view name) {
  const json::value* value = config.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}
void check_int(const json::object& config, std::string_view name, int read) {
  if (const json::value* value = field(config, name)) require(*value == read);
}

void check_windows(const json::object& config, const model::Config& read) {
  require(read.windows.size() == static_cast<size_t>(read.num_layers));
  const json::value* window = field(config, "sliding_window");
  const json::value* types = field(config, "layer_types");
  for (size_t l = 0; l < read.windows.size(); ++l) {
    require(read.windows[l] >= 0);
    const bool off = window != nullptr && *window == 0;
    if (types != nullptr && window != nullptr && !off) {
      require((read.windows[l] > 0) == (types->as_array()[l] == "sliding_attention"));
    }
    if (window != nullptr && read.windows[l] > 0) require(*window == read.windows[l]);
  }
}

void check_config(std::string_view text, const model::Config& read) {
  const json::value parsed = json::parse(text);
  const json::object& outer = parsed.as_object();
  const json::value* inner = field(outer, "text_config");
  const json::object& config = inner != nullptr ? inner->as_object() : outer;
  check_int(config, "num_hidden_layers", read.num_layers);
  check_int(config, "hidden_size", read.hidden);
  check_int(config, "intermediate_size", read.feed_forward);
  check_int(config, "num_attention_heads", read.num_heads);
  check_int(config, "num_key_value_heads", read.num_kv_heads);
  check_int(config, "head_dim", read.head_dim);
  check_int(config, "max_position_embeddings", read.context);
  if (const json::value* epsilon = field(config, "rms_norm_eps")) {
    require(static_cast<float>(epsilon->to_number<double>()) == read.norm_epsilon);
  }
  check_windows(config, read);
  require(std::isfinite(read.norm_epsilon) && std::isfinite(read.attention_scale));
  require(read.head_dim <= ops::kMaxHeadDim && read.num_heads % read.num_kv_heads == 0 && read.vocab == kVocab);
  require(read.rope.rotary_dim > 0 && read.rope.rotary_dim % 2 == 0 && read.rope.rotary_dim <= read.head_dim);
}

template <typename T>
bool check_refusal(const Result<T>& result) {
  if (result.ok()) return false;
  const ErrorCode code = result.error().code;
  require(code == ErrorCode::kInvalidFile || code == ErrorCode::kUnsupported);
  require(!result.error().message.empty());
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto next = [&input] {
    const size_t end = std::min(input.find('\0'), input.size());
    const std::string_view part = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    return part;
  };
  const std::string_view config = next();
  const std::filesystem::path& folder = folder_for(config);
  write_file(folder / "config.json", config);
  for (const char* name : {"generation_config.json", "tokenizer_config.json"}) {
    const std::string_view part = next();
    part.empty() ? (void)std::filesystem::remove(folder / name) : write_file(folder / name, part);
  }

  const auto checkpoint = weights::Checkpoint::open(folder);
  if (check_refusal(checkpoint)) return 0;
  const auto read = model::read_config(*checkpoint, tensor::KvType::kBF16);
  if (!check_refusal(read)) check_config(config, *read);
  const auto tokenizer = server::load_tokenizer(*checkpoint);
  if (!check_refusal(tokenizer)) require((*tokenizer)->vocab_size() >= kVocab);
  (void)check_refusal(server::load_chat_template(*checkpoint));
  if (!read.ok() || !tokenizer.ok()) return 0;
  server::LoadOptions options;
  options.num_threads = 1;
  options.limits = {4, 4};
  (void)check_refusal(server::load_model(folder.string(), options));
  return 0;
}
