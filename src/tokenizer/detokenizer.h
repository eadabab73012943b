// Detokenizer: the text of one sequence as its tokens arrive. Emits only whole UTF-8: an incomplete tail (at most three
// bytes) waits for the next token, bytes that can never become a character turn into U+FFFD (one per maximal valid
// prefix, as the Unicode standard recommends). One per sequence, owned by it; the tokenizer must outlive it.
//
//   Detokenizer out(tokenizer);
//   for (int32_t id : ids) send(out.append(id));
//   send(out.flush());
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace brio::tokenizer {

class Detokenizer {
 public:
  // shown: control tokens that are text whatever `render` says.
  explicit Detokenizer(const Tokenizer& tokenizer, RenderSpecial render = RenderSpecial::kNo,
                       std::vector<int32_t> shown = {})
      : tokenizer_(&tokenizer), render_(render), shown_(std::move(shown)) {}

  std::string append(int32_t id);  // what became certain with this token, often empty for byte tokens
  std::string flush();             // the end: an incomplete tail becomes U+FFFD

 private:
  const Tokenizer* tokenizer_;
  RenderSpecial render_;
  std::vector<int32_t> shown_;
  std::string pending_;  // incomplete but so far valid UTF-8, at most 3 bytes
};

}  // namespace brio::tokenizer
