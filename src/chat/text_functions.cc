#include "chat/text_functions.h"

#include <algorithm>
#include <unordered_set>

#include "chat/convert.h"
#include "chat/search.h"

namespace brio::chat {
namespace {

constexpr char32_t kSigma = 0x3A3;
constexpr std::string_view kFinalSigma = "ς";

// Calls visit(character, its bytes, trusted, offset) for each character.
template <typename Visit>
void for_each_character(const Text& text, Visit visit) {
  const std::string_view bytes = text.bytes();
  size_t at = 0;
  for (const Text::Run& run : text.runs()) {
    while (at < run.end) {
      const size_t size = character_bytes(bytes, at);
      visit(character_at(bytes, at), bytes.substr(at, size), run.trusted, at);
      at += size;
    }
  }
}

bool ends_word(const Text& text, size_t at) {
  const std::string_view bytes = text.bytes();
  const size_t next = at + character_bytes(bytes, at);
  const bool after_letter = at > 0 && is_cased(character_at(bytes, character_start(bytes, at)));
  return after_letter && (next >= bytes.size() || !is_cased(character_at(bytes, next)));
}

void append_cased(TextBuilder& out, const Text& text, char32_t c, bool trusted, size_t at, Case to) {
  std::string mapped;
  if (c == kSigma && to == Case::kLower && ends_word(text, at)) {
    mapped = kFinalSigma;
  } else {
    append_in_case(mapped, c, to);
  }
  out.append(mapped, trusted);
}

Result<void> push(Budget& budget, std::vector<Value>& parts, const Text& text, size_t begin, size_t end) {
  BRIO_TRY(Value part, Value::string(budget, text.slice(begin, end)));
  parts.push_back(std::move(part));
  return {};
}

size_t skip_space(std::string_view bytes, size_t at) {
  while (at < bytes.size() && is_space(character_at(bytes, at))) at += character_bytes(bytes, at);
  return at;
}

size_t skip_space_back(std::string_view bytes, size_t end) {
  while (end > 0 && is_space(character_at(bytes, character_start(bytes, end)))) end = character_start(bytes, end);
  return end;
}

}  // namespace

Result<Value> change_case(Budget& budget, const Text& text, Case to) {
  TextBuilder out(budget);
  for_each_character(text, [&](char32_t c, std::string_view, bool trusted, size_t at) {
    append_cased(out, text, c, trusted, at, to);
  });
  return out.finish_value();
}

Result<Value> capitalized(Budget& budget, const Text& text) {
  TextBuilder out(budget);
  for_each_character(text, [&](char32_t c, std::string_view, bool trusted, size_t at) {
    append_cased(out, text, c, trusted, at, at == 0 ? Case::kTitle : Case::kLower);
  });
  return out.finish_value();
}

Result<Value> titled(Budget& budget, const Text& text) {
  TextBuilder out(budget);
  bool in_word = false;
  for_each_character(text, [&](char32_t c, std::string_view, bool trusted, size_t at) {
    append_cased(out, text, c, trusted, at, in_word ? Case::kLower : Case::kTitle);
    in_word = is_cased(c);
  });
  return out.finish_value();
}

Result<Value> titled_words(Budget& budget, const Text& text) {
  TextBuilder out(budget);
  bool in_word = false;
  for_each_character(text, [&](char32_t c, std::string_view, bool trusted, size_t at) {
    append_cased(out, text, c, trusted, at, in_word ? Case::kLower : Case::kUpper);
    in_word = !is_space(c) && c != '-' && c != '(' && c != '{' && c != '[' && c != '<';
  });
  return out.finish_value();
}

Result<Value> stripped(Budget& budget, const Text& text, const Text* chars, Side side) {
  BRIO_TRY_OK(budget.spend_bytes(text.size()));
  const std::string_view bytes = text.bytes();
  std::unordered_set<char32_t> unwanted;
  if (chars != nullptr) {
    BRIO_TRY_OK(budget.spend(static_cast<int64_t>(chars->size())));
    for_each_character(*chars, [&](char32_t c, std::string_view, bool, size_t) { unwanted.insert(c); });
  }
  const auto goes = [&](size_t at) {
    const char32_t c = character_at(bytes, at);
    return chars == nullptr ? is_space(c) : unwanted.contains(c);
  };
  size_t begin = 0;
  size_t end = bytes.size();
  while (side != Side::kRight && begin < end && goes(begin)) begin += character_bytes(bytes, begin);
  while (side != Side::kLeft && begin < end && goes(character_start(bytes, end))) end = character_start(bytes, end);
  return Value::string(budget, text.slice(begin, end));
}

Result<Value> replaced(Budget& budget, const Text& text, const Text& from, const Text& to, int64_t count) {
  BRIO_TRY_OK(budget.spend_bytes(text.size()));
  TextBuilder out(budget);
  const std::string_view bytes = text.bytes();
  size_t at = 0;      // copied up to here
  size_t search = 0;  // an empty `from` is found in front of every character and at the end
  while (count != 0 && !out.full()) {
    const size_t found = find_bytes(bytes, from.bytes(), search);
    if (found == std::string_view::npos) break;
    out.append(text, at, found);
    out.append(to);
    at = found + from.size();
    search = from.empty() ? (found < bytes.size() ? found + character_bytes(bytes, found) : bytes.size() + 1) : at;
    if (count > 0) --count;
  }
  out.append(text, at, bytes.size());
  return out.finish_value();
}

Result<Value> split_left(Budget& budget, const Text& text, const Text* separator, int64_t most) {
  if (separator != nullptr && separator->empty()) return render_error("split() needs a separator that is not empty");
  BRIO_TRY_OK(budget.spend_bytes(text.size()));
  const std::string_view bytes = text.bytes();
  std::vector<Value> parts;
  size_t at = separator == nullptr ? skip_space(bytes, 0) : 0;
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    size_t end = 0;
    size_t next = 0;
    if (separator != nullptr) {
      end = find_bytes(bytes, separator->bytes(), at);
      if (end == std::string_view::npos) break;
      next = end + separator->size();
    } else {
      if (at >= bytes.size()) break;
      end = at;
      while (end < bytes.size() && !is_space(character_at(bytes, end))) end += character_bytes(bytes, end);
      next = skip_space(bytes, end);
    }
    BRIO_TRY_OK(push(budget, parts, text, at, end));
    at = next;
  }
  if (separator != nullptr) {
    BRIO_TRY_OK(push(budget, parts, text, at, bytes.size()));
  } else if (at < bytes.size()) {
    BRIO_TRY_OK(push(budget, parts, text, at, bytes.size()));
  }
  return Value::list(budget, std::move(parts));
}

