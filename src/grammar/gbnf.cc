#include "grammar/gbnf.h"

#include <algorithm>
#include <map>
#include <optional>

#include "grammar/text_reader.h"

namespace brio::grammar {
namespace {

// Rules that come to at most this many parts are copied to where they are used: a character class of UTF-8 has about 30.
constexpr int kInlineWeight = 400;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

class Parser {
 public:
  Parser(Rules& rules, std::string_view text, const CompileLimits& limits)
      : rules_(rules), limits_(limits), text_(text), in_(text) {}

  Result<void> parse() {
    skip_space(true);
    while (!in_.done()) {
      BRIO_TRY_OK(read_rule());
      skip_space(true);
    }
    for (const auto& [name, symbol] : symbols_) {
      if (!symbol.defined) {
        return error(ErrorCode::kInvalidArgument, "grammar, {}: rule '{}' is used but not defined", where(symbol.used),
                     name);
      }
    }
    const auto root = symbols_.find("root");
    if (root == symbols_.end()) return error(ErrorCode::kInvalidArgument, "grammar: there is no rule 'root'");
    rules_.set_root(root->second.rule);
    rules_.inline_small(kInlineWeight);
    return {};
  }

 private:
  struct Symbol {
    RuleId rule = -1;
    bool defined = false;
    size_t used = 0;
  };

  std::string where(size_t offset) const {
    const std::string_view before = text_.substr(0, offset);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return fmt::format("line {}, column {}", line, offset - begin + 1);
  }
  Error fail(std::string_view what) const {
    return error(ErrorCode::kInvalidArgument, "grammar, {}: {}", where(in_.offset()), what);
  }

  void skip_space(bool lines) {
    while (!in_.done()) {
      const char c = in_.peek();
      if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        in_.skip(1);
      } else if (c == '#') {
        while (!in_.done() && in_.peek() != '\n' && in_.peek() != '\r') in_.skip(1);
      } else {
        return;
      }
    }
  }

  std::string read_name() {
    std::string name;
    for (; is_name(in_.peek()); in_.skip(1)) name += in_.peek();
    return name;
  }

  Symbol& symbol(const std::string& name) {
    Symbol& found = symbols_[name];
    if (found.rule < 0) found = {rules_.add_rule(fmt::format("grammar: rule '{}'", name)), false, in_.offset()};
    return found;
  }

  Result<void> read_rule() {
    const std::string name = read_name();
    if (name.empty()) return fail("a rule has to begin with its name");
    if (static_cast<int>(symbols_.size()) > limits_.max_rules) return fail("too many rules");
    skip_space(false);
    if (!in_.take("::=")) return fail("a rule's name has to be followed by '::='");
    skip_space(true);
    if (symbol(name).defined) return fail(fmt::format("rule '{}' is defined twice", name));
    symbol(name).defined = true;
    const RuleId rule = symbol(name).rule;
    BRIO_TRY(const ExprId body, read_choice(0));
    rules_.set_body(rule, body);
    if (!in_.done() && in_.peek() != '\n' && in_.peek() != '\r') return fail("unexpected text after a rule");
    return {};
  }

  Result<ExprId> read_choice(int depth) {
    if (depth > limits_.max_depth) return fail("groups nest too deeply");
    std::vector<ExprId> parts;
    do {
      skip_space(true);
      BRIO_TRY(const ExprId part, read_sequence(depth));
      parts.push_back(part);
    } while (in_.take("|"));
    return rules_.choice(std::move(parts));
  }

  Result<ExprId> read_sequence(int depth) {
    std::vector<ExprId> parts;
    while (true) {
      skip_space(depth > 0);
      const char c = in_.peek();
      if (in_.done() || c == '|' || c == ')' || c == '\n' || c == '\r') break;
      BRIO_TRY(const ExprId atom, read_atom(depth));
      skip_space(depth > 0);
      BRIO_TRY(const ExprId repeated, read_repetition(atom));
      parts.push_back(repeated);
    }
    return rules_.sequence(std::move(parts));
  }

