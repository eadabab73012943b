#include "tokenizer/vocabulary.h"

#include <algorithm>

#include "tokenizer/byte_alphabet.h"

namespace brio::tokenizer {
namespace {

constexpr size_t kMaxTokens = 1 << 24;      // 64 times today's largest vocabulary
constexpr size_t kMaxTokenBytes = 1 << 20;  // real tokens end near 1 kB (runs of spaces and dashes)

// End-of-generation tokens by name, for files that give only one eos. The first group is unmistakable: whatever type
// the file claims, the token is a control token, so that users cannot write it. The second counts only as a control
// token.
constexpr std::string_view kUnmistakableEnds[] = {"<|im_end|>",
                                                  "<|eot_id|>",
                                                  "<|eom_id|>",
                                                  "<end_of_turn>",
                                                  "<|endoftext|>",
                                                  "<|end_of_text|>",
                                                  "<|return|>",
                                                  "<end_of_utterance>",
                                                  "<turn|>",
                                                  "<\xEF\xBD\x9C"
                                                  "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"};
constexpr std::string_view kControlEnds[] = {"<|end|>",       "<|call|>",     "<|flush|>",  "<|calls|>",
                                             "</s>",          "<eos>",        "<EOT>",      "_<EOT>",
                                             "[EOT]",         "[EOS]",        "[e~[",       "<|fim_pad|>",
                                             "<|repo_name|>", "<|file_sep|>", "<reponame>", "<|tool_response>"};

// "<0x0A>" is the byte 10.
std::optional<uint8_t> byte_of_spelling(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  int value = 0;
  for (char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<uint8_t>(value);
}

std::string with_spaces(std::string_view token) {
  std::string out;
  out.reserve(token.size());
  for (size_t i = 0; i < token.size();) {
    const bool space = token.substr(i).starts_with(kMetaspace);
    out.push_back(space ? ' ' : token[i]);
    i += space ? kMetaspace.size() : 1;
  }
  return out;
}

}  // namespace

bool Vocabulary::is_ordinary(int32_t id) const {
  // Byte-level user-defined tokens are spelled as plain text, outside the byte alphabet that merges use.
  return types_[id] == TokenType::kNormal || (types_[id] == TokenType::kUserDefined && spec_.model != "gpt2");
}

Result<Vocabulary> Vocabulary::create(TokenizerSpec spec) {
  Vocabulary out;
  out.spec_ = std::move(spec);
  BRIO_TRY_OK(out.check());
  out.set_types();
  out.set_bytes();
  out.index();
  out.find_roles();
  out.find_end_of_generation();
  return out;
}

Result<void> Vocabulary::check() const {
  const size_t n = spec_.tokens.size();
  if (n == 0) return error(ErrorCode::kInvalidFile, "tokenizer.ggml.tokens is empty");
  if (n > kMaxTokens)
    return error(ErrorCode::kInvalidFile, "tokenizer.ggml.tokens has {} entries, the most is {}", n, kMaxTokens);
  if (!spec_.scores.empty() && spec_.scores.size() != n)
    return error(ErrorCode::kInvalidFile, "tokenizer.ggml.scores has {} entries for {} tokens", spec_.scores.size(), n);
  if (!spec_.types.empty() && spec_.types.size() != n)
    return error(ErrorCode::kInvalidFile, "tokenizer.ggml.token_type has {} entries for {} tokens", spec_.types.size(),
                 n);
  for (size_t i = 0; i < n; ++i) {
    if (spec_.tokens[i].size() > kMaxTokenBytes)
      return error(ErrorCode::kInvalidFile, "tokenizer.ggml.tokens[{}] has {} bytes, the most is {}", i,
                   spec_.tokens[i].size(), kMaxTokenBytes);
  }
  const std::pair<const char*, int32_t> roles[] = {{"bos", spec_.bos}, {"eos", spec_.eos},       {"unknown", spec_.unk},
                                                   {"eot", spec_.eot}, {"seperator", spec_.sep}, {"padding", spec_.pad},
                                                   {"cls", spec_.cls}, {"eom", spec_.eom}};
  for (const auto& [role, id] : roles) {
    if (id >= static_cast<int64_t>(n))
      return error(ErrorCode::kInvalidFile, "tokenizer.ggml.{}_token_id is {}, the vocabulary has {} tokens", role, id,
                   n);
  }
  for (const auto* ids : {&spec_.extra_stop_ids, &spec_.strip_left_ids, &spec_.strip_right_ids}) {
    for (int32_t id : *ids) {
      if (id < 0 || id >= static_cast<int64_t>(n))
        return error(ErrorCode::kInvalidFile, "special token id {} is outside the vocabulary of {} tokens", id, n);
    }
  }
  return {};
}

void Vocabulary::set_types() {
  types_ = spec_.types;
  types_.resize(spec_.tokens.size(), TokenType::kNormal);
  for (TokenType& type : types_) {
    if (type < TokenType::kNormal || type > TokenType::kByte) type = TokenType::kNormal;  // GGUF's 0, "undefined"
  }
  for (std::string_view name : kUnmistakableEnds) {
    const auto at = std::find(spec_.tokens.begin(), spec_.tokens.end(), name);
    if (at != spec_.tokens.end()) types_[at - spec_.tokens.begin()] = TokenType::kControl;
  }
  for (int32_t id : {spec_.bos, spec_.eos, spec_.eot, spec_.eom}) {
    if (id >= 0 && types_[id] == TokenType::kUserDefined) types_[id] = TokenType::kControl;
  }
  if (std::find(types_.begin(), types_.end(), TokenType::kByte) != types_.end() || spec_.model == "gpt2") return;
  for (size_t i = 0; i < types_.size(); ++i) {
    if (types_[i] == TokenType::kNormal && byte_of_spelling(spec_.tokens[i])) types_[i] = TokenType::kByte;
  }
}

void Vocabulary::set_bytes() {
  byte_tokens_.fill(-1);
  bytes_.resize(spec_.tokens.size());
  for (size_t i = 0; i < bytes_.size(); ++i) {
    const std::string& token = spec_.tokens[i];
    if (types_[i] == TokenType::kByte) {
      if (const auto byte = byte_of_spelling(token)) {
        bytes_[i].assign(1, static_cast<char>(*byte));
        if (byte_tokens_[*byte] < 0) byte_tokens_[*byte] = static_cast<int32_t>(i);
        continue;
      }
    }
    if (types_[i] != TokenType::kNormal) {
      bytes_[i] = token;
    } else if (spec_.model == "gpt2") {
      bytes_[i] = bytes_of_spelling(token).value_or(token);
    } else {
      bytes_[i] = with_spaces(token);
    }
  }
  if (spec_.model != "gpt2") return;
  byte_tokens_.fill(-1);  // byte-level BPE starts from the single-byte tokens of its alphabet
  for (int32_t i = size() - 1; i >= 0; --i) {
    if (types_[i] == TokenType::kNormal && bytes_[i].size() == 1) byte_tokens_[static_cast<uint8_t>(bytes_[i][0])] = i;
  }
}

void Vocabulary::index() {
  ordinary_.reserve(spec_.tokens.size());
  const size_t num_special =
      std::count_if(types_.begin(), types_.end(), [](TokenType t) { return t != TokenType::kNormal; });
  special_.reserve(num_special);
  for (int32_t id = 0; id < size(); ++id) {
    if (spec_.tokens[id].empty()) continue;
    if (is_ordinary(id)) ordinary_.insert(spec_.tokens[id], id);
    if (types_[id] != TokenType::kNormal) special_.insert(spec_.tokens[id], id);
  }
}

std::optional<int32_t> Vocabulary::find(std::string_view spelling) const {
  if (const int32_t id = special_.find(spelling); id >= 0) return id;
  if (const int32_t id = ordinary_.find(spelling); id >= 0) return id;
  return std::nullopt;
}

// Files without role keys mean their family's usual names.
void Vocabulary::find_roles() {
  auto name = [this](int32_t& role, std::string_view token) {
    if (role < 0) role = find(token).value_or(-1);
  };
  if (spec_.model == "llama") {
    name(spec_.bos, "<s>");
    name(spec_.eos, "</s>");
    name(spec_.unk, "<unk>");
  } else if (spec_.model == "bert") {
    name(spec_.cls, "[CLS]");
    name(spec_.sep, "[SEP]");
    name(spec_.unk, "[UNK]");
    name(spec_.pad, "[PAD]");
  } else {
    name(spec_.eos, "<|endoftext|>");
  }
}

void Vocabulary::find_end_of_generation() {
  std::vector<int32_t>& ends = end_of_generation_;
  ends = spec_.extra_stop_ids;
  for (int32_t id : {spec_.eos, spec_.eot, spec_.eom}) {
    if (id >= 0) ends.push_back(id);
  }
  auto add_control = [&](std::string_view name) {
    const auto id = find(name);
    if (id && is_control(*id)) ends.push_back(*id);
  };
  for (std::string_view name : kUnmistakableEnds) add_control(name);
  for (std::string_view name : kControlEnds) {
    // In the harmony format <|end|> closes a message, not the answer; <|return|> and <|call|> do.
    const bool harmony = find("<|return|>") || (find("<|flush|>") && find("<|calls|>"));
    if (name != "<|end|>" || !harmony) add_control(name);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

}  // namespace brio::tokenizer
