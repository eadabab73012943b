// WordPiece ("bert" in GGUF): words at white space and punctuation, then the longest token that starts at each place.
// GGUF marks tokens that start a word with U+2581; a word that cannot be covered is the unknown token.
#include "tokenizer/normalize.h"
#include "tokenizer/token_model.h"
#include "tokenizer/utf8.h"

namespace brio::tokenizer {
namespace {

constexpr int kMaxWordCharacters = 100;  // BERT's own limit: longer words are unknown

class WordPiece : public TokenModel {
 public:
  explicit WordPiece(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    const TokenizerSpec& spec = vocabulary.spec();
    options_.lowercase = spec.lowercase.value_or(true);
    options_.strip_accents = spec.strip_accents.value_or(options_.lowercase);
    for (const std::string& token : spec.tokens) longest_ = std::max(longest_, token.size());
  }

  Result<void> encode(std::string_view text, bool, EncodeScratch&, std::vector<int32_t>& out) const override {
    BRIO_TRY(const std::string clean, normalize_bert(text, options_));
    std::string word(kMetaspace);
    int characters = 0;
    auto finish = [&] {
      if (characters > 0) encode_word(word, characters, out);
      word = kMetaspace;
      characters = 0;
    };
    for (size_t i = 0; i < clean.size();) {
      const CodePoint c = decode_utf8(clean, i);
      const bool alone = is_bert_punctuation(c.value);
      if (c.value == ' ' || alone) finish();
      if (c.value != ' ') {
        word.append(clean, i, c.size);
        ++characters;
      }
      if (alone) finish();
      i += c.size;
    }
    finish();
    return {};
  }

 private:
  void encode_word(std::string_view word, int characters, std::vector<int32_t>& out) const {
    const size_t before = out.size();
    bool covered = characters <= kMaxWordCharacters;
    for (size_t i = 0; i < word.size() && covered;) {
      size_t size = std::min(word.size() - i, longest_);
      int32_t id = -1;
      for (; size > 0; --size) {
        id = vocabulary_.ordinary(word.substr(i, size));
        if (id >= 0) break;
      }
      covered = id >= 0;
      if (covered) out.push_back(id);
      i += size;
    }
    if (covered) return;
    out.resize(before);
    if (vocabulary_.spec().unk >= 0) out.push_back(vocabulary_.spec().unk);
  }

  const Vocabulary& vocabulary_;
  BertOptions options_{};
  size_t longest_ = 0;
};

}  // namespace

Result<std::unique_ptr<TokenModel>> create_wordpiece(const Vocabulary& vocabulary) {
  return std::unique_ptr<TokenModel>(std::make_unique<WordPiece>(vocabulary));
}

}  // namespace brio::tokenizer