Result<Value> split_right(Budget& budget, const Text& text, const Text* separator, int64_t most) {
  if (separator != nullptr && separator->empty()) return render_error("rsplit() needs a separator that is not empty");
  if (most < 0) return split_left(budget, text, separator, most);
  const std::string_view bytes = text.bytes();
  std::vector<Value> parts;  // last first
  size_t end = separator == nullptr ? skip_space_back(bytes, bytes.size()) : bytes.size();
  while (static_cast<int64_t>(parts.size()) < most) {
    BRIO_TRY_OK(budget.spend_bytes(end));  // find_last_bytes reads all of it
    size_t begin = 0;
    size_t next = 0;
    if (separator != nullptr) {
      const size_t found = find_last_bytes(bytes, separator->bytes(), end);
      if (found == std::string_view::npos) break;
      begin = found + separator->size();
      next = found;
    } else {
      if (end == 0) break;
      begin = end;
      while (begin > 0 && !is_space(character_at(bytes, character_start(bytes, begin)))) {
        begin = character_start(bytes, begin);
      }
      next = skip_space_back(bytes, begin);
    }
    BRIO_TRY_OK(push(budget, parts, text, begin, end));
    end = next;
  }
  if (separator != nullptr) {
    BRIO_TRY_OK(push(budget, parts, text, 0, end));
  } else if (end > 0) {
    BRIO_TRY_OK(push(budget, parts, text, 0, end));
  }
  std::ranges::reverse(parts);
  return Value::list(budget, std::move(parts));
}

Result<Lines> split_lines(Budget& budget, const Text& text, LineEnds ends) {
  BRIO_TRY_OK(budget.spend_bytes(text.size() * 4));
  const std::string_view bytes = text.bytes();
  Lines lines;
  size_t begin = 0;
  const auto add = [&](size_t end, size_t next) {
    lines.ranges.push_back({begin, ends == LineEnds::kKeep ? next : end});
    begin = next;
    return lines.charge.grow(budget, 2 * sizeof(LineRange));  // a vector may have twice the room it needs
  };
  for (size_t at = 0; at < bytes.size();) {
    size_t next = at + character_bytes(bytes, at);
    if (is_line_end(character_at(bytes, at))) {
      if (bytes[at] == '\r' && next < bytes.size() && bytes[next] == '\n') ++next;
      if (!add(at, next)) return budget.out_of_memory();
    }
    at = next;
  }
  if (begin < bytes.size() && !add(bytes.size(), bytes.size())) return budget.out_of_memory();
  return lines;
}

Result<Value> padded(Budget& budget, const Text& text, int64_t width, const Text& fill, char align) {
  BRIO_TRY_OK(budget.spend_bytes(text.size()));
  const int64_t padding = std::max<int64_t>(width - static_cast<int64_t>(text.length()), 0);
  if (static_cast<size_t>(padding) > budget.memory_left() / fill.size()) return budget.out_of_memory();
  BRIO_TRY_OK(budget.spend(padding / 8));
  int64_t left = align == '>' ? padding : 0;
  if (align == '^') left = padding / 2 + (padding & width & 1);  // CPython's rule for the odd one
  TextBuilder out(budget);
  for (int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(text);
  for (int64_t i = left; i < padding; ++i) out.append(fill);
  return out.finish_value();
}

bool all_in_case(const Text& text, Case wanted) {
  bool any = false;
  bool all = true;
  for_each_character(text, [&](char32_t c, std::string_view, bool, size_t) {
    const bool right = wanted == Case::kUpper ? is_upper(c) : is_lower(c);
    any = any || right;
    all = all && (right || !is_cased(c));
  });
  return any && all;
}

Result<Value> joined(Budget& budget, const Text& separator, const std::vector<Value>& parts) {
  TextBuilder out(budget);
  for (size_t i = 0; i < parts.size() && !out.full(); ++i) {
    if (i > 0) out.append(separator);
    BRIO_TRY_OK(print(out, parts[i], budget));
  }
  return out.finish_value();
}

}  // namespace brio::chat
