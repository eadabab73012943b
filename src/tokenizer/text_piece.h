// TextPiece: a stretch of text and whether it may name special tokens. Chat templates produce pieces (template text is
// trusted, what the user wrote is not); the tokenizer recognises control tokens in trusted text only.
#pragma once

#include <string>

namespace brio::tokenizer {

struct TextPiece {
  std::string text;
  bool allow_special = false;  // true: template text, "<|im_end|>" is a control token; false: it is ten characters
};

}  // namespace brio::tokenizer
