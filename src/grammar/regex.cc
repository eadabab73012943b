#include "grammar/regex.h"

#include <optional>
#include <utility>

#include "grammar/text_reader.h"

namespace brio::grammar {
namespace {

// Beyond this many rounds a repeated character is counted while running instead of written out.
constexpr int kCountedRounds = 16;

struct Item {
  ExprId expr = -1;
  ExprId unit = -1;  // a single character, repeated min to max times
  int min = 1;
  int max = 1;
};

struct Alternative {
  std::vector<Item> items;
  bool from_begin = false;  // ^
  bool to_end = false;      // $
};

class Parser {
 public:
  Parser(Rules& rules, std::string_view text, const RegexOptions& options)
      : rules_(rules), options_(options), in_(text) {}

  Result<ExprId> parse() {
    BRIO_TRY(std::vector<Alternative> alternatives, read_alternatives(0));
    if (!in_.done()) return fail("')' without its '('");
    std::vector<ExprId> out;
    for (Alternative& alternative : alternatives) {
      ExprId middle = joined(alternative.items, true);
      if (!options_.whole) {
        const ExprId any = rules_.repeat(options_.encode(CharSet::all()), 0, kUnbounded);
        std::vector<ExprId> parts;
        if (!alternative.from_begin) parts.push_back(any);
        parts.push_back(middle);
        if (!alternative.to_end) parts.push_back(any);
        middle = rules_.sequence(std::move(parts));
      }
      out.push_back(middle);
    }
    return rules_.choice(std::move(out));
  }

 private:
  Error fail(std::string_view what) const {
    return error(ErrorCode::kInvalidArgument, "{}, at byte {}: {}", options_.place, in_.offset(), what);
  }
  Error refuse(std::string_view what) const {
    return error(ErrorCode::kUnsupported, "{}, at byte {}: {} is not supported", options_.place, in_.offset(), what);
  }

  // Right to left, so that it is known what may follow a counted repetition: it has to differ from what is repeated.
  ExprId joined(const std::vector<Item>& items, bool outermost) {
    std::vector<ExprId> parts(items.size());
    Rules::First follow;
    follow.nullable = true;
    for (size_t i = items.size(); i-- > 0;) {
      const Item& item = items[i];
      parts[i] = item.expr;
      const bool many = item.max > kCountedRounds || (item.max == kUnbounded && item.min > kCountedRounds);
      const bool at_open_end = follow.nullable && !options_.whole;  // what any character may follow
      if (outermost && options_.counted && item.unit >= 0 && many && !at_open_end &&
          !follow.bytes.meets(rules_.first(item.unit).bytes)) {
        parts[i] = rules_.call(rules_.add_loop(options_.place, item.unit, item.min, item.max));
        Rules::First first = rules_.first(item.unit);
        if (item.min == 0) first.bytes.add(follow.bytes);
        follow = {first.bytes, item.min == 0 && follow.nullable};
        continue;
      }
      Rules::First first = rules_.first(item.expr);
      if (first.nullable) first.bytes.add(follow.bytes);
      follow = {first.bytes, first.nullable && follow.nullable};
    }
    return rules_.sequence(std::move(parts));
  }

  Result<std::vector<Alternative>> read_alternatives(int depth) {
    if (depth > options_.max_depth) return fail("groups nest too deeply");
    std::vector<Alternative> out(1);
    while (!in_.done() && in_.peek() != ')') {
      if (in_.take("|")) {
        out.emplace_back();
        continue;
      }
      BRIO_TRY_OK(read_item(depth, out.back()));
    }
    return out;
  }

  Result<void> read_item(int depth, Alternative& out) {
    if (in_.peek() == '^') {
      if (depth > 0 || !out.items.empty()) return refuse("'^' inside an expression");
      in_.skip(1);
      out.from_begin = true;
      return {};
    }
    if (in_.peek() == '$') {
      in_.skip(1);
      if (depth > 0 || !(in_.done() || in_.peek() == '|')) return refuse("'$' inside an expression");
      out.to_end = true;
      return {};
    }
    if (in_.peek() == '(') return read_group(depth, out);
    BRIO_TRY(const CharSet set, read_atom());
    Item item;
    item.expr = options_.encode(set);
    return quantify(item, true, out);
  }

