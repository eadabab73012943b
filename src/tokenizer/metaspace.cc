#include "tokenizer/metaspace.h"

namespace brio::tokenizer {

void escape_spaces(std::string_view text, bool prefix, std::string& out) {
  out.clear();
  out.reserve(text.size() + text.size() / 2);
  if (prefix) out += kMetaspace;
  for (char c : text) {
    if (c == ' ') {
      out += kMetaspace;
    } else {
      out.push_back(c);
    }
  }
}

void append_with_byte_fallback(const Vocabulary& vocabulary, std::string_view text, std::span<const Symbol> symbols,
                               std::vector<int32_t>& out) {
  const int32_t unk = vocabulary.spec().unk;
  bool after_unknown = false;
  for (const Symbol& symbol : symbols) {
    if (symbol.id >= 0 && symbol.id < vocabulary.size()) {
      out.push_back(symbol.id);
      after_unknown = false;
      continue;
    }
    bool all_bytes = true;
    const std::string_view bytes = text.substr(symbol.begin, symbol.size);
    for (char c : bytes) all_bytes = all_bytes && vocabulary.byte_token(static_cast<uint8_t>(c)) >= 0;
    if (all_bytes) {
      for (char c : bytes) out.push_back(vocabulary.byte_token(static_cast<uint8_t>(c)));
    } else if (unk >= 0 && !after_unknown) {
      out.push_back(unk);
    }
    after_unknown = !all_bytes;
  }
}

}  // namespace brio::tokenizer
