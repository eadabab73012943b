// libFuzzer: 'r' and a regular expression, 'g' and a GBNF grammar, or 'c' and choices, one a line; a zero byte; choices
// of a walk over the masks. What the walk writes to the end is one of the choices, or matches by PCRE2 where both
// dialects mean the same.
#include <algorithm>
#include <string>
#include <string_view>

#include "grammar/testing/random_walk.h"
#include "tokenizer/regex.h"
#include "tokenizer/utf8.h"

namespace {

using namespace brio;
using grammar::testing::require;

// Escapes beyond these, POSIX classes and brackets right after an opening one mean something else to PCRE2, whose \d and
// \w know all of Unicode (so that complements differ).
bool means_the_same(std::string_view pattern) {
  constexpr std::string_view kAlike = "dwnrt.\\*+?()[]{}|^$-/";
  bool letters = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '[' && i + 1 < pattern.size() &&
        std::string_view(":.=]^").find(pattern[i + 1]) != std::string_view::npos) {
      if (pattern[i + 1] != '^' || (i + 2 < pattern.size() && pattern[i + 2] == ']')) return false;
    }
    if (pattern[i] != '\\') continue;
    if (i + 1 == pattern.size() || kAlike.find(pattern[i + 1]) == std::string_view::npos) return false;
    letters = letters || pattern[i + 1] == 'd' || pattern[i + 1] == 'w';
    ++i;
  }
  return !letters || pattern.find("[^") == std::string_view::npos;
}

void check_regex(const std::string& pattern, const std::string& text) {
  if (!means_the_same(pattern) || !tokenizer::is_valid_utf8(text)) return;
  const auto regex = tokenizer::Regex::compile("\\A(?:" + pattern + ")\\z");
  if (!regex.ok()) return;
  tokenizer::RegexScratch scratch;
  const auto match = regex->find(text, 0, scratch);
  require(!match.ok() || match->found);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t zero = std::min(input.find('\0'), input.size());
  const std::string source(input.substr(0, zero));
  grammar::GrammarSpec spec;
  spec.kind = data[0] == 'r'   ? grammar::GrammarKind::kRegex
              : data[0] == 'g' ? grammar::GrammarKind::kGbnf
                               : grammar::GrammarKind::kChoice;
  spec.text = source;
  if (spec.kind == grammar::GrammarKind::kChoice) {
    for (size_t begin = 0; begin < source.size();) {
      const size_t end = std::min(source.find('\n', begin), source.size());
      spec.choices.push_back(source.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  const auto compiled = grammar::compile(spec, grammar::testing::fuzz_vocabulary(), grammar::testing::fuzz_limits());
  if (!compiled.ok()) {
    require(!compiled.error().message.empty());
    return 0;
  }
  const auto text = grammar::testing::random_walk(*compiled, input.substr(std::min(zero + 1, input.size())));
  if (!text) return 0;
  if (spec.kind == grammar::GrammarKind::kRegex) check_regex(source, *text);
  if (spec.kind == grammar::GrammarKind::kChoice) {
    require(std::find(spec.choices.begin(), spec.choices.end(), *text) != spec.choices.end());
  }
  return 0;
}