  Result<ExprId> read_atom(int depth) {
    const char c = in_.peek();
    if (c == '"') return read_literal();
    if (c == '[') return read_class();
    if (in_.take(".")) return rules_.chars(CharSet::all());
    if (in_.take("(")) {
      BRIO_TRY(const ExprId inner, read_choice(depth + 1));
      if (!in_.take(")")) return fail("'(' without its ')'");
      return inner;
    }
    if (c == '<' || c == '!') {
      return error(ErrorCode::kUnsupported, "grammar, {}: tokens by name or number are not supported",
                   where(in_.offset()));
    }
    if (!is_name(c)) return fail("expected a literal, a class, a group or a rule's name");
    return rules_.call(symbol(read_name()).rule);
  }

  Result<ExprId> read_repetition(ExprId atom) {
    if (in_.take("*")) return rules_.repeat(atom, 0, kUnbounded);
    if (in_.take("+")) return rules_.repeat(atom, 1, kUnbounded);
    if (in_.take("?")) return rules_.repeat(atom, 0, 1);
    if (!in_.take("{")) return atom;
    skip_space(false);
    const std::optional<int> min = in_.number();
    if (!min) return fail("'{' has to be followed by a number of at most a million");
    std::optional<int> max = min;
    skip_space(false);
    if (in_.take(",")) {
      skip_space(false);
      max = kUnbounded;
      if (in_.peek() != '}') max = in_.number();
      if (!max) return fail("a repetition's upper bound has to be a number of at most a million");
      skip_space(false);
    }
    if (!in_.take("}")) return fail("a repetition has no '}'");
    if (*max != kUnbounded && *max < *min) return fail("a repetition's upper bound is below its lower one");
    return rules_.repeat(atom, *min, *max);
  }

  Result<ExprId> read_literal() {
    in_.skip(1);
    std::string text;
    while (!in_.take("\"")) {
      if (in_.done() || in_.peek() == '\n') return fail("a literal has no end");
      BRIO_TRY(const char32_t c, read_character());
      tokenizer::append_utf8(text, c);
    }
    return rules_.literal(text);
  }

  Result<ExprId> read_class() {
    in_.skip(1);
    const bool negated = in_.take("^");
    CharSet set;
    while (!in_.take("]")) {
      if (in_.done()) return fail("'[' without its ']'");
      BRIO_TRY(const char32_t low, read_character());
      char32_t high = low;
      if (in_.peek() == '-' && in_.peek(1) != ']') {
        in_.skip(1);
        if (in_.done()) return fail("'[' without its ']'");
        BRIO_TRY(high, read_character());
        if (high < low) return fail("a range's ends are in the wrong order");
      }
      set.add(low, high);
    }
    return rules_.chars(negated ? set.complement() : set);
  }

  Result<char32_t> read_character() {
    if (!in_.take("\\")) {
      const std::optional<char32_t> c = in_.character();
      return c ? Result<char32_t>(*c) : fail("not valid UTF-8");
    }
    const char c = in_.peek();
    in_.skip(1);
    switch (c) {
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 't':
        return U'\t';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(c);
      case 'x':
        return scalar(in_.hex(2));
      case 'u':
        return scalar(in_.hex(4));
      case 'U':
        return scalar(in_.hex(8));
      default:
        return fail("unknown escape");
    }
  }

  Result<char32_t> scalar(std::optional<char32_t> value) const {
    if (!value) return fail("an escape lacks hexadecimal digits");
    if (!is_scalar(*value)) return fail("an escape names no character");
    return *value;
  }

  Rules& rules_;
  const CompileLimits& limits_;
  std::string_view text_;
  TextReader in_;
  std::map<std::string, Symbol> symbols_;
};

}  // namespace

Result<void> parse_gbnf(Rules& rules, std::string_view text, const CompileLimits& limits) {
  return Parser(rules, text, limits).parse();
}

}  // namespace brio::grammar
