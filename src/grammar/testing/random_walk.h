// A walk over a grammar's masks that bytes of a fuzzer choose, with what has to hold on the way: a token is in the mask
// exactly where accept() takes it, no mask is empty before the end, end tokens are where the grammar is complete.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/compile.h"
#include "grammar/matcher.h"

namespace brio::grammar::testing {

inline void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

inline std::shared_ptr<const TokenTrie> fuzz_vocabulary() {
  static const auto trie = [] {
    std::vector<std::string> tokens{"", ""};  // the end, and a control token
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    for (const char* piece :
         {"ab", "abc", "aa", "aaaa",     "\"a",   "a\"",  "\",",  "\": ", "\":",   "{\"",    "\"}",    "[[", "]]",
          "}}", "12",  "00", "\xC3\xA9", "a\xC3", "\n  ", "true", "null", "\\u00", "\", \"", "\":{\"", "1,", "1]"}) {
      tokens.emplace_back(piece);
    }
    return std::make_shared<const TokenTrie>(std::move(tokens), std::vector<int32_t>{0});
  }();
  return trie;
}

inline CompileLimits fuzz_limits() {
  CompileLimits limits;
  limits.max_text_bytes = 4096;
  limits.max_rules = 2000;
  limits.max_states = 3000;
  limits.max_work = 3'000'000;
  return limits;
}

// The text of a walk that ended, absent if the choices ran out. After them, the walk makes for the end for a while.
inline std::optional<std::string> random_walk(const std::shared_ptr<const CompiledGrammar>& grammar,
                                              std::string_view choices) {
  constexpr size_t kMaxSteps = 60;
  const TokenTrie& trie = grammar->trie();
  Matcher matcher(grammar);
  std::vector<uint64_t> words(matcher.num_words());
  std::string text;
  for (size_t step = 0; step < kMaxSteps && step < choices.size() + 20; ++step) {
    if (!matcher.mask(words).ok()) return std::nullopt;  // too ambiguous
    const auto has = [&](int32_t id) { return (words[static_cast<size_t>(id) >> 6] >> (id & 63) & 1) != 0; };
    std::vector<int32_t> allowed;
    for (int32_t id = 0; id < trie.vocab_size(); ++id) {
      if (has(id)) allowed.push_back(id);
    }
    require(!allowed.empty());
    require(has(0) == matcher.is_complete() && !has(1));
    const auto choice = static_cast<uint8_t>(step < choices.size() ? choices[step] : 0);
    if (step % 8 == 0) {
      for (int32_t id = 0; id < trie.vocab_size(); ++id) {
        Matcher copy = matcher;
        require(copy.accept(id) == has(id));
      }
    }
    int32_t token = allowed[choice * 7U % allowed.size()];
    if (step >= choices.size()) {
      token = allowed[0];
      for (const int32_t id : allowed) {
        if (id == 0 || trie.bytes(id) == "\"" || trie.bytes(id) == "}" || trie.bytes(id) == "]") {
          token = id;
          break;
        }
      }
    }
    require(matcher.accept(token));
    if (matcher.is_ended()) return text;
    text += trie.bytes(token);
  }
  return std::nullopt;
}

}  // namespace brio::grammar::testing
