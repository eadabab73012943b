#include "chat/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "chat/string_literal.h"
#include "chat/unicode.h"

namespace brio::chat {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool hex_digit(char c) {
  return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool name_part(char c) {
  return name_start(c) || digit(c);
}

size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size() && is_space(character_at(text, at))) at += character_bytes(text, at);
  return at;
}

std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty()) {
    const size_t start = character_start(text, text.size());
    if (!is_space(character_at(text, start))) break;
    text = text.substr(0, start);
  }
  return text;
}

// Longest first, so that the first match is the right one.
constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                           "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view name) : source_(source), name_(name) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) BRIO_TRY_OK(text_and_tag());
    add(TokenKind::kEnd, at_);
    return std::move(tokens_);
  }

 private:
  Error fail(size_t offset, std::string_view what) const { return syntax_error(name_, source_, offset, what); }
  bool looking_at(std::string_view what) const { return source_.substr(at_).starts_with(what); }

  Token& add(TokenKind kind, size_t offset) {
    Token& token = tokens_.emplace_back();
    token.kind = kind;
    token.offset = offset;
    return token;
  }

  void add_text(std::string_view text, size_t offset) {
    if (!text.empty()) add(TokenKind::kText, offset).text = text;
  }

  // Text in front of a tag whose opening brace is at `end` and is followed by `sign` ('-', '+' or something else).
  void add_text_before_tag(size_t begin, size_t end, char sign, bool is_variable) {
    std::string_view text = source_.substr(begin, end - begin);
    if (sign == '-') {
      text = without_trailing_space(text);
    } else if (sign != '+' && !is_variable) {
      const size_t newline = text.rfind('\n');
      const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
      const bool at_line_start = line > 0 || begin == 0 || source_[begin - 1] == '\n';
      if (at_line_start && without_trailing_space(text.substr(line)).empty()) text = text.substr(0, line);
    }
    add_text(text, begin);
  }

  size_t find_tag(size_t from) const {
    for (size_t brace = source_.find('{', from); brace != std::string_view::npos;
         brace = source_.find('{', brace + 1)) {
      if (brace + 1 >= source_.size()) break;
      const char next = source_[brace + 1];
      if (next == '{' || next == '%' || next == '#') return brace;
    }
    return std::string_view::npos;
  }

  char sign_at(size_t offset) const {
    const char c = offset < source_.size() ? source_[offset] : '\0';
    return c == '-' || c == '+' ? c : '\0';
  }

  Result<void> text_and_tag() {
    const size_t tag = find_tag(at_);
    if (tag == std::string_view::npos) {
      add_text(source_.substr(at_), at_);
      at_ = source_.size();
      return {};
    }
    const char sign = sign_at(tag + 2);
    const char kind = source_[tag + 1];
    add_text_before_tag(at_, tag, sign, kind == '{');
    at_ = tag + 2 + (sign == '\0' ? 0 : 1);
    if (kind == '#') return comment(tag);
    if (kind == '%') {
      bool was_raw = false;
      BRIO_TRY_OK(raw_block(tag, was_raw));
      if (was_raw) return {};
    }
    add(kind == '{' ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, tag);
    return code(kind == '{');
  }

  Result<void> comment(size_t tag) {
    const size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) return fail(tag, "this comment is never closed");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    at_ = end + 2;
    after_tag(sign);
    return {};
  }

  // What follows the closing brace of a block or comment.
  void after_tag(char sign) {
    if (sign == '-') {
      at_ = skip_space(source_, at_);
    } else if (sign != '+' && at_ < source_.size() && source_[at_] == '\n') {
      ++at_;
    }
  }

  // at_ is behind "{%" and its sign. Reads the whole block if it is {% raw %}, else leaves at_ alone.
  Result<void> raw_block(size_t tag, bool& was_raw) {
    size_t at = skip_space(source_, at_);
    if (!source_.substr(at).starts_with("raw")) return {};
    at = skip_space(source_, at + 3);
    const bool strip = at < source_.size() && source_[at] == '-';
    if (!source_.substr(at + (strip ? 1 : 0)).starts_with("%}")) return {};
    at += strip ? 3 : 2;
    was_raw = true;
    const size_t begin = strip ? skip_space(source_, at) : at;
    for (size_t open = source_.find("{%", begin); open != std::string_view::npos; open = source_.find("{%", open + 1)) {
      const char sign = sign_at(open + 2);
      size_t word = skip_space(source_, open + 2 + (sign == '\0' ? 0 : 1));
      if (!source_.substr(word).starts_with("endraw")) continue;
      word = skip_space(source_, word + 6);
      const char end_sign = sign_at(word);
      if (end_sign != '\0') ++word;
      if (!source_.substr(word).starts_with("%}")) continue;
      add_text_before_tag(begin, open, sign, false);
      at_ = word + 2;
      after_tag(end_sign);
      return {};
    }
    return fail(tag, "this raw block is never closed");
  }

  // Whether the closing tag is here; at_ moves behind it.
  bool closing_tag(bool is_variable) {
    const std::string_view end = is_variable ? "}}" : "%}";
    char sign = sign_at(at_);
    if (is_variable && sign == '+') sign = '\0';
    const size_t begin = at_ + (sign == '\0' ? 0 : 1);
    if (!source_.substr(begin).starts_with(end)) return false;
    add(is_variable ? TokenKind::kVariableEnd : TokenKind::kBlockEnd, at_);
    at_ = begin + 2;
    if (is_variable) {
      if (sign == '-') at_ = skip_space(source_, at_);
    } else {
      after_tag(sign);
    }
    return true;
  }

  Result<void> code(bool is_variable) {
    std::string open_brackets;  // what must close before the tag may end
    while (true) {
      at_ = skip_space(source_, at_);
      if (at_ >= source_.size()) return fail(tokens_.back().offset, "the template ends inside a tag");
      if (open_brackets.empty() && closing_tag(is_variable)) return {};
      const char c = source_[at_];
      if (digit(c)) {
        BRIO_TRY_OK(number());
      } else if (name_start(c)) {
        const size_t begin = at_;
        while (at_ < source_.size() && name_part(source_[at_])) ++at_;
        add(TokenKind::kName, begin).text = source_.substr(begin, at_ - begin);
      } else if (c == '\'' || c == '"') {
        BRIO_TRY_OK(string());
      } else {
        BRIO_TRY_OK(operator_or_bracket(open_brackets));
      }
    }
  }

  Result<void> operator_or_bracket(std::string& open_brackets) {
    const auto* found = std::ranges::find_if(kOperators, [&](std::string_view op) { return looking_at(op); });
    if (found == std::end(kOperators)) {
      return fail(at_, fmt::format("unexpected '{}'", source_.substr(at_, character_bytes(source_, at_))));
    }
    const char c = found->front();
    if (c == '(' || c == '[' || c == '{') open_brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open_brackets.empty() || open_brackets.back() != c) return fail(at_, fmt::format("unexpected '{}'", c));
      open_brackets.pop_back();
    }
    add(TokenKind::kOperator, at_).text = *found;
    at_ += found->size();
    return {};
  }

  Result<void> string() {
    const size_t begin = at_;
    const char quote = source_[at_++];
    while (at_ < source_.size() && source_[at_] != quote) at_ += source_[at_] == '\\' ? 2 : 1;
    if (at_ >= source_.size()) return fail(begin, "this string is never closed");
    Token& token = add(TokenKind::kString, begin);
    size_t bad = 0;
    if (!unescape(source_.substr(begin + 1, at_ - begin - 1), token.text, bad)) {
      return fail(begin + 1 + bad, "this escape sequence is not complete");
    }
    ++at_;
    return {};
  }

  // Digits with single underscores between them, from `at`; the end, or `at` itself when there are none.
  template <typename Accept>
  size_t digits(size_t at, Accept accept) const {
    size_t end = at;
    while (at < source_.size()) {
      if (accept(source_[at])) {
        end = ++at;
      } else if (source_[at] == '_' && at == end && at + 1 < source_.size() && accept(source_[at + 1])) {
        ++at;
      } else {
        break;
      }
    }
    return end;
  }

  // The end of a float that starts at at_, or at_ when it is none: a fraction, an exponent or both.
  size_t float_end() const {
    if (at_ > 0 && source_[at_ - 1] == '.') return at_;  // a.0.1 are two indices
    const size_t whole = digits(at_, digit);
    size_t end = whole;
    if (end < source_.size() && source_[end] == '.') {
      const size_t fraction = digits(end + 1, digit);
      if (fraction > end + 1) end = fraction;
    }
    size_t exponent = end;
    if (exponent < source_.size() && (source_[exponent] == 'e' || source_[exponent] == 'E')) {
      ++exponent;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      const size_t stop = digits(exponent, digit);
      if (stop > exponent) return stop;
    }
    return end > whole ? end : at_;
  }

  Result<void> number() {
    const size_t begin = at_;
    if (const size_t end = float_end(); end > begin) {
      std::string spelling(source_.substr(begin, end - begin));
      std::erase(spelling, '_');
      Token& token = add(TokenKind::kFloat, begin);
      std::from_chars(spelling.data(), spelling.data() + spelling.size(), token.real);
      if (token.real == 0 && spelling.find_first_of("123456789") < spelling.find_first_of("eE")) {
        token.real = std::strtod(spelling.c_str(), nullptr);  // out of range: 0 or infinity, as Python
      }
      at_ = end;
      return {};
    }
    return integer();
  }

  Result<void> integer() {
    const size_t begin = at_;
    int base = 10;
    size_t first = begin;
    const char second = begin + 1 < source_.size() ? static_cast<char>(source_[begin + 1] | 0x20) : '\0';
    if (source_[begin] == '0' && (second == 'x' || second == 'o' || second == 'b')) {
      base = second == 'x' ? 16 : second == 'o' ? 8 : 2;
      first = begin + 2;
      if (first < source_.size() && source_[first] == '_') ++first;
    }
    size_t end = 0;
    if (base == 10) {
      end = source_[begin] == '0' ? digits(begin, [](char c) { return c == '0'; }) : digits(begin, digit);
    } else {
      end = digits(first, [&](char c) { return hex_digit(c) && (base == 16 || c < '0' + base); });
      if (end == first) {  // "0x" alone is a zero and a name
        base = 10;
        first = begin;
        end = begin + 1;
      }
    }
    std::string spelling(source_.substr(first, end - first));
    std::erase(spelling, '_');
    Token& token = add(TokenKind::kInteger, begin);
    const auto parsed = std::from_chars(spelling.data(), spelling.data() + spelling.size(), token.integer, base);
    if (parsed.ec != std::errc()) return fail(begin, "this integer does not fit 64 bits");
    at_ = end;
    return {};
  }

  std::string_view source_;
  std::string_view name_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

int line_of(std::string_view source, size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(source.substr(0, offset), '\n'));
}

std::string position_of(std::string_view source, size_t offset) {
  offset = std::min(offset, source.size());
  size_t line_start = source.substr(0, offset).rfind('\n');
  line_start = line_start == std::string_view::npos ? 0 : line_start + 1;
  size_t column = 1;
  for (size_t at = line_start; at < offset; at += character_bytes(source, at)) ++column;
  return fmt::format("line {}, column {}", line_of(source, offset), column);
}

Error syntax_error(std::string_view name, std::string_view source, size_t offset, std::string_view what) {
  return error(ErrorCode::kInvalidFile, "{}, {}: {}", name, position_of(source, offset), what);
}

std::string normalise_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

Result<std::vector<Token>> tokenize(std::string_view source, std::string_view name) {
  return Lexer(source, name).run();
}

}  // namespace brio::chat
