#include "tokenizer/pretokenizer.h"

#include <utf8proc.h>

#include <algorithm>

#include "tokenizer/utf8.h"

namespace brio::tokenizer {
namespace {

bool is_digit(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 0x80 && utf8proc_category(static_cast<int>(c)) == UTF8PROC_CATEGORY_ND);
}

// What \b counts as a word: letters, marks, numbers and connectors.
bool is_word_character(char32_t c) {
  switch (utf8proc_category(static_cast<int>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

void cut_digits(std::string_view kind, std::string_view piece, size_t base, std::vector<size_t>& ends) {
  const bool apart = kind != kThreesInDigits;
  std::vector<size_t> digits;  // where each digit of the current run starts
  size_t last = 0;
  auto end_at = [&](size_t end) {
    if (end > last) ends.push_back(base + end);
    last = std::max(last, end);
  };
  for (size_t i = 0; i <= piece.size();) {
    const CodePoint c = i < piece.size() ? decode_utf8(piece, i) : CodePoint{0, 1, true, false};
    if (i < piece.size() && is_digit(c.value)) {
      digits.push_back(i);
    } else if (!digits.empty()) {
      if (kind != kWordDigitsInThrees || i == piece.size() || !is_word_character(c.value)) {
        for (size_t k = 0; k < digits.size(); ++k) {
          if ((apart && k == 0) || (digits.size() - k) % 3 == 0) end_at(digits[k]);
        }
        if (apart) end_at(i);
      }
      digits.clear();
    }
    i += c.size;
  }
  end_at(piece.size());
}

}  // namespace

Result<Pretokenizer> Pretokenizer::create(std::span<const std::string_view> stages) {
  Pretokenizer out;
  for (std::string_view text : stages) {
    Stage stage;
    for (std::string_view native : {kDigitsInThrees, kThreesInDigits, kWordDigitsInThrees}) {
      if (text == native) stage.native = native;
    }
    if (stage.native.empty()) {
      BRIO_TRY(stage.regex, Regex::compile(text));
    }
    out.stages_.push_back(std::move(stage));
  }
  return out;
}

Result<void> Pretokenizer::cut(const Stage& stage, std::string_view piece, size_t base, RegexScratch& scratch,
                               std::vector<size_t>& ends) {
  if (!stage.native.empty()) {
    cut_digits(stage.native, piece, base, ends);
    return {};
  }
  size_t last = 0;  // end of what has been emitted
  for (size_t from = 0; from < piece.size();) {
    BRIO_TRY(const RegexMatch match, stage.regex.find(piece, from, scratch));
    if (!match.found) break;
    const size_t begin = std::max(match.begin, last);  // \K in a lookbehind can match before `from`
    const size_t end = std::max(match.end, begin);
    if (begin > last) ends.push_back(base + begin);
    if (end > begin) ends.push_back(base + end);
    last = end;
    from = std::max(from, end);
    if (end == begin) from += from < piece.size() ? decode_utf8(piece, from).size : 1;  // an empty match cuts
  }
  if (last < piece.size()) ends.push_back(base + piece.size());
  return {};
}

Result<void> Pretokenizer::split(std::string_view text, RegexScratch& scratch, std::vector<size_t>& ends) const {
  ends.clear();
  if (text.empty()) return {};
  ends.push_back(text.size());
  std::vector<size_t> pieces;
  for (const Stage& stage : stages_) {
    pieces.swap(ends);
    ends.clear();
    size_t begin = 0;
    for (size_t end : pieces) {
      BRIO_TRY_OK(cut(stage, text.substr(begin, end - begin), begin, scratch, ends));
      begin = end;
    }
  }
  return {};
}

}  // namespace brio::tokenizer
