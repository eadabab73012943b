// Unicode normalisation of ordinary text, over utf8proc. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace brio::tokenizer {

Result<std::string> normalize_nfc(std::string_view text);  // text is valid UTF-8

// BERT's text preparation (Devlin et al. 2018): control characters removed, white space as one kind of space, CJK
// characters set apart by spaces; optionally accents removed and letters made lower case.
struct BertOptions {
  bool lowercase;
  bool strip_accents;
};
Result<std::string> normalize_bert(std::string_view text, const BertOptions& options);

bool is_bert_punctuation(char32_t c);  // ASCII symbols and every character of category P

}  // namespace brio::tokenizer
