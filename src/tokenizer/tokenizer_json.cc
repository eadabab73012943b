// spec_from_tokenizer_json: Hugging Face's tokenizer.json and tokenizer_config.json as a TokenizerSpec.
#include <algorithm>
#include <boost/json.hpp>
#include <unordered_map>

#include "tokenizer/tokenizer_json_parts.h"
#include "tokenizer/tokenizer_spec.h"

namespace brio::tokenizer {
namespace {

namespace json = boost::json;

constexpr int64_t kMaxGap = 1 << 16;  // ids past the number of tokens: padding of the embedding, never more

Result<json::value> parse(std::string_view text, std::string_view file) {
  boost::system::error_code code;
  json::parse_options options;
  options.max_depth = 64;
  try {
    // A monotonic resource frees a tree of 150,000 tokens at once.
    json::stream_parser parser(json::make_shared_resource<json::monotonic_resource>(), options);
    const size_t read = parser.write_some(text.data(), text.size(), code);
    if (!code) parser.finish(code);
    if (code) return error(ErrorCode::kInvalidFile, "{}: {} at byte {}", file, code.message(), read);
    return parser.release();
  } catch (const std::bad_alloc&) {
    return error(ErrorCode::kOutOfMemory, "{}: no memory to parse {} bytes", file, text.size());
  }
}

Result<int32_t> token_id(const json::value& value, int64_t limit, std::string_view token) {
  const int64_t id = value.is_int64() ? value.get_int64() : -1;
  if (id < 0 || id >= limit)
    return error(ErrorCode::kInvalidFile, "tokenizer.json: token '{}' has an id that is no number below {}",
                 token.substr(0, 64), limit);
  return static_cast<int32_t>(id);
}

void set_token(TokenizerSpec& spec, int32_t id, std::string_view text, TokenType type) {
  if (static_cast<size_t>(id) >= spec.tokens.size()) {
    spec.tokens.resize(id + 1);
    spec.types.resize(id + 1, TokenType::kUnused);  // holes between ids
  }
  spec.tokens[id] = text;
  spec.types[id] = type;
}

Result<void> read_vocab(const json::value& model, int64_t limit, TokenizerSpec& spec) {
  const std::string_view unknown = text_field(model, "unk_token");
  if (field(model, "vocab")->get_object().empty())
    return error(ErrorCode::kInvalidFile, "tokenizer.json: model.vocab is empty");
  std::unordered_map<int32_t, std::string_view> taken;
  for (const auto& [token, value] : field(model, "vocab")->get_object()) {
    BRIO_TRY(const int32_t id, token_id(value, limit, token));
    if (const auto [other, fresh] = taken.emplace(id, token); !fresh)
      return error(ErrorCode::kInvalidFile, "tokenizer.json: model.vocab gives id {} to '{}' and to '{}'", id,
                   other->second, std::string_view(token));
    set_token(spec, id, token, !unknown.empty() && token == unknown ? TokenType::kUnknown : TokenType::kNormal);
    if (!unknown.empty() && token == unknown) spec.unk = id;
  }
  return {};
}

Result<void> read_added_tokens(const json::value& root, int64_t limit, TokenizerSpec& spec) {
  const json::value* added = field(root, "added_tokens");
  if (added == nullptr) return {};
  if (!added->is_array()) return error(ErrorCode::kInvalidFile, "tokenizer.json: added_tokens is no list");
  for (const json::value& token : added->get_array()) {
    const std::string_view text = text_field(token, "content");
    const json::value* number = field(token, "id");
    if (text.empty() || number == nullptr)
      return error(ErrorCode::kInvalidFile, "tokenizer.json: an entry of added_tokens lacks content or id");
    BRIO_TRY(const int32_t id, token_id(*number, limit, text));
    if (flag_field(token, "single_word", false))
      return error(ErrorCode::kUnsupported, "tokenizer.json: added token '{}' asks for single_word",
                   text.substr(0, 64));
    const bool special = flag_field(token, "special", false);
    set_token(spec, id, text, special ? TokenType::kControl : TokenType::kUserDefined);
    if (flag_field(token, "lstrip", false)) spec.strip_left_ids.push_back(id);
    if (flag_field(token, "rstrip", false)) spec.strip_right_ids.push_back(id);
  }
  return {};
}

Result<void> read_merges(const json::value& model, TokenizerSpec& spec) {
  const json::value* merges = field(model, "merges");
  if (merges == nullptr || !merges->is_array())
    return error(ErrorCode::kInvalidFile, "tokenizer.json: model.merges is no list");
  spec.merges.reserve(merges->get_array().size());
  for (const json::value& merge : merges->get_array()) {
    if (merge.is_string()) {
      spec.merges.emplace_back(merge.get_string());
      continue;
    }
    const bool pair = merge.is_array() && merge.get_array().size() == 2 && merge.get_array()[0].is_string() &&
                      merge.get_array()[1].is_string();
    if (!pair) return error(ErrorCode::kInvalidFile, "tokenizer.json: model.merges[{}] is no pair", spec.merges.size());
    const std::string_view left = merge.get_array()[0].get_string(), right = merge.get_array()[1].get_string();
    if (left.find(' ', 1) != std::string_view::npos)
      return error(ErrorCode::kUnsupported, "tokenizer.json: model.merges[{}] has a space inside a part",
                   spec.merges.size());
    spec.merges.push_back(std::string(left) + ' ' + std::string(right));
  }
  return {};
}

Result<void> read_bpe(const json::value& model, const PipelineFacts& facts, TokenizerSpec& spec) {
  for (std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!text_field(model, affix).empty())
      return error(ErrorCode::kUnsupported, "tokenizer.json: model.{} is not supported", affix);
  }
  BRIO_TRY_OK(read_merges(model, spec));
  spec.ignore_merges = flag_field(model, "ignore_merges", false);
  if (facts.byte_level) {
    spec.model = "gpt2";
    if (spec.pre_patterns.empty()) spec.pre_patterns.emplace_back("(?s).+");  // the whole text is one word
    return {};
  }
  if (!facts.escapes_space)
    return error(ErrorCode::kUnsupported, "tokenizer.json: BPE that is neither byte level nor SentencePiece's");
  spec.model = "gemma4";
  spec.pre = "gemma4";
  return {};
}

// GGUF's spelling: U+2581 before tokens that start a word instead of ## before those that do not.
Result<void> read_wordpiece(const json::value& model, TokenizerSpec& spec) {
  if (text_field(model, "continuing_subword_prefix") != "##")
    return error(ErrorCode::kUnsupported, "tokenizer.json: model.continuing_subword_prefix is not '##'");
  spec.model = "bert";
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    if (spec.types[id] != TokenType::kNormal) continue;
    std::string& token = spec.tokens[id];
    token = token.starts_with("##") ? token.substr(2) : "\xE2\x96\x81" + token;
  }
  spec.cls = spec.bos;
  spec.sep = spec.eos;
  return {};
}

