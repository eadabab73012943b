// libFuzzer: a sound little GGUF model and what is to be different about it, line by line, so that the fuzzer meets what
// reads the values and not only the container (gguf_fuzz):
//   qwen3                             the architecture, on the first line; any other word is taken as it stands
//   @block_count u32 2                a key and its value; @ stands for the architecture and a dot
//   tokenizer.ggml.tokens strings <unk> <s> a~b      in arrays of strings ~ is a space
//   tokenizer.ggml.model drop
//   blk.0.attn_q.weight tensor Q8_0 32 32     a tensor's type and dims, row length first
//   fill 7f                           the bytes of the tensors from here on
// Loaded as `brio serve` loads it, it is refused with a message or it works: its numbers are within their bounds, its
// tokenizer keeps untrusted text out of control tokens, its logits do not depend on how a text is cut into steps.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "engine/scorer.h"
#include "server/loaded_model.h"
#include "weights/gguf_writer.h"

namespace {

using namespace brio;
using weights::ValueType;

constexpr int64_t kMaxTensorBytes = 64 << 10;
constexpr size_t kMaxLines = 200;

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

struct Key {
  std::string name;
  uint32_t type;
  std::string bytes;
};
struct Tensor {
  std::string name;
  tensor::DType type = tensor::DType::kF32;
  std::vector<int64_t> dims;
  uint8_t fill = 0x3C;  // fp32 0x3C3C3C3C is 0.0115, fp16 0x3C3C is 1.06
};
struct File {
  std::vector<Key> keys;
  std::vector<Tensor> tensors;
};

template <typename T>
void set_named(std::vector<T>& all, T item) {
  for (T& old : all) {
    if (old.name == item.name) {
      old = std::move(item);
      return;
    }
  }
  all.push_back(std::move(item));
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin < line.size();) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    if (end > begin) words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

template <typename T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void append_text(std::string& out, std::string_view text) {
  append<uint64_t>(out, text.size());
  out.append(text);
}
void append_scalar(std::string& out, ValueType type, std::string_view word) {
  std::string text(word);
  const double real = std::strtod(text.c_str(), nullptr);
  const auto whole = text.starts_with('-') ? static_cast<uint64_t>(std::strtoll(text.c_str(), nullptr, 10))
                                           : std::strtoull(text.c_str(), nullptr, 10);
  switch (type) {
    case ValueType::kU8:
    case ValueType::kI8:
    case ValueType::kBool:
      return append(out, static_cast<uint8_t>(whole));
    case ValueType::kU16:
    case ValueType::kI16:
      return append(out, static_cast<uint16_t>(whole));
    case ValueType::kU32:
    case ValueType::kI32:
      return append(out, static_cast<uint32_t>(whole));
    case ValueType::kF32:
      return append(out, static_cast<float>(real));
    case ValueType::kF64:
      return append(out, real);
    case ValueType::kString:
      std::replace(text.begin(), text.end(), '~', ' ');
      return append_text(out, text);
    default:
      return append(out, whole);
  }
}

// "u32", or "u32s" for an array of them.
bool read_type(std::string_view word, ValueType& type, bool& is_array) {
  for (int number = 0; number <= static_cast<int>(ValueType::kF64); ++number) {
    type = static_cast<ValueType>(number);
    const std::string_view known = weights::name(type);
    is_array = word.size() == known.size() + 1 && word.ends_with('s');
    if (type != ValueType::kArray && word.starts_with(known) && (is_array || word == known)) return true;
  }
  return false;
}

void set_key(File& file, std::string name, std::string_view line, const std::vector<std::string_view>& words) {
  ValueType type{};
  bool is_array = false;
  if (!read_type(words[1], type, is_array)) return;
  Key key{std::move(name), static_cast<uint32_t>(is_array ? ValueType::kArray : type), {}};
  if (is_array) {
    append(key.bytes, static_cast<uint32_t>(type));
    append<uint64_t>(key.bytes, words.size() - 2);
    for (size_t i = 2; i < words.size(); ++i) append_scalar(key.bytes, type, words[i]);
  } else if (type == ValueType::kString) {  // the rest of the line as it stands
    const size_t begin = static_cast<size_t>(words[1].end() - line.begin());
    append_text(key.bytes, line.substr(std::min(begin + 1, line.size())));
  } else {
    append_scalar(key.bytes, type, words.size() > 2 ? words[2] : "0");
  }
  set_named(file.keys, std::move(key));
}

void set_tensor(File& file, std::string name, const std::vector<std::string_view>& words, uint8_t fill) {
  Tensor tensor{std::move(name), tensor::DType::kF32, {}, fill};
  for (int type = 0; type <= static_cast<int>(tensor::DType::kIQ4_XS); ++type) {
    if (words[2] == tensor::name(static_cast<tensor::DType>(type))) tensor.type = static_cast<tensor::DType>(type);
  }
  int64_t elements = 1;
  for (size_t i = 3; i < words.size() && tensor.dims.size() < 4; ++i) {
    const int64_t dim = std::atoi(std::string(words[i]).c_str());
    if (dim < 1 || dim > kMaxTensorBytes / elements) return;
    tensor.dims.push_back(dim);
    elements *= dim;
  }
  if (tensor.dims.empty() || tensor.dims[0] % tensor::traits(tensor.type).block_elements != 0) return;
  set_named(file.tensors, std::move(tensor));
}

void apply(File& file, const std::string& architecture, std::string_view lines) {
  uint8_t fill = 0x3C;
  for (size_t begin = 0, count = 0; begin < lines.size() && count < kMaxLines; ++count) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const std::string_view line = lines.substr(begin, end - begin);
    begin = end + 1;
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() < 2) continue;
    const std::string name =
        words[0][0] == '@' ? architecture + "." + std::string(words[0].substr(1)) : std::string(words[0]);
    if (words[0] == "fill") {
      fill = static_cast<uint8_t>(std::strtoul(std::string(words[1]).c_str(), nullptr, 16));
    } else if (words[1] == "drop") {
      std::erase_if(file.keys, [&](const Key& key) { return key.name == name; });
      std::erase_if(file.tensors, [&](const Tensor& tensor) { return tensor.name == name; });
    } else if (words[1] == "tensor" && words.size() > 3) {
      set_tensor(file, name, words, fill);
    } else {
      set_key(file, name, line, words);
    }
  }
}

