// Byte-level BPE (GPT-2 and its descendants): words from the pretokenizer, one symbol per byte, merges by rank.
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/token_model.h"

namespace brio::tokenizer {
namespace {

class ByteBpe : public TokenModel {
 public:
  ByteBpe(const Vocabulary& vocabulary, Pretokenizer pretokenizer, MergeTable merges)
      : vocabulary_(vocabulary), pretokenizer_(std::move(pretokenizer)), merges_(std::move(merges)) {
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      byte_symbols_[byte] = merges_.symbol(vocabulary_, spelling_of_bytes({&c, 1}));
    }
  }

  // A word that is a token is not merged up: llama-bpe, tekken.
  void index_whole_words() {
    words_.reserve(vocabulary_.size());
    for (int32_t id = 0; id < vocabulary_.size(); ++id) {
      if (vocabulary_.is_ordinary(id) && !vocabulary_.bytes(id).empty()) words_.insert(vocabulary_.bytes(id), id);
    }
  }

  Result<void> encode(std::string_view text, bool, EncodeScratch& scratch, std::vector<int32_t>& out) const override {
    BRIO_TRY_OK(pretokenizer_.split(text, scratch.regex, scratch.ends));
    size_t begin = 0;
    for (size_t end : scratch.ends) {
      encode_word(text.substr(begin, end - begin), scratch, out);
      begin = end;
    }
    return {};
  }

 private:
  void encode_word(std::string_view word, EncodeScratch& scratch, std::vector<int32_t>& out) const {
    if (const int32_t id = words_.find(word); id >= 0) return out.push_back(id);
    scratch.symbols.clear();
    for (uint32_t i = 0; i < word.size(); ++i)
      scratch.symbols.push_back({byte_symbols_[static_cast<uint8_t>(word[i])], i, 1});
    scratch.merger.run(scratch.symbols, merges_);
    for (const Symbol& symbol : scratch.symbols) {
      if (symbol.id >= 0 && symbol.id < vocabulary_.size()) {
        out.push_back(symbol.id);
      } else {
        append_bytes(word.substr(symbol.begin, symbol.size), out);
      }
    }
  }

  // Text that merged into no token, or a byte without one. Like the reference tokenizers: the unknown token where there
  // is one, else nothing.
  void append_bytes(std::string_view bytes, std::vector<int32_t>& out) const {
    for (char c : bytes) {
      const int32_t id = vocabulary_.byte_token(static_cast<uint8_t>(c));
      if (id >= 0) {
        out.push_back(id);
      } else if (vocabulary_.spec().unk >= 0) {
        out.push_back(vocabulary_.spec().unk);
      }
    }
  }

  const Vocabulary& vocabulary_;
  Pretokenizer pretokenizer_;
  MergeTable merges_;
  TokenMap words_;  // empty unless merges are ignored
  std::array<int32_t, 256> byte_symbols_{};
};

}  // namespace

Result<std::unique_ptr<TokenModel>> create_byte_bpe(const Vocabulary& vocabulary) {
  const TokenizerSpec& spec = vocabulary.spec();
  std::vector<std::string_view> stages(spec.pre_patterns.begin(), spec.pre_patterns.end());
  bool ignore_merges = false;
  if (stages.empty()) {
    if (spec.pre.empty())
      return error(ErrorCode::kInvalidFile,
                   "tokenizer.ggml.pre is missing: a byte-level BPE vocabulary does not say how it splits words");
    BRIO_TRY(const PretokenizerRecipe recipe, find_recipe(spec.pre));
    stages.assign(recipe.stages.begin(), recipe.stages.end());
    ignore_merges = recipe.ignore_merges;
  }
  BRIO_TRY(Pretokenizer pretokenizer, Pretokenizer::create(stages));
  BRIO_TRY(MergeTable merges, MergeTable::create(vocabulary));
  auto model = std::make_unique<ByteBpe>(vocabulary, std::move(pretokenizer), std::move(merges));
  if (spec.ignore_merges.value_or(ignore_merges)) model->index_whole_words();
  return std::unique_ptr<TokenModel>(std::move(model));
}

}  // namespace brio::tokenizer
