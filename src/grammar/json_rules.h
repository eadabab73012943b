// JsonRules: the parts of JSON text as rules: what every schema's grammar is made of. Fills a Rules; one thread.
//
// Strings that have to be compared (keys, constants, patterns) have one spelling: characters as they are, \" \\ \b \f \n
// \r \t, \u00xx for other control characters: json.dumps(ensure_ascii=False). Free strings may use every escape.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/rules.h"

namespace brio::grammar {

class JsonRules {
 public:
  // Spaces and line ends between tokens: enough for eight levels of four. A model that pads would not end otherwise.
  static constexpr int kMaxSpaces = 33;

  explicit JsonRules(Rules& rules) : rules_(rules) {}

  ExprId space();                           // between tokens, may be empty
  ExprId spelled(const CharSet& set);       // a character of a string, in its one spelling
  ExprId text(std::string_view utf8);       // a whole string, quotes included
  ExprId quoted(ExprId inner);              // "inner"
  ExprId string(int64_t min, int64_t max);  // length in characters; max -1: any
  ExprId any_string() { return rules_.call(named(kString)); }
  ExprId key_except(const std::vector<std::string>& names, const std::string& place);
  ExprId number() { return rules_.call(named(kNumber)); }
  ExprId integer(std::optional<int64_t> low, std::optional<int64_t> high);
  ExprId boolean();
  ExprId null() { return rules_.literal("null"); }
  ExprId any_value() { return rules_.call(named(kValue)); }
  ExprId any_object() { return rules_.call(named(kObject)); }
  ExprId any_array() { return rules_.call(named(kArray)); }
  // open item (, item)* close, where the first and each later one may differ: `first` and `rest` end the whole.
  ExprId comma() { return rules_.sequence({rules_.literal(","), space()}); }
  ExprId close(char bracket) { return rules_.sequence({space(), rules_.literal({&bracket, 1})}); }
  ExprId open(char bracket) { return rules_.sequence({rules_.literal({&bracket, 1}), space()}); }
  ExprId colon() { return rules_.sequence({rules_.literal(":"), space()}); }

 private:
  enum Part { kString, kNumber, kValue, kObject, kArray, kNumParts };
  RuleId named(Part part);
  void define(Part part, RuleId rule);
  ExprId list(char open_bracket, ExprId item, char close_bracket);
  ExprId free_char();
  ExprId digits(uint64_t low, std::optional<uint64_t> high);

  Rules& rules_;
  std::map<Part, RuleId> parts_;
  std::map<std::vector<std::pair<char32_t, char32_t>>, ExprId> spelled_;
  std::optional<RuleId> space_;
  std::optional<ExprId> free_char_;
};

}  // namespace brio::grammar
