#include "tokenizer/tokenizer_json_parts.h"

#include "tokenizer/pretokenizer.h"
#include "tokenizer/regex.h"

namespace brio::tokenizer {
namespace {

namespace json = boost::json;

constexpr std::string_view kEscapedSpace = "\xE2\x96\x81";
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// ASCII punctuation that Unicode files under symbols.
constexpr std::string_view kPunctuation = "[\\p{P}$+<=>^`|~]";

Error unsupported(std::string_view what, std::string_view name) {
  return error(ErrorCode::kUnsupported, "tokenizer.json: {} '{}' is not supported", what, name.substr(0, 64));
}

// Oniguruma nests brackets and intersects with &&; PCRE2 would read the same characters differently.
bool has_set_operations(std::string_view pattern) {
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (in_class && (pattern[i] == '[' || pattern.substr(i).starts_with("&&"))) {
      return true;
    } else if (pattern[i] == '[') {
      in_class = true;
    } else if (pattern[i] == ']') {
      in_class = false;
    }
  }
  return false;
}

// Oniguruma's $ and ^ match at every line; \s is Unicode's. Expressions that search to the end of a run from each of
// its characters are replaced by what takes linear time: DeepSeek's last spaces, Cohere's and SuperBPE's groups of
// digits.
std::string translate(std::string_view regex, const TokenizerSpec& spec) {
  const std::string_view first = spec.pre_patterns.empty() ? std::string_view() : spec.pre_patterns.front();
  if (regex == "\\s+$" && (first == "(?m)[\r\n]" || first == "(?m)[\\r\\n]"))
    return "(?<![" BRIO_WHITE_SPACE "])[" BRIO_WHITE_SPACE "]++\\z";  // no line feeds inside: they have been cut off
  if (regex == "\\d{1,3}(?=(?:\\d{3})*\\b)") return std::string(kWordDigitsInThrees);
  if (regex == "(?=(\\d{3})+(?!\\d))") return std::string(kThreesInDigits);
  return "(?m)" + with_unicode_white_space(regex);
}

std::string escape_literal(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (std::string_view("\\^$.[]|()?*+{}").find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

Result<void> read_split(const json::value& step, TokenizerSpec& spec, const PipelineFacts& facts) {
  const json::value* pattern = field(step, "pattern");
  if (pattern == nullptr) return error(ErrorCode::kInvalidFile, "tokenizer.json: pre_tokenizer Split has no pattern");
  const std::string_view regex = text_field(*pattern, "Regex"), literal = text_field(*pattern, "String");
  const std::string_view behavior = text_field(step, "behavior");
  if (regex.empty() && literal.empty())
    return error(ErrorCode::kInvalidFile, "tokenizer.json: pre_tokenizer Split has an empty pattern");
  if (literal == " " && facts.escapes_space) return {};  // Gemma: the normaliser has left no space to split at
  const bool keeps_matches = behavior == "Removed" && flag_field(step, "invert", false);
  if (behavior != "Isolated" && !keeps_matches) return unsupported("Split behavior", behavior);
  if (has_set_operations(regex)) return unsupported("Split pattern", regex);
  spec.pre_patterns.push_back(regex.empty() ? escape_literal(literal) : translate(regex, spec));
  return {};
}

Result<void> read_metaspace(const json::value& step, TokenizerSpec& spec, PipelineFacts& facts) {
  if (text_field(step, "replacement") != kEscapedSpace)
    return unsupported("Metaspace replacement", text_field(step, "replacement"));
  facts.escapes_space = true;
  const std::string_view scheme = text_field(step, "prepend_scheme");
  spec.add_space_prefix = scheme.empty() ? flag_field(step, "add_prefix_space", true) : scheme != "never";
  spec.space_prefix_only_at_start = scheme == "first";
  spec.space_prefix_unless_space = true;  // the normaliser Prepend, in contrast, never looks
  if (flag_field(step, "split", true)) spec.pre_patterns.emplace_back("\\x{2581}?[^\\x{2581}]+|\\x{2581}");
  return {};
}

}  // namespace

const json::value* field(const json::value& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const json::value* found = object.get_object().if_contains(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string_view text_field(const json::value& object, std::string_view key) {
  const json::value* found = field(object, key);
  return found == nullptr || !found->is_string() ? std::string_view() : std::string_view(found->get_string());
}

bool flag_field(const json::value& object, std::string_view key, bool otherwise) {
  const json::value* found = field(object, key);
  return found == nullptr || !found->is_bool() ? otherwise : found->get_bool();
}

Result<void> read_normalizer(const json::value& step, TokenizerSpec& spec, PipelineFacts& facts) {
  const std::string_view type = text_field(step, "type");
  if (type == "Sequence") {
    const json::value* steps = field(step, "normalizers");
    if (steps == nullptr || !steps->is_array())
      return error(ErrorCode::kInvalidFile, "tokenizer.json: normalizer.normalizers is no list");
    for (const json::value& inner : steps->get_array()) BRIO_TRY_OK(read_normalizer(inner, spec, facts));
    return {};
  }
  if (type == "NFC") {
    spec.normalize_nfc = true;
    return {};
  }
  if (type == "Prepend") {
    if (text_field(step, "prepend") != kEscapedSpace) return unsupported("Prepend", text_field(step, "prepend"));
    spec.add_space_prefix = true;
    return {};
  }
  if (type == "Replace") {
    const json::value* pattern = field(step, "pattern");
    if (pattern == nullptr || text_field(*pattern, "String") != " " || text_field(step, "content") != kEscapedSpace)
      return unsupported("normalizer", "Replace with another pattern than a space");
    facts.escapes_space = true;
    return {};
  }
  if (type == "BertNormalizer") {
    if (!flag_field(step, "clean_text", true) || !flag_field(step, "handle_chinese_chars", true))
      return unsupported("BertNormalizer", "without clean_text or handle_chinese_chars");
    spec.lowercase = flag_field(step, "lowercase", true);
    if (const json::value* strip = field(step, "strip_accents"); strip != nullptr && strip->is_bool())
      spec.strip_accents = strip->get_bool();
    return {};
  }
  return unsupported("normalizer", type);
}

Result<void> read_pretokenizer(const json::value& step, TokenizerSpec& spec, PipelineFacts& facts) {
  const std::string_view type = text_field(step, "type");
  if (type == "Sequence") {
    const json::value* steps = field(step, "pretokenizers");
    if (steps == nullptr || !steps->is_array())
      return error(ErrorCode::kInvalidFile, "tokenizer.json: pre_tokenizer.pretokenizers is no list");
    for (const json::value& inner : steps->get_array()) BRIO_TRY_OK(read_pretokenizer(inner, spec, facts));
    return {};
  }
  if (facts.byte_level) return unsupported("pre_tokenizer after ByteLevel", type);  // it would see the byte alphabet
  if (type == "Split") return read_split(step, spec, facts);
  if (type == "Metaspace") return read_metaspace(step, spec, facts);
  if (type == "ByteLevel") {
    if (flag_field(step, "add_prefix_space", true)) return unsupported("ByteLevel", "with add_prefix_space");
    facts.byte_level = true;
    if (flag_field(step, "use_regex", true)) spec.pre_patterns.push_back(with_unicode_white_space(kGpt2Pattern));
    return {};
  }
  if (type == "Digits") {
    spec.pre_patterns.emplace_back(flag_field(step, "individual_digits", false) ? "\\p{N}" : "\\p{N}+");
    return {};
  }
  if (type == "Punctuation") {
    const std::string_view behavior = text_field(step, "behavior");
    if (behavior != "Isolated" && behavior != "Contiguous") return unsupported("Punctuation behavior", behavior);
    spec.pre_patterns.push_back(std::string(kPunctuation) + (behavior == "Contiguous" ? "+" : ""));
    return {};
  }
  if (type == "BertPreTokenizer") {
    facts.bert = true;
    return {};
  }
  return unsupported("pre_tokenizer", type);
}

namespace {

int32_t template_id(const json::value& step, std::string_view name) {
  const json::value* tokens = field(step, "special_tokens");
  const json::value* token = tokens == nullptr ? nullptr : field(*tokens, name);
  const json::value* ids = token == nullptr ? nullptr : field(*token, "ids");
  if (ids == nullptr || !ids->is_array() || ids->get_array().size() != 1) return -1;
  const json::value& id = ids->get_array()[0];
  return id.is_int64() && id.get_int64() >= 0 && id.get_int64() <= INT32_MAX ? static_cast<int32_t>(id.get_int64())
                                                                             : -1;
}

Result<void> read_template(const json::value& step, TokenizerSpec& spec) {
  const json::value* single = field(step, "single");
  if (single == nullptr || !single->is_array())
    return error(ErrorCode::kInvalidFile, "tokenizer.json: post_processor.single is no list");
  bool after = false;
  for (const json::value& item : single->get_array()) {
    if (field(item, "Sequence") != nullptr) {
      after = true;
      continue;
    }
    const json::value* special = field(item, "SpecialToken");
    const std::string_view name = special == nullptr ? std::string_view() : text_field(*special, "id");
    const int32_t id = template_id(step, name);
    if (id < 0)
      return error(ErrorCode::kInvalidFile, "tokenizer.json: post_processor names no id for '{}'", name.substr(0, 64));
    std::optional<bool>& taken = after ? spec.add_eos : spec.add_bos;
    if (taken.value_or(false)) return unsupported("post_processor", "with two special tokens on one side");
    taken = true;
    (after ? spec.eos : spec.bos) = id;
  }
  return {};
}

}  // namespace

Result<void> read_post_processor(const json::value& step, TokenizerSpec& spec) {
  const std::string_view type = text_field(step, "type");
  if (type == "Sequence") {
    const json::value* steps = field(step, "processors");
    if (steps == nullptr || !steps->is_array())
      return error(ErrorCode::kInvalidFile, "tokenizer.json: post_processor.processors is no list");
    for (const json::value& inner : steps->get_array()) BRIO_TRY_OK(read_post_processor(inner, spec));
    return {};
  }
  if (type == "ByteLevel") return {};  // offsets only
  if (type == "TemplateProcessing") return read_template(step, spec);
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    for (const auto& [key, role] : {std::pair{"cls", &spec.bos}, std::pair{"sep", &spec.eos}}) {
      const json::value* pair = field(step, key);
      if (pair == nullptr || !pair->is_array() || pair->get_array().size() != 2 || !pair->get_array()[1].is_int64())
        return error(ErrorCode::kInvalidFile, "tokenizer.json: post_processor.{} is no [text, id]", key);
      const int64_t id = pair->get_array()[1].get_int64();
      if (id < 0 || id > INT32_MAX)
        return error(ErrorCode::kInvalidFile, "tokenizer.json: post_processor.{} has id {}", key, id);
      *role = static_cast<int32_t>(id);
    }
    spec.add_bos = spec.add_eos = true;
    return {};
  }
  return unsupported("post_processor", type);
}

}  // namespace brio::tokenizer
