// Filters for HTML and URLs.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "chat/convert.h"
#include "chat/filters.h"
#include "chat/search.h"
#include "chat/text_functions.h"

namespace brio::chat::filters {
namespace {

struct Entity {
  std::string_view name;
  std::string_view text;
};
constexpr Entity kEntities[] = {{"&amp;", "&"},  {"&lt;", "<"},    {"&gt;", ">"},       {"&#39;", "'"},
                                {"&#34;", "\""}, {"&quot;", "\""}, {"&nbsp;", "\u00a0"}};
constexpr size_t kEscaped = 5;  // the first five are what escape writes

std::string_view entity_of(char c) {
  for (size_t i = 0; i < kEscaped; ++i) {
    if (kEntities[i].text[0] == c) return kEntities[i].name;
  }
  return {};
}

// text without what stands between open and close, both included; an open without close stays.
Text without(const Text& text, std::string_view open, std::string_view close) {
  Text out;
  size_t at = 0;
  while (true) {
    const size_t begin = find_bytes(text.bytes(), open, at);
    const size_t end = begin == std::string_view::npos ? begin : find_bytes(text.bytes(), close, begin + open.size());
    if (end == std::string_view::npos) break;
    out.append(text, at, begin);
    at = end + close.size();
  }
  out.append(text, at, text.size());
  return out;
}

Text unescaped(const Text& text) {
  Text out;
  const std::string_view bytes = text.bytes();
  for (size_t at = 0; at < bytes.size();) {
    const auto* entity =
        std::ranges::find_if(kEntities, [&](const Entity& e) { return bytes.substr(at).starts_with(e.name); });
    if (entity != std::end(kEntities)) {
      out.append(entity->text, text.trusted(at));
      at += entity->name.size();
    } else {
      const size_t next = std::min(bytes.find('&', at + 1), bytes.size());
      out.append(text, at, next);
      at = next;
    }
  }
  return out;
}

void quote(TextBuilder& out, const Text& text, bool query) {
  const std::string& bytes = text.bytes();
  size_t at = 0;
  for (const Text::Run& run : text.runs()) {
    for (; at < run.end && !out.full(); ++at) {
      const char c = bytes[at];
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                         c == '.' || c == '-' || c == '~' || (c == '/' && !query);
      if (plain) {
        out.append(std::string_view(&c, 1), run.trusted);
      } else if (c == ' ' && query) {
        out.append("+", run.trusted);
      } else {
        out.append(fmt::format("%{:02X}", static_cast<unsigned char>(c)), run.trusted);
      }
    }
  }
}

}  // namespace

Result<Value> escape(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(const Value value, to_string(in.budget(), self));
  const Text& text = value.text();
  const std::string& bytes = text.bytes();
  TextBuilder out(in.budget());
  size_t plain = 0;
  for (size_t at = 0; at < bytes.size() && !out.full(); ++at) {
    const std::string_view entity = entity_of(bytes[at]);
    if (entity.empty()) continue;
    out.append(text, plain, at);
    out.append(entity, text.trusted(at));
    plain = at + 1;
  }
  out.append(text, plain, bytes.size());
  return out.finish_value();
}

Result<Value> striptags(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  BRIO_TRY(const Value value, to_string(in.budget(), self));
  BRIO_TRY_OK(in.budget().spend_bytes(value.text().size() * 8));
  BRIO_TRY(const MemoryCharge copies, MemoryCharge::take(in.budget(), value.text().size() * 4));
  const Text plain = without(without(value.text(), "<!--", "-->"), "<", ">");
  BRIO_TRY(const Value words, split_left(in.budget(), plain, nullptr, -1));
  BRIO_TRY(const Value line, joined(in.budget(), Text(" ", false), words.items()));
  return Value::string(in.budget(), unescaped(line.text()));
}

Result<Value> urlencode(Interpreter& in, const Value& self, const Arguments& arguments) {
  BRIO_TRY_OK(Bound::bind(arguments, {}));
  TextBuilder out(in.budget());
  if (!self.is_dict() && !self.is_list()) {
    BRIO_TRY(const Text text, to_text(in.budget(), self));
    quote(out, text, false);
    return out.finish_value();
  }
  std::vector<Dict::Entry> pairs;
  if (self.is_dict()) {
    pairs = self.dict().entries();
  } else {
    for (const Value& item : self.items()) {
      BRIO_TRY(const Value pair, as_list(in.budget(), item));
      if (pair.items().size() != 2) return render_error("urlencode takes pairs");
      pairs.emplace_back(pair.items()[0], pair.items()[1]);
    }
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i > 0) out.append("&", false);
    BRIO_TRY(const Text key, to_text(in.budget(), pairs[i].first));
    BRIO_TRY(const Text text, to_text(in.budget(), pairs[i].second));
    quote(out, key, true);
    out.append("=", false);
    quote(out, text, true);
  }
  return out.finish_value();
}

}  // namespace brio::chat::filters
