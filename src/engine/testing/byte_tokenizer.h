// A tokenizer whose token b is the byte b, and whose token 256 ends generation; more control tokens from 258 on. For tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/tokenizer.h"

namespace brio::engine::testing {

inline constexpr int32_t kEndToken = 256;
inline constexpr int32_t kFirstControlToken = 258;

inline std::unique_ptr<tokenizer::Tokenizer> byte_tokenizer(const std::vector<std::string>& controls = {}) {
  tokenizer::TokenizerSpec spec;
  spec.model = "gpt2";
  spec.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    spec.tokens.push_back(tokenizer::spelling_of_bytes(std::string(1, static_cast<char>(byte))));
  }
  spec.tokens.emplace_back("<|end|>");
  spec.types.assign(256, tokenizer::TokenType::kNormal);
  spec.types.push_back(tokenizer::TokenType::kControl);
  // A vocabulary of this kind needs a merge: of two bytes that no test's text has.
  const std::string first = tokenizer::spelling_of_bytes("\xFE");
  const std::string second = tokenizer::spelling_of_bytes("\xFF");
  spec.tokens.push_back(first + second);
  spec.types.push_back(tokenizer::TokenType::kNormal);
  spec.merges.push_back(first + " " + second);
  for (const std::string& control : controls) {
    spec.tokens.push_back(control);
    spec.types.push_back(tokenizer::TokenType::kControl);
  }
  spec.eos = kEndToken;
  auto created = tokenizer::Tokenizer::create(std::move(spec));
  EXPECT_TRUE(created.ok()) << created.error().message;
  return std::move(created).value();
}

}  // namespace brio::engine::testing
