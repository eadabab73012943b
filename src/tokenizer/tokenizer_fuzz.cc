// libFuzzer: bytes up to the first 0xFF are a tokenizer.json, the rest is text. Whatever the vocabulary, encoding gives
// ids inside it or an error, untrusted text gives no control token, and the stream of a detokenizer is valid UTF-8.
#include <cstdlib>

#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace {

// A small byte-level vocabulary, so that text is exercised even while the fuzzer cannot spell a tokenizer.json.
const brio::tokenizer::Tokenizer& small_tokenizer() {
  static const auto tokenizer = [] {
    brio::tokenizer::TokenizerSpec spec;
    spec.model = "llama";
    for (int byte = 0; byte < 256; ++byte) spec.tokens.push_back(fmt::format("<0x{:02X}>", byte));
    for (const char* token : {"a", "b", "ab", "aba", "\xE2\x96\x81",
                              "\xE2\x96\x81"
                              "a",
                              "<s>", "</s>"})
      spec.tokens.emplace_back(token);
    spec.types.assign(256, brio::tokenizer::TokenType::kByte);
    spec.types.resize(spec.tokens.size() - 2, brio::tokenizer::TokenType::kNormal);
    spec.types.resize(spec.tokens.size(), brio::tokenizer::TokenType::kControl);
    spec.scores.resize(spec.tokens.size(), -1.0f);
    return brio::tokenizer::Tokenizer::create(std::move(spec)).value();
  }();
  return *tokenizer;
}

void check(const brio::tokenizer::Tokenizer& tokenizer, std::string_view text) {
  using namespace brio::tokenizer;
  const auto ids = tokenizer.encode(text, Trust::kUntrusted, AddSpecial::kNo);
  if (!ids.ok()) return;
  Detokenizer detokenizer(tokenizer);
  std::string out;
  for (int32_t id : *ids) {
    if (id < 0 || id >= tokenizer.vocab_size()) std::abort();
    if (tokenizer.is_control(id) && id != tokenizer.spec().unk) std::abort();
    const std::string delta = detokenizer.append(id);
    if (!is_valid_utf8(delta)) std::abort();
    out += delta;
  }
  out += detokenizer.flush();
  if (!is_valid_utf8(out)) std::abort();
  (void)tokenizer.encode(text, Trust::kTrusted, AddSpecial::kYes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(input.find('\xFF'), size);
  const std::string_view text = input.substr(std::min(cut + 1, size));
  check(small_tokenizer(), input);
  auto spec = brio::tokenizer::spec_from_tokenizer_json(input.substr(0, cut), "");
  if (!spec.ok()) return 0;
  auto tokenizer = brio::tokenizer::Tokenizer::create(std::move(*spec));
  if (tokenizer.ok()) check(**tokenizer, text);
  return 0;
}