  Result<void> read_group(int depth, Alternative& out) {
    BRIO_TRY_OK(open_group());
    BRIO_TRY(std::vector<Alternative> inner, read_alternatives(depth + 1));
    if (!in_.take(")")) return fail("'(' without its ')'");
    constexpr std::string_view kQuantifiers = "*+?{";
    if (inner.size() == 1 && kQuantifiers.find(in_.peek()) == std::string_view::npos) {
      out.items.insert(out.items.end(), inner[0].items.begin(), inner[0].items.end());
      return {};
    }
    std::vector<ExprId> parts;
    parts.reserve(inner.size());
    for (const Alternative& alternative : inner) parts.push_back(joined(alternative.items, false));
    Item item;
    item.expr = rules_.choice(std::move(parts));
    return quantify(item, false, out);
  }

  Result<void> open_group() {
    if (in_.starts("(?=") || in_.starts("(?!")) return refuse("look-ahead");
    if (in_.starts("(?<=") || in_.starts("(?<!")) return refuse("look-behind");
    if (in_.starts("(?>")) return refuse("an atomic group");
    if (in_.starts("(?P=")) return refuse("a back-reference");
    if (in_.starts("(?#")) return refuse("a comment");
    if (in_.take("(?:")) return {};
    if (in_.take("(?<") || in_.take("(?P<")) {
      while (!in_.done() && in_.peek() != '>') in_.skip(1);
      return in_.take(">") ? Result<void>() : fail("a group's name has no end");
    }
    if (in_.starts("(?(")) return refuse("a conditional group");
    if (in_.starts("(?")) return refuse("an inline flag");
    in_.skip(1);
    return {};
  }

  Result<void> quantify(Item item, bool single, Alternative& out) {
    std::optional<std::pair<int, int>> rounds;
    if (in_.take("*")) {
      rounds = {0, kUnbounded};
    } else if (in_.take("+")) {
      rounds = {1, kUnbounded};
    } else if (in_.take("?")) {
      rounds = {0, 1};
    } else if (in_.peek() == '{') {
      BRIO_TRY(rounds, read_braces());
    }
    if (rounds) {
      if (in_.peek() == '+') return refuse("a possessive quantifier");
      in_.take("?");  // lazy: the same texts match
      if (in_.peek() == '*' || in_.peek() == '+' || in_.peek() == '?' || in_.peek() == '{') {
        return fail("a quantifier follows a quantifier");
      }
      item.unit = single ? item.expr : -1;
      item.min = rounds->first;
      item.max = rounds->second;
      item.expr = rules_.repeat(item.expr, item.min, item.max);
    }
    out.items.push_back(item);
    return {};
  }

  Result<std::optional<std::pair<int, int>>> read_braces() {
    in_.skip(1);
    const std::optional<int> min = in_.number();
    if (!min) return fail("'{' has to be followed by a number of at most a million (a literal one is written '\\{')");
    std::optional<int> max = min;
    if (in_.take(",")) {
      max = kUnbounded;
      if (in_.peek() != '}') max = in_.number();
      if (!max) return fail("a repetition's upper bound has to be a number of at most a million");
    }
    if (!in_.take("}")) return fail("a repetition has no '}'");
    if (*max != kUnbounded && *max < *min) return fail("a repetition's upper bound is below its lower one");
    return std::optional(std::pair{*min, *max});
  }

  Result<CharSet> read_atom() {
    switch (in_.peek()) {
      case '.':
        in_.skip(1);
        return line_ends().complement();
      case '[':
        return read_class();
      case '\\':
        return read_escape(false);
      case '*':
      case '+':
      case '?':
        return fail("a quantifier has nothing to repeat");
      case '{':
      case '}':
      case ']':
        return fail(fmt::format("'{0}' has to be written '\\{0}'", in_.peek()));
      default:
        break;
    }
    const std::optional<char32_t> c = in_.character();
    if (!c) return fail("not valid UTF-8");
    return CharSet{{*c, *c}};
  }

