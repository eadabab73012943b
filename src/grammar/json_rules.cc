#include "grammar/json_rules.h"

#include <algorithm>

#include "grammar/regex.h"
#include "tokenizer/utf8.h"

namespace brio::grammar {
namespace {

// Exponents go as far as those of fp64.
constexpr std::string_view kNumberText =
    R"(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE](\+?([0-9]{1,2}|[12][0-9]{2}|30[0-8])|-([0-9]{1,2}|[12][0-9]{2}|3[01][0-9]|32[0-4])))?)";
// \u escapes of one character: all but surrogates, or a pair of them; and the slash, which nobody has to escape.
constexpr std::string_view kEscapeText =
    R"(\\(/|u([0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})))";

constexpr std::string_view kShortEscapes = "\"\"\\\\\bb\ff\nn\rr\tt";  // pairs: character, letter

ExprId ascii_regex(Rules& rules, std::string_view text) {
  RegexOptions options;
  options.place = "json";
  options.counted = false;
  options.encode = [&](const CharSet& set) { return rules.chars(set); };
  return *parse_regex(rules, text, options);
}

}  // namespace

ExprId JsonRules::space() {
  if (!space_) {
    ByteSet blank;
    for (const char c : std::string_view(" \n\r\t")) blank.add(c);
    space_ = rules_.add_loop("json: spaces", rules_.bytes(blank), 0, kMaxSpaces);
  }
  return rules_.call(*space_);
}

ExprId JsonRules::spelled(const CharSet& set) {
  std::vector<std::pair<char32_t, char32_t>> key;
  for (const CharRange& range : set.ranges()) key.emplace_back(range.low, range.high);
  if (const auto found = spelled_.find(key); found != spelled_.end()) return found->second;
  static const CharSet plain = CharSet{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}.complement();
  std::vector<ExprId> parts;
  if (const CharSet raw = set.intersect(plain); !raw.empty()) parts.push_back(rules_.chars(raw));
  for (char32_t c = 0; c <= '\\'; ++c) {
    if (!set.has(c) || plain.has(c)) continue;
    std::string escape = fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    for (size_t i = 0; i < kShortEscapes.size(); i += 2) {
      if (static_cast<char32_t>(kShortEscapes[i]) == c) escape = std::string("\\") + kShortEscapes[i + 1];
    }
    parts.push_back(rules_.literal(escape));
  }
  return spelled_[key] = rules_.choice(std::move(parts));
}

ExprId JsonRules::text(std::string_view utf8) {
  std::vector<ExprId> parts;
  for (size_t at = 0; at < utf8.size();) {
    const tokenizer::CodePoint point = tokenizer::decode_utf8(utf8, at);
    parts.push_back(spelled(CharSet{{point.value, point.value}}));
    at += point.size;
  }
  return quoted(rules_.sequence(std::move(parts)));
}

ExprId JsonRules::quoted(ExprId inner) {
  return rules_.sequence({rules_.literal("\""), inner, rules_.literal("\"")});
}

ExprId JsonRules::free_char() {
  if (!free_char_) free_char_ = rules_.choice({spelled(CharSet::all()), ascii_regex(rules_, kEscapeText)});
  return *free_char_;
}

ExprId JsonRules::string(int64_t min, int64_t max) {
  if (min <= 0 && max < 0) return any_string();
  if (max >= 0 && min > max) return rules_.never();
  if (max == 0) return rules_.literal("\"\"");
  constexpr int64_t kMost = 1 << 30;
  const auto most = static_cast<int>(std::min(max, kMost));
  const RuleId loop = rules_.add_loop("json: characters", free_char(),
                                      static_cast<int>(std::min(std::max<int64_t>(min, 0), kMost)), most);
  return quoted(rules_.call(loop));
}

ExprId JsonRules::key_except(const std::vector<std::string>& names, const std::string& place) {
  if (names.empty()) return any_string();
  const ExprId any = quoted(rules_.repeat(spelled(CharSet::all()), 0, kUnbounded));
  std::vector<ExprId> taken;
  taken.reserve(names.size());
  for (const std::string& name : names) taken.push_back(text(name));
  return rules_.call(rules_.add_product(place, Rule::Kind::kExcept, any, rules_.choice(std::move(taken))));
}

ExprId JsonRules::boolean() {
  return rules_.choice({rules_.literal("true"), rules_.literal("false")});
}

// Decimal numbers from low to high without leading zeros: one alternative for each place where the digits part from a
// bound's, so about twice the number of digits.
ExprId JsonRules::digits(uint64_t low, std::optional<uint64_t> high) {
  const std::string from = std::to_string(low);
  std::vector<ExprId> parts;
  if (!high) {
    const ExprId longer = rules_.sequence(
        {rules_.bytes(ByteSet::range('1', '9')),
         rules_.repeat(rules_.bytes(ByteSet::range('0', '9')), static_cast<int>(from.size()), kUnbounded)});
    const std::string last(from.size(), '9');  // 10^19 - 1 still fits 64 bits
    return rules_.choice({digits(low, from.size() >= 20 ? UINT64_MAX : std::stoull(last)), longer});
  }
  const std::string to = std::to_string(*high);
  if (low > *high) return rules_.never();
  if (from.size() < to.size()) {
    const uint64_t last = std::stoull(std::string(from.size(), '9'));
    return rules_.choice({digits(low, last), digits(last + 1, high)});
  }
  const auto range = [&](char a, char b) { return rules_.bytes(ByteSet::range(a, b)); };
  const auto free = [&](size_t count) {
    return rules_.repeat(range('0', '9'), static_cast<int>(count), static_cast<int>(count));
  };
  size_t shared = 0;
  while (shared < from.size() && from[shared] == to[shared]) ++shared;
  const auto after = [&](std::string_view prefix, ExprId digit, size_t left) {
    return rules_.sequence({rules_.literal(prefix), digit, free(left)});
  };
  if (shared == from.size()) return rules_.literal(from);
  parts.push_back(rules_.literal(from));
  if (from[shared] + 1 < to[shared]) {
    parts.push_back(after(from.substr(0, shared),
                          range(static_cast<char>(from[shared] + 1), static_cast<char>(to[shared] - 1)),
                          from.size() - shared - 1));
  }
  for (size_t i = shared + 1; i < from.size(); ++i) {
    const size_t left = from.size() - i - 1;
    if (from[i] < '9') parts.push_back(after(from.substr(0, i), range(static_cast<char>(from[i] + 1), '9'), left));
    if (to[i] > '0') parts.push_back(after(to.substr(0, i), range('0', static_cast<char>(to[i] - 1)), left));
  }
  parts.push_back(rules_.literal(to));
  return rules_.choice(std::move(parts));
}

ExprId JsonRules::integer(std::optional<int64_t> low, std::optional<int64_t> high) {
  std::vector<ExprId> parts;
  if (!high || *high >= 0) {
    const uint64_t from = low && *low > 0 ? static_cast<uint64_t>(*low) : 0;
    parts.push_back(digits(from, high ? std::optional<uint64_t>(static_cast<uint64_t>(*high)) : std::nullopt));
  }
  if (!low || *low < 0) {
    const auto magnitude = [](int64_t value) { return uint64_t{0} - static_cast<uint64_t>(value); };
    const uint64_t from = high && *high < 0 ? magnitude(*high) : 1;
    parts.push_back(rules_.sequence(
        {rules_.literal("-"), digits(from, low ? std::optional<uint64_t>(magnitude(*low)) : std::nullopt)}));
  }
  return rules_.choice(std::move(parts));
}

RuleId JsonRules::named(Part part) {
  if (const auto found = parts_.find(part); found != parts_.end()) return found->second;
  constexpr std::string_view kNames[] = {"json: string", "json: number", "json: value", "json: object", "json: array"};
  const RuleId rule = rules_.add_rule(std::string(kNames[part]));
  parts_[part] = rule;
  define(part, rule);
  return rule;
}

void JsonRules::define(Part part, RuleId rule) {
  switch (part) {
    case kString:
      return rules_.set_body(rule, quoted(rules_.repeat(free_char(), 0, kUnbounded)));
    case kNumber:
      return rules_.set_body(rule, ascii_regex(rules_, kNumberText));
    case kValue:
      return rules_.set_body(rule,
                             rules_.choice({any_object(), any_array(), any_string(), number(), boolean(), null()}));
    case kObject:
      return rules_.set_body(rule, list('{', rules_.sequence({any_string(), colon(), any_value()}), '}'));
    case kArray:
      return rules_.set_body(rule, list('[', any_value(), ']'));
    case kNumParts:
      return;
  }
}

ExprId JsonRules::list(char open_bracket, ExprId item, char close_bracket) {
  const ExprId more = rules_.repeat(rules_.sequence({comma(), item}), 0, kUnbounded);
  return rules_.sequence({open(open_bracket), rules_.choice({rules_.literal({&close_bracket, 1}),
                                                             rules_.sequence({item, more, close(close_bracket)})})});
}

}  // namespace brio::grammar
