// Regular expressions as rules. The dialect is ECMA-262's without what is not regular: literals, . [...] \d \w \s and
// their complements, \n \r \t \f \v \0 \cX \xHH \uHHHH \u{...}, escaped punctuation, groups (capturing, (?:...), named),
// |, * + ? {n} {n,} {n,m} (lazy ones mean the same), ^ and $ at the ends of an alternative of the whole expression.
// \d and \w are ASCII; the dot leaves out line ends. Named when refused: look-around, back-references, \b, \B, \p,
// inline flags, possessive and atomic groups, anchors elsewhere.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "grammar/limits.h"
#include "grammar/rules.h"

namespace brio::grammar {

struct RegexOptions {
  std::string place;  // in front of messages
  bool whole = true;  // the text as a whole has to match; false: some part of it (JSON schema's pattern)
  std::function<ExprId(const CharSet&)> encode;  // one character of a set as bytes
  bool counted = true;                           // long repetitions may become loop rules
  int max_depth = CompileLimits().max_depth;
};

// Errors: kInvalidArgument for broken syntax, kUnsupported for the refused constructs; both with the byte offset.
Result<ExprId> parse_regex(Rules& rules, std::string_view text, const RegexOptions& options);

}  // namespace brio::grammar
