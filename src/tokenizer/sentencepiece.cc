// SentencePiece BPE ("llama" in GGUF): the neighbouring pair whose joined text is the token of highest score merges
// first, starting from characters. Kudo and Richardson 2018.
#include <bit>
#include <bitset>
#include <cmath>

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
      for (size_t i = token.find(kMetaspace, 1); i < token.size(); i = token.find(kMetaspace, i + 1)) {
        joins_next_word_.set(static_cast<uint8_t>(token[i - 1]));
      }
    }
  }

  Result<void> encode(std::string_view text, bool at_start, EncodeScratch& scratch,
                      std::vector<int32_t>& out) const override {
    escape_spaces(text, prefix_wanted(vocabulary_.spec(), text, at_start), scratch.text);
    const std::string_view escaped = scratch.text;
    for (size_t begin = 0; begin < escaped.size();) {
      const size_t end = word_end(escaped, begin);
      encode_word(escaped.substr(begin, end - begin), scratch, out);
      begin = end;
    }
    return {};
  }

 private:
  // Merging never crosses a space whose byte before it stands before a space in no token: the text is cut there, which
  // keeps the words short. Runs of spaces stay together where the vocabulary has tokens of them.
  size_t word_end(std::string_view text, size_t begin) const {
    size_t i = text.find(kMetaspace, begin + 1);
    while (i < text.size() && joins_next_word_.test(static_cast<uint8_t>(text[i - 1])))
      i = text.find(kMetaspace, i + 1);
    return std::min(i, text.size());
  }

  void encode_word(std::string_view word, EncodeScratch& scratch, std::vector<int32_t>& out) const {
    scratch.symbols.clear();
    for (size_t i = 0; i < word.size();) {
      const size_t size = decode_utf8(word, i).size;
      scratch.symbols.push_back(
          {vocabulary_.ordinary(word.substr(i, size)), static_cast<uint32_t>(i), static_cast<uint32_t>(size)});
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
  std::vector<int32_t> ranks_;        // by id, lower merges first
  size_t longest_ = 0;                // bytes of the longest token
  std::bitset<256> joins_next_word_;  // bytes that stand before a space inside some token
};

}  // namespace

Result<std::unique_ptr<TokenModel>> create_sentencepiece(const Vocabulary& vocabulary) {
  if (vocabulary.spec().scores.empty())
    return error(ErrorCode::kInvalidFile,
                 "tokenizer.ggml.scores is missing: a SentencePiece vocabulary merges by score");
  for (size_t i = 0; i < vocabulary.spec().scores.size(); ++i) {
    if (std::isnan(vocabulary.spec().scores[i]))
      return error(ErrorCode::kInvalidFile, "tokenizer.ggml.scores: the score of token {} is no number", i);
  }
  return std::unique_ptr<TokenModel>(std::make_unique<SentencePiece>(vocabulary));
}

}  // namespace brio::tokenizer
