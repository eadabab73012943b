// SentencePiece BPE ("llama" in GGUF): the neighbouring pair whose joined text is the token of highest score merges first,
// starting from characters. Kudo and Richardson 2018.
#include <bit>

#include "tokenizer/metaspace.h"
#include "tokenizer/token_model.h"
#include "tokenizer/utf8.h"

namespace brio::tokenizer {
namespace {

// An integer that orders as -score does: higher scores first, equal scores equal.
int32_t rank_of_score(float score) {
  if (score == 0) score = 0;  // -0 and 0 are equal scores
  const uint32_t bits = std::bit_cast<uint32_t>(-score);
  return static_cast<int32_t>(bits & 0x80000000u ? ~bits | 0x80000000u : bits);
}

// Does the token hold a space after something else? If none does, no merge crosses the start of a word.
bool spans_words(std::string_view token) {
  const size_t first = token.find_first_not_of(kMetaspace);  // any of its three bytes: only skips ahead
  return first != std::string_view::npos && token.find(kMetaspace, first) != std::string_view::npos;
}

class SentencePiece : public TokenModel {
 public:
  explicit SentencePiece(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    const std::vector<float>& scores = vocabulary.spec().scores;
    ranks_.reserve(scores.size());
    for (float score : scores) ranks_.push_back(rank_of_score(score));
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
      if (!vocabulary.is_ordinary(id)) continue;
      const std::string& token = vocabulary.spec().tokens[id];
      longest_ = std::max(longest_, token.size());
      whole_text_ = whole_text_ || spans_words(token);
    }
  }

  Result<void> encode(std::string_view text, bool at_start, EncodeScratch& scratch,
                      std::vector<int32_t>& out) const override {
    escape_spaces(text, prefix_wanted(vocabulary_.spec(), at_start), scratch.text);
    const std::string_view escaped = scratch.text;
    for (size_t begin = 0; begin < escaped.size();) {
      const size_t end = whole_text_ ? escaped.size() : word_end(escaped, begin);
      encode_word(escaped.substr(begin, end - begin), scratch, out);
      begin = end;
    }
    return {};
  }

 private:
  static size_t word_end(std::string_view text, size_t begin) {
    size_t i = begin;
    while (text.substr(i).starts_with(kMetaspace)) i += kMetaspace.size();
    return std::min(text.find(kMetaspace, i), text.size());
  }

  void encode_word(std::string_view word, EncodeScratch& scratch, std::vector<int32_t>& out) const {
    scratch.symbols.clear();
    for (size_t i = 0; i < word.size();) {
      const size_t size = decode_utf8(word, i).size;
      scratch.symbols.push_back({vocabulary_.ordinary(word.substr(i, size)), static_cast<uint32_t>(i),
                                 static_cast<uint32_t>(size)});
      i += size;
    }
    scratch.merger.run(scratch.symbols, [&](const Symbol& left, const Symbol& right) {
      const size_t size = left.size + right.size;
      const int32_t id = size <= longest_ ? vocabulary_.ordinary(word.substr(left.begin, size)) : -1;
      return id < 0 ? kNoMerge : Merge{ranks_[id], id};
    });
    append_with_byte_fallback(vocabulary_, word, scratch.symbols, out);
  }

  const Vocabulary& vocabulary_;
  std::vector<int32_t> ranks_;  // by id, lower merges first
  size_t longest_ = 0;          // bytes of the longest token
  bool whole_text_ = false;     // some token spans words: the text is one word
};

}  // namespace

Result<std::unique_ptr<TokenModel>> create_sentencepiece(const Vocabulary& vocabulary) {
  if (vocabulary.spec().scores.empty())
    return error(ErrorCode::kInvalidFile, "tokenizer.ggml.scores is missing: a SentencePiece vocabulary merges by score");
  return std::unique_ptr<TokenModel>(std::make_unique<SentencePiece>(vocabulary));
}

}  // namespace brio::tokenizer
