// What vocabularies that write spaces as U+2581 share: escaping, and bytes for text without a token. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/merge.h"
#include "tokenizer/vocabulary.h"

namespace brio::tokenizer {

inline bool prefix_wanted(const TokenizerSpec& spec, std::string_view text, bool at_start) {
  if (!spec.add_space_prefix.value_or(spec.model == "llama")) return false;
  if (spec.space_prefix_only_at_start && !at_start) return false;
  return !spec.space_prefix_unless_space || !(text.starts_with(' ') || text.starts_with(kMetaspace));
}

// `out` = text with every space as U+2581, and one more in front if `prefix`.
void escape_spaces(std::string_view text, bool prefix, std::string& out);

// The ids of symbols after merging. A symbol that is no token becomes its byte tokens, or where the vocabulary has
// none, the unknown token: one for neighbouring unknowns, as SentencePiece does.
void append_with_byte_fallback(const Vocabulary& vocabulary, std::string_view text, std::span<const Symbol> symbols,
                               std::vector<int32_t>& out);

}  // namespace brio::tokenizer
