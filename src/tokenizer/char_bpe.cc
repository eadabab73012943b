// BPE over characters with merges by rank, spaces as U+2581 and bytes as the fallback: gemma4's GGUF, and the form in which
// tokenizer.json files hold SentencePiece vocabularies.
#include "tokenizer/merge_table.h"
#include "tokenizer/metaspace.h"
#include "tokenizer/token_model.h"
#include "tokenizer/utf8.h"

namespace brio::tokenizer {
namespace {

class CharBpe : public TokenModel {
 public:
  CharBpe(const Vocabulary& vocabulary, MergeTable merges) : vocabulary_(vocabulary), merges_(std::move(merges)) {}

  Result<void> encode(std::string_view text, bool at_start, EncodeScratch& scratch,
                      std::vector<int32_t>& out) const override {
    escape_spaces(text, prefix_wanted(vocabulary_.spec(), at_start), scratch.text);
    const std::string_view escaped = scratch.text;
    // No token mixes line feeds with other characters, so lines and runs of line feeds are separate words.
    for (size_t begin = 0; begin < escaped.size();) {
      const bool feeds = escaped[begin] == '\n';
      size_t end = feeds ? escaped.find_first_not_of('\n', begin) : escaped.find('\n', begin);
      end = std::min(end, escaped.size());
      encode_word(escaped.substr(begin, end - begin), feeds, scratch, out);
      begin = end;
    }
    return {};
  }

 private:
  void encode_word(std::string_view word, bool feeds, EncodeScratch& scratch, std::vector<int32_t>& out) const {
    if (feeds) {  // merges in GGUF files cannot name a line feed
      if (const int32_t id = vocabulary_.ordinary(word); id >= 0) return out.push_back(id);
    }
    scratch.symbols.clear();
    for (size_t i = 0; i < word.size();) {
      const size_t size = decode_utf8(word, i).size;
      scratch.symbols.push_back({merges_.symbol(vocabulary_, word.substr(i, size)), static_cast<uint32_t>(i),
                                 static_cast<uint32_t>(size)});
      i += size;
    }
    scratch.merger.run(scratch.symbols, merges_);
    append_with_byte_fallback(vocabulary_, word, scratch.symbols, out);
  }

  const Vocabulary& vocabulary_;
  MergeTable merges_;
};

}  // namespace

Result<std::unique_ptr<TokenModel>> create_char_bpe(const Vocabulary& vocabulary) {
  BRIO_TRY(MergeTable merges, MergeTable::create(vocabulary));
  return std::unique_ptr<TokenModel>(std::make_unique<CharBpe>(vocabulary, std::move(merges)));
}

}  // namespace brio::tokenizer
