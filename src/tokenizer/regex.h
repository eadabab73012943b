// Regex: one PCRE2 expression over valid UTF-8, compiled by the JIT, with limits that turn hostile patterns into
// errors. Immutable, any thread; each thread brings its own RegexScratch. The only file that knows PCRE2 is regex.cc.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace brio::tokenizer {

class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;

 private:
  friend class Regex;
  void* match_data_;     // pcre2_match_data
  void* match_context_;  // pcre2_match_context
};

struct RegexMatch {
  size_t begin = 0;
  size_t end = 0;
  bool found = false;
};

class Regex {
 public:
  static Result<Regex> compile(std::string_view pattern);

  // Leftmost match at or after `from`. `subject` must be valid UTF-8 and `from` the start of a character.
  Result<RegexMatch> find(std::string_view subject, size_t from, RegexScratch& scratch) const;

 private:
  struct Free {
    void operator()(void* code) const;
  };
  std::unique_ptr<void, Free> code_;  // pcre2_code
};

// White space as Unicode defines it, for use inside a bracket expression. PCRE2's own \s also takes U+180E, which the
// reference engines do not.
#define BRIO_WHITE_SPACE "\\t-\\r\\x{85}\\p{Z}"
// Spells \s and \S of a foreign pattern that way.
std::string with_unicode_white_space(std::string_view pattern);

}  // namespace brio::tokenizer
