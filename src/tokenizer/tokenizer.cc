#include "tokenizer/tokenizer.h"

#include <algorithm>

#include "tokenizer/detokenizer.h"
#include "tokenizer/normalize.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/special_matcher.h"
#include "tokenizer/token_model.h"
#include "tokenizer/utf8.h"
#include "tokenizer/vocabulary.h"

namespace brio::tokenizer {

struct Tokenizer::State {
  Vocabulary vocabulary;
  SpecialMatcher matcher;
  std::unique_ptr<TokenModel> model;
  int32_t first = -1;  // ids that AddSpecial::kYes puts around the text; -1: none
  int32_t last = -1;
};

namespace {

// A text that is one word needs about 45 bytes of memory a byte: symbols, links and merge candidates. 64 MiB is
// hundreds of times the longest context in use.
constexpr size_t kMaxTextBytes = size_t{64} << 20;

struct Joined {
  std::string text;                // valid UTF-8
  std::vector<ByteRange> trusted;  // where special tokens may be named
};

Joined join(std::span<const TextPiece> pieces) {
  Joined out;
  size_t size = 0;
  for (const TextPiece& piece : pieces) size += piece.text.size();
  out.text.reserve(size);
  for (const TextPiece& piece : pieces) {
    const size_t begin = out.text.size();
    out.text += piece.text;
    if (!piece.allow_special || piece.text.empty()) continue;
    if (!out.trusted.empty() && out.trusted.back().end == begin) {
      out.trusted.back().end = out.text.size();
    } else {
      out.trusted.push_back({begin, out.text.size()});
    }
  }
  return out;
}

// Replaces broken UTF-8; the replacement of untrusted bytes stays untrusted, and ranges move along.
Joined repair(const Joined& joined) {
  Joined out;
  size_t range = 0;
  for (size_t i = 0; i < joined.text.size();) {
    const CodePoint c = decode_utf8(joined.text, i);
    while (range < joined.trusted.size() && joined.trusted[range].end <= i) ++range;
    const bool trusted =
        range < joined.trusted.size() && joined.trusted[range].begin <= i && i + c.size <= joined.trusted[range].end;
    const size_t begin = out.text.size();
    append_utf8(out.text, c.value);
    if (trusted && !out.trusted.empty() && out.trusted.back().end == begin) {
      out.trusted.back().end = out.text.size();
    } else if (trusted) {
      out.trusted.push_back({begin, out.text.size()});
    }
    i += c.size;
  }
  return out;
}

Result<std::unique_ptr<TokenModel>> create_model(const Vocabulary& vocabulary) {
  const std::string& model = vocabulary.spec().model;
  if (model == "gpt2") return create_byte_bpe(vocabulary);
  if (model == "llama") return create_sentencepiece(vocabulary);
  if (model == "bert") return create_wordpiece(vocabulary);
  if (model == "gemma4") return create_char_bpe(vocabulary);
  return error(ErrorCode::kUnsupported,
               "tokenizer.ggml.model: unknown tokenizer '{}'; known are gpt2, llama, bert, gemma4",
               model.substr(0, 64));
}

bool adds_bos_by_default(const TokenizerSpec& spec) {
  if (spec.model == "llama" || spec.model == "bert") return true;
  if (spec.model == "gemma4") return spec.pre_patterns.empty();
  const auto recipe = find_recipe(spec.pre);
  return recipe.ok() && recipe->add_bos;
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(TokenizerSpec spec) {
  auto state = std::make_unique<State>(State{});
  BRIO_TRY(state->vocabulary, Vocabulary::create(std::move(spec)));
  BRIO_TRY(state->matcher, SpecialMatcher::create(state->vocabulary));
  BRIO_TRY(state->model, create_model(state->vocabulary));
  const TokenizerSpec& checked = state->vocabulary.spec();
  const bool bert = checked.model == "bert";
  if (checked.add_bos.value_or(adds_bos_by_default(checked)))
    state->first = bert && checked.cls >= 0 ? checked.cls : checked.bos;
  if (checked.add_eos.value_or(bert)) state->last = bert && checked.sep >= 0 ? checked.sep : checked.eos;
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(state)));
}

Result<std::vector<int32_t>> Tokenizer::encode(std::span<const TextPiece> pieces, AddSpecial add_special) const {
  Joined input = join(pieces);
  if (input.text.size() > kMaxTextBytes)
    return error(ErrorCode::kInvalidArgument, "text has {} bytes, the most is {}", input.text.size(), kMaxTextBytes);
  if (!is_valid_utf8(input.text)) input = repair(input);

  std::vector<int32_t> ids;
  ids.reserve(input.text.size() / 3 + 8);  // about 4 bytes a token in English, 3 in code
  if (add_special == AddSpecial::kYes && state_->first >= 0) ids.push_back(state_->first);
  EncodeScratch scratch;
  for (const Segment& segment : state_->matcher.split(input.text, input.trusted)) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
      continue;
    }
    std::string_view text = std::string_view(input.text).substr(segment.begin, segment.end - segment.begin);
    std::string normalized;
    if (spec().normalize_nfc) {
      BRIO_TRY(normalized, normalize_nfc(text));
      text = normalized;
    }
    BRIO_TRY_OK(state_->model->encode(text, segment.begin == 0, scratch, ids));
  }
  if (add_special == AddSpecial::kYes && state_->last >= 0) ids.push_back(state_->last);
  return ids;
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, Trust trust, AddSpecial add_special) const {
  const TextPiece piece{std::string(text), trust == Trust::kTrusted};
  return encode(std::span(&piece, 1), add_special);
}

std::string Tokenizer::piece(int32_t id, RenderSpecial render) const {
  if (id < 0 || id >= vocab_size()) return {};
  if (render == RenderSpecial::kNo && state_->vocabulary.is_control(id)) return {};
  return state_->vocabulary.bytes(id);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, RenderSpecial render) const {
  Detokenizer detokenizer(*this, render);
  const bool prefixed = spec().model == "bert" || spec().add_space_prefix.value_or(spec().model == "llama");
  if (!ids.empty() && ids.front() == state_->first && render == RenderSpecial::kNo) ids = ids.subspan(1);
  std::string out;
  for (int32_t id : ids) out += detokenizer.append(id);
  out += detokenizer.flush();
  if (prefixed && out.starts_with(' ')) out.erase(0, 1);
  return out;
}

int32_t Tokenizer::vocab_size() const {
  return state_->vocabulary.size();
}
const TokenizerSpec& Tokenizer::spec() const {
  return state_->vocabulary.spec();
}
bool Tokenizer::adds_bos() const {
  return state_->first >= 0;
}
bool Tokenizer::is_control(int32_t id) const {
  return id >= 0 && id < vocab_size() && state_->vocabulary.is_control(id);
}
bool Tokenizer::is_end_of_generation(int32_t id) const {
  const std::vector<int32_t>& ends = state_->vocabulary.end_of_generation();
  return std::binary_search(ends.begin(), ends.end(), id);
}
std::span<const int32_t> Tokenizer::end_of_generation_ids() const {
  return state_->vocabulary.end_of_generation();
}
std::optional<int32_t> Tokenizer::find(std::string_view token_text) const {
  return state_->vocabulary.find(token_text);
}

}  // namespace brio::tokenizer
