#include "tiny/tiny_vocabulary.h"

#include <fmt/format.h>

namespace brio::tiny {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::vector<std::string> vocabulary(int size) {
  std::vector<std::string> tokens;
  int shifted = 256;
  for (int byte = 0; byte < kNumBytes; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const int code = printable ? byte : shifted++;
    std::string text;
    if (code < 0x80) {
      text = static_cast<char>(code);
    } else {
      text = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    }
    tokens.push_back(text);
  }
  for (const char* control : {"<s>", "</s>", "<|im_start|>", "<|im_end|>"}) tokens.emplace_back(control);
  tokens.emplace_back("th");
  while (tokens.size() < static_cast<size_t>(size)) tokens.push_back(fmt::format("<filler{}>", tokens.size()));
  return tokens;
}

std::vector<std::string> merges() {
  return {"t h"};
}

std::string tokenizer_json(int size) {
  const std::vector<std::string> tokens = vocabulary(size);
  std::string added;
  std::string entries;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const bool control = id >= kNumBytes && id < kMergedToken;
    entries += fmt::format("{}{}: {}", id == 0 ? "" : ", ", quoted(tokens[id]), id);
    if (control) {
      added += fmt::format(R"({}{{"id": {}, "content": {}, "special": true, "single_word": false, "lstrip": false, )"
                           R"("rstrip": false, "normalized": false}})",
                           added.empty() ? "" : ", ", id, quoted(tokens[id]));
    }
  }
  return fmt::format(
      R"({{"version": "1.0", "added_tokens": [{}], "normalizer": null, )"
      R"("pre_tokenizer": {{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}}, )"
      R"("decoder": {{"type": "ByteLevel"}}, "model": {{"type": "BPE", "vocab": {{{}}}, "merges": [{}]}}}})",
      added, entries, quoted(merges().front()));
}

}  // namespace brio::tiny
