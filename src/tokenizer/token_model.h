// TokenModel: ordinary text to ids, one implementation per vocabulary kind (byte_bpe, char_bpe, sentencepiece,
// wordpiece). Immutable after create(); any thread, each call with its own scratch. The vocabulary must outlive the
// model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/merge.h"
#include "tokenizer/regex.h"
#include "tokenizer/vocabulary.h"

namespace brio::tokenizer {

struct EncodeScratch {  // reused by all segments of one encode() call
  RegexScratch regex;
  Merger merger;
  std::vector<Symbol> symbols;
  std::vector<size_t> ends;
  std::string text;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the ids of `text`: valid UTF-8, not empty, no special tokens. `at_start`: nothing comes before it.
  virtual Result<void> encode(std::string_view text, bool at_start, EncodeScratch& scratch,
                              std::vector<int32_t>& out) const = 0;
};

Result<std::unique_ptr<TokenModel>> create_byte_bpe(const Vocabulary& vocabulary);
Result<std::unique_ptr<TokenModel>> create_char_bpe(const Vocabulary& vocabulary);
Result<std::unique_ptr<TokenModel>> create_sentencepiece(const Vocabulary& vocabulary);
Result<std::unique_ptr<TokenModel>> create_wordpiece(const Vocabulary& vocabulary);

}  // namespace brio::tokenizer