Result<void> read_config(std::string_view text, TokenizerSpec& spec) {
  if (text.empty()) return {};
  BRIO_TRY(const json::value config, parse(text, "tokenizer_config.json"));
  const std::pair<std::string_view, int32_t*> roles[] = {
      {"bos_token", spec.add_bos.value_or(false) ? nullptr : &spec.bos},
      {"eos_token", &spec.eos},
      {"pad_token", &spec.pad},
      {"unk_token", spec.unk >= 0 ? nullptr : &spec.unk},
      {"sep_token", &spec.sep},
      {"cls_token", &spec.cls}};
  for (const auto& [key, role] : roles) {
    const json::value* value = field(config, key);
    if (value == nullptr || role == nullptr) continue;
    const std::string_view name =
        value->is_string() ? std::string_view(value->get_string()) : text_field(*value, "content");
    const auto at = std::find(spec.tokens.begin(), spec.tokens.end(), name);
    if (name.empty() || at == spec.tokens.end()) continue;  // configs name pad tokens that the vocabulary never got
    *role = static_cast<int32_t>(at - spec.tokens.begin());
  }
  if (!spec.add_bos) spec.add_bos = flag_field(config, "add_bos_token", false);
  if (!spec.add_eos) spec.add_eos = flag_field(config, "add_eos_token", false);
  return {};
}

}  // namespace

Result<TokenizerSpec> spec_from_tokenizer_json(std::string_view tokenizer_json,
                                               std::string_view tokenizer_config_json) {
  BRIO_TRY(const json::value root, parse(tokenizer_json, "tokenizer.json"));
  const json::value* model = field(root, "model");
  const json::value* vocab = model == nullptr ? nullptr : field(*model, "vocab");
  if (vocab == nullptr) return error(ErrorCode::kInvalidFile, "tokenizer.json: no model.vocab");
  const std::string_view type = text_field(*model, "type");
  if (!vocab->is_object() || (type != "BPE" && type != "WordPiece" && !type.empty()))
    return error(ErrorCode::kUnsupported, "tokenizer.json: model type '{}'; known are BPE, WordPiece",
                 type.substr(0, 64));

  TokenizerSpec spec;
  PipelineFacts facts;
  const json::value* added = field(root, "added_tokens");
  const size_t num_added = added != nullptr && added->is_array() ? added->get_array().size() : 0;
  const int64_t limit = static_cast<int64_t>(vocab->get_object().size() + num_added) + kMaxGap;
  BRIO_TRY_OK(read_vocab(*model, limit, spec));
  BRIO_TRY_OK(read_added_tokens(root, limit, spec));
  if (const json::value* step = field(root, "normalizer")) BRIO_TRY_OK(read_normalizer(*step, spec, facts));
  if (const json::value* step = field(root, "pre_tokenizer")) BRIO_TRY_OK(read_pretokenizer(*step, spec, facts));
  if (const json::value* step = field(root, "post_processor")) BRIO_TRY_OK(read_post_processor(*step, spec));
  const bool template_ends = spec.add_eos.value_or(false);
  const int32_t last = spec.eos;
  if (type == "WordPiece") {
    if (!facts.bert) return error(ErrorCode::kUnsupported, "tokenizer.json: WordPiece without BertPreTokenizer");
    BRIO_TRY_OK(read_wordpiece(*model, spec));
  } else {
    BRIO_TRY_OK(read_bpe(*model, facts, spec));
    if (!spec.add_space_prefix) spec.add_space_prefix = false;
  }
  BRIO_TRY_OK(read_config(tokenizer_config_json, spec));
  if (template_ends) spec.eos = last;  // what the post-processor puts last stays what AddSpecial adds
  if (!spec.add_bos) spec.add_bos = false;
  if (!spec.add_eos) spec.add_eos = false;
  return spec;
}

}  // namespace brio::tokenizer