  Result<CharSet> read_class() {
    in_.skip(1);
    const bool negated = in_.take("^");
    CharSet set;
    while (!in_.take("]")) {
      if (in_.done()) return fail("'[' without its ']'");
      BRIO_TRY(const CharSet low, read_class_item());
      if (in_.peek() == '-' && in_.peek(1) != ']' && in_.peek(1) != '\0') {
        in_.skip(1);
        BRIO_TRY(const CharSet high, read_class_item());
        const auto one = [](const CharSet& s) {
          return s.ranges().size() == 1 && s.ranges()[0].low == s.ranges()[0].high;
        };
        if (!one(low) || !one(high)) return fail("a range has to lie between two characters");
        if (low.ranges()[0].low > high.ranges()[0].low) return fail("a range's ends are in the wrong order");
        set.add(low.ranges()[0].low, high.ranges()[0].low);
      } else {
        set.add(low);
      }
    }
    return negated ? set.complement() : set;
  }

  Result<CharSet> read_class_item() {
    if (in_.done()) return fail("'[' without its ']'");
    if (in_.peek() == '\\') return read_escape(true);
    const std::optional<char32_t> c = in_.character();
    if (!c) return fail("not valid UTF-8");
    return CharSet{{*c, *c}};
  }

  Result<CharSet> read_escape(bool in_class) {
    in_.skip(1);
    if (in_.done()) return fail("a lone '\\' at the end");
    const char c = in_.peek();
    if (c >= '1' && c <= '9') return refuse("a back-reference");
    constexpr std::string_view kPunctuation = "^$\\.*+?()[]{}|/-!\"#%&',:;<=>@_`~ ";
    if (kPunctuation.find(c) != std::string_view::npos) {
      in_.skip(1);
      return one(static_cast<char32_t>(c));
    }
    if (c == 'b' && in_class) {
      in_.skip(1);
      return one(8);
    }
    switch (c) {
      case 'b':
      case 'B':
        return refuse("a word boundary");
      case 'p':
      case 'P':
        return refuse("a Unicode property");
      case 'k':
      case 'g':
        return refuse("a back-reference");
      case 'A':
      case 'Z':
      case 'z':
      case 'G':
        return refuse(fmt::format("'\\{}'", c));
      default:
        break;
    }
    in_.skip(1);
    switch (c) {
      case 'd':
        return digit_chars();
      case 'D':
        return digit_chars().complement();
      case 'w':
        return word_chars();
      case 'W':
        return word_chars().complement();
      case 's':
        return space_chars();
      case 'S':
        return space_chars().complement();
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 't':
        return one('\t');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case '0':
        if (in_.peek() >= '0' && in_.peek() <= '9') return refuse("an octal escape");
        return one(0);
      case 'c':
        return read_control();
      case 'x':
        return scalar(in_.hex(2));
      case 'u':
        return read_unicode();
      default:
        return fail(fmt::format("unknown escape '\\{}'", c));
    }
  }

  Result<CharSet> read_control() {
    const char letter = static_cast<char>(in_.peek() | 32);
    if (letter < 'a' || letter > 'z') return fail("'\\c' has to be followed by a letter");
    in_.skip(1);
    return one(static_cast<char32_t>(letter & 31));
  }

  Result<CharSet> read_unicode() {
    if (in_.take("{")) {
      std::optional<char32_t> value;
      for (int digits = 6; digits >= 1 && !value; --digits) value = in_.hex(digits);
      if (!in_.take("}")) return fail("'\\u{' has to be followed by hexadecimal digits and '}'");
      return scalar(value);
    }
    std::optional<char32_t> value = in_.hex(4);
    if (value && *value >= 0xD800 && *value <= 0xDBFF && in_.take("\\u")) {
      const std::optional<char32_t> low = in_.hex(4);
      if (!low || *low < 0xDC00 || *low > 0xDFFF) return fail("half a surrogate pair");
      value = 0x10000 + ((*value - 0xD800) << 10) + (*low - 0xDC00);
    }
    return scalar(value);
  }

  Result<CharSet> scalar(std::optional<char32_t> value) {
    if (!value) return fail("an escape lacks hexadecimal digits");
    if (!is_scalar(*value)) return fail("an escape names no character");
    return one(*value);
  }
  static CharSet one(char32_t value) { return CharSet{{value, value}}; }

  Rules& rules_;
  const RegexOptions& options_;
  TextReader in_;
};

}  // namespace

Result<ExprId> parse_regex(Rules& rules, std::string_view text, const RegexOptions& options) {
  return Parser(rules, text, options).parse();
}

}  // namespace brio::grammar