constexpr std::string_view kKeys = R"(@block_count u32 1
@context_length u32 64
@embedding_length u32 32
@feed_forward_length u32 32
@attention.head_count u32 2
@attention.head_count_kv u32 1
@attention.key_length u32 16
@attention.value_length u32 16
@attention.layer_norm_rms_epsilon f32 1e-5
tokenizer.ggml.model string llama
tokenizer.ggml.tokens strings <unk> <s> </s> a b ab <0x20> c
tokenizer.ggml.scores f32s 0 0 0 -1 -2 -3 -4 -5
tokenizer.ggml.token_type i32s 2 3 3 1 1 1 6 1
tokenizer.ggml.bos_token_id u32 1
tokenizer.ggml.eos_token_id u32 2
tokenizer.chat_template string {% for m in messages %}<s>{{ m.role }}:{{ m.content }}</s>{% endfor %}
token_embd.weight tensor F32 32 8
output_norm.weight tensor F32 32
blk.0.attn_norm.weight tensor F32 32
blk.0.attn_q.weight tensor F32 32 32
blk.0.attn_k.weight tensor F32 32 16
blk.0.attn_v.weight tensor F32 32 16
blk.0.attn_output.weight tensor F32 32 32
blk.0.ffn_norm.weight tensor F32 32
blk.0.ffn_gate.weight tensor F32 32 32
blk.0.ffn_up.weight tensor F32 32 32
blk.0.ffn_down.weight tensor F32 32 32
)";
constexpr std::string_view kBiases = R"(blk.0.attn_q.bias tensor F32 32
blk.0.attn_k.bias tensor F32 16
blk.0.attn_v.bias tensor F32 16
)";
constexpr std::string_view kHeadNorms = R"(blk.0.attn_q_norm.weight tensor F32 16
blk.0.attn_k_norm.weight tensor F32 16
)";
constexpr std::string_view kPostNorms = R"(@attention.sliding_window u32 3
blk.0.post_attention_norm.weight tensor F32 32
blk.0.post_ffw_norm.weight tensor F32 32
)";

std::string gguf_of(std::string_view input) {
  const size_t end = std::min(input.find('\n'), input.size());
  const std::string architecture(input.substr(0, end).empty() ? "llama" : input.substr(0, end));
  File file;
  apply(file, architecture, "general.architecture string " + architecture);
  apply(file, architecture, kKeys);
  if (architecture == "qwen2") apply(file, architecture, kBiases);
  if (architecture == "qwen3" || architecture == "gemma3") apply(file, architecture, kHeadNorms);
  if (architecture == "gemma3") apply(file, architecture, kPostNorms);
  apply(file, architecture, input.substr(std::min(end + 1, input.size())));
  weights::GgufWriter out;
  for (const Key& key : file.keys) out.raw(key.name, key.type, key.bytes);
  for (const Tensor& tensor : file.tensors) {
    int64_t rows = 1;
    for (size_t d = 1; d < tensor.dims.size(); ++d) rows *= tensor.dims[d];
    std::vector<std::byte> bytes(static_cast<size_t>(rows * tensor::row_bytes(tensor.type, tensor.dims[0])),
                                 static_cast<std::byte>(tensor.fill));
    for (size_t i = 0; i < bytes.size(); i += 37) bytes[i] ^= static_cast<std::byte>(i >> 5 & 3);  // not all alike
    out.tensor(tensor.name, tensor.type, std::span<const int64_t>(tensor.dims), bytes);
  }
  return out.bytes();
}

