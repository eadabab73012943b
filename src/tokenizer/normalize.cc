#include "tokenizer/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "tokenizer/utf8.h"

namespace brio::tokenizer {
namespace {

Result<std::string> map(std::string_view text, int options) {
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &out, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(out, &std::free);
  if (size == UTF8PROC_ERROR_NOMEM)
    return error(ErrorCode::kOutOfMemory, "no memory to normalise {} bytes", text.size());
  if (size < 0)
    return error(ErrorCode::kInvalidArgument, "cannot normalise {} bytes of text: {}", text.size(),
                 utf8proc_errmsg(size));
  return std::string(reinterpret_cast<const char*>(out), static_cast<size_t>(size));
}

// The canonical decomposition. utf8proc orders combining marks by swapping neighbours, quadratic in a run of them: it
// gets them decomposed and in order.
std::string decompose(std::string_view text) {
  constexpr int kMaxParts = 32;  // Unicode's longest canonical decomposition has 4
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  std::vector<std::pair<int, char32_t>> marks;  // combining class, mark
  const auto flush = [&] {
    std::stable_sort(marks.begin(), marks.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [order, mark] : marks) append_utf8(out, mark);
    marks.clear();
  };
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    i += c.size;
    utf8proc_int32_t parts[kMaxParts];
    int boundary_class = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.value), parts, kMaxParts,
                                static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundary_class);
    for (utf8proc_ssize_t part = 0; part < count && part < kMaxParts; ++part) {
      const int order = utf8proc_get_property(parts[part])->combining_class;
      if (order == 0) {
        flush();
        append_utf8(out, static_cast<char32_t>(parts[part]));
      } else {
        marks.emplace_back(order, static_cast<char32_t>(parts[part]));
      }
    }
  }
  flush();
  return out;
}

bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_white_space(char32_t c) {
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return true;
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_ZP;
}

bool is_removed(char32_t c) {
  if (c == 0 || c == kReplacement) return true;
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_CO;
}

// The blocks that BERT sets apart. The fifth extension block starts late, as in the reference.
bool is_cjk(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

}  // namespace

Result<std::string> normalize_nfc(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  return map(decompose(text), UTF8PROC_STABLE | UTF8PROC_COMPOSE);
}

bool is_bert_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  switch (category(c)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

Result<std::string> normalize_bert(std::string_view text, const BertOptions& options) {
  std::string clean;
  clean.reserve(text.size() + text.size() / 4);
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text, i);
    i += c.size;
    if (is_removed(c.value)) continue;
    if (is_white_space(c.value)) {
      clean.push_back(' ');
    } else if (is_cjk(c.value)) {
      clean.push_back(' ');
      append_utf8(clean, c.value);
      clean.push_back(' ');
    } else {
      append_utf8(clean, c.value);
    }
  }
  if (options.strip_accents && !is_ascii(clean)) clean = decompose(clean);
  std::string out;
  out.reserve(clean.size());
  for (size_t i = 0; i < clean.size();) {
    const CodePoint c = decode_utf8(clean, i);
    i += c.size;
    if (options.strip_accents && c.value >= 0x300 && category(c.value) == UTF8PROC_CATEGORY_MN) continue;
    if (!options.lowercase) {
      append_utf8(out, c.value);
    } else if (c.value == 0x130) {  // the only letter whose lower case is two characters
      out += "i\xCC\x87";
    } else {
      append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.value))));
    }
  }
  return out;
}

}  // namespace brio::tokenizer
