// Vocabulary: a checked TokenizerSpec with the look-ups that encoding and decoding need. Owned by the Tokenizer, which
// every token model refers to. Immutable after create(), any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/token_map.h"
#include "tokenizer/tokenizer_spec.h"

namespace brio::tokenizer {

inline constexpr std::string_view kMetaspace = "\xE2\x96\x81";  // U+2581, a space in SentencePiece vocabularies

class Vocabulary {
 public:
  static Result<Vocabulary> create(TokenizerSpec spec);

  int32_t size() const { return static_cast<int32_t>(spec_.tokens.size()); }
  const TokenizerSpec& spec() const { return spec_; }
  TokenType type(int32_t id) const { return types_[id]; }
  bool is_control(int32_t id) const { return types_[id] == TokenType::kControl || types_[id] == TokenType::kUnknown; }
  bool is_ordinary(int32_t id) const;

  // Tokens that ordinary text may become, by the vocabulary's spelling; -1: none. Control, unknown and byte tokens are
  // never found here, so no spelling of text can produce them.
  int32_t ordinary(std::string_view spelling) const { return ordinary_.find(spelling); }
  int32_t byte_token(uint8_t byte) const { return byte_tokens_[byte]; }  // -1: none
  std::optional<int32_t> find(std::string_view spelling) const;          // any token

  const std::string& bytes(int32_t id) const { return bytes_[id]; }  // what the token stands for in text
  const std::vector<int32_t>& end_of_generation() const { return end_of_generation_; }  // ascending

 private:
  Result<void> check() const;
  void find_roles();
  void set_types();
  void set_bytes();
  void index();
  void find_end_of_generation();

  TokenizerSpec spec_;
  std::vector<TokenType> types_;
  std::vector<std::string> bytes_;
  TokenMap ordinary_, special_;
  std::array<int32_t, 256> byte_tokens_{};
  std::vector<int32_t> end_of_generation_;
};

}  // namespace brio::tokenizer