// ---- what was loaded ----

void check_config(const model::Config& c) {
  require(c.num_layers > 0 && c.hidden > 0 && c.feed_forward > 0 && c.vocab > 0 && c.context > 0);
  require(c.num_heads > 0 && c.num_kv_heads > 0 && c.num_heads % c.num_kv_heads == 0);
  require(c.head_dim > 0 && c.head_dim % 2 == 0 && c.head_dim <= ops::kMaxHeadDim);
  require(c.rope.rotary_dim > 0 && c.rope.rotary_dim % 2 == 0 && c.rope.rotary_dim <= c.head_dim);
  require(c.windows.size() == static_cast<size_t>(c.num_layers));
  for (const int window : c.windows) require(window >= 0);
  require(std::isfinite(c.norm_epsilon) && c.norm_epsilon >= 0);
  require(std::isfinite(c.attention_scale) && std::isfinite(c.embedding_scale));
}

void check_text(const server::LoadedModel& loaded) {
  constexpr std::string_view kText = "a ab<s>\xF0\x9F\x98\x80</s>\xFF c";
  const tokenizer::Tokenizer& tokenizer = *loaded.tokenizer;
  for (const auto trust : {tokenizer::Trust::kUntrusted, tokenizer::Trust::kTrusted}) {
    const auto ids = tokenizer.encode(kText, trust, tokenizer::AddSpecial::kNo);
    if (!ids.ok()) continue;
    for (const int32_t id : *ids) {
      require(id >= 0 && id < tokenizer.vocab_size());
      const bool unknown = id == tokenizer.spec().unk;
      require(trust == tokenizer::Trust::kTrusted || !tokenizer.is_control(id) || unknown);
    }
  }
  if (!loaded.chat_template) return;
  chat::RenderLimits limits;
  limits.max_steps = 10'000;
  limits.max_output_bytes = size_t{1} << 16;
  limits.max_memory_bytes = size_t{4} << 20;
  boost::json::object context{{"messages", {{{"role", "user"}, {"content", kText}}}},
                              {"bos_token", loaded.bos_text},
                              {"eos_token", loaded.eos_text}};
  (void)loaded.chat_template->render(context, std::chrono::system_clock::time_point(), limits);
}

std::vector<float> score(model::Model& model, int chunk) {
  const int32_t last = model.config().vocab - 1;
  const int32_t tokens[] = {0, last, last / 2, 0, last};
  auto scorer = engine::Scorer::create(model, static_cast<int>(std::size(tokens)), chunk).value();
  std::vector<float> all;
  const auto scored = scorer.score(tokens, [&](int /*position*/, std::span<const float> logits) -> Result<void> {
    require(logits.size() == static_cast<size_t>(model.config().vocab));
    all.insert(all.end(), logits.begin(), logits.end());
    return {};
  });
  require(scored.ok());
  return all;
}

void check_logits(model::Model& model) {
  const std::vector<float> one_by_one = score(model, 1);
  const std::vector<float> in_chunks = score(model, 3);
  require(one_by_one.size() == in_chunks.size());
  for (size_t i = 0; i < in_chunks.size(); ++i) {
    const bool both_nan = std::isnan(one_by_one[i]) && std::isnan(in_chunks[i]);
    require(both_nan || std::memcmp(&one_by_one[i], &in_chunks[i], sizeof(float)) == 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int memory = memfd_create("model", 0);
  static const std::string path = fmt::format("/proc/self/fd/{}", memory);
  const std::string bytes = gguf_of({reinterpret_cast<const char*>(data), size});
  require(ftruncate(memory, static_cast<off_t>(bytes.size())) == 0);
  require(pwrite(memory, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));

  server::LoadOptions options;
  options.num_threads = 1;
  options.limits = {4, 4};
  const auto loaded = server::load_model(path, options);
  if (!loaded.ok()) {
    const ErrorCode code = loaded.error().code;
    require(code == ErrorCode::kInvalidFile || code == ErrorCode::kUnsupported);
    require(!loaded.error().message.empty());
    const auto checkpoint = weights::Checkpoint::open(path);
    if (!checkpoint.ok()) return 0;
    const auto config = model::read_config(*checkpoint, tensor::KvType::kBF16);
    if (config.ok()) check_config(*config);
    return 0;
  }
  check_config(loaded->model->config());
  check_text(*loaded);
  check_logits(*loaded->model);
  return 0;
}
