#include "tokenizer/special_matcher.h"

#include <algorithm>

#include "tokenizer/utf8.h"

namespace brio::tokenizer {
namespace {

// Bounds the time per byte of text; the longest special tokens in use have about 60 bytes.
constexpr size_t kMaxSpecialBytes = 512;

bool is_space(char32_t c) {  // Unicode's White_Space
  return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t before_spaces(std::string_view text, size_t begin, size_t end) {
  while (end > begin) {
    size_t i = end - 1;
    while (i > begin && (static_cast<uint8_t>(text[i]) & 0xC0) == 0x80) --i;  // back to the start of the character
    if (!is_space(decode_utf8(text, i).value)) break;
    end = i;
  }
  return end;
}

size_t after_spaces(std::string_view text, size_t i) {
  while (i < text.size() && is_space(decode_utf8(text, i).value)) i += decode_utf8(text, i).size;
  return i;
}

bool is_special(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUserDefined || type == TokenType::kUnknown;
}

}  // namespace

Result<SpecialMatcher> SpecialMatcher::create(const Vocabulary& vocabulary) {
  const TokenizerSpec& spec = vocabulary.spec();
  size_t num_bytes = 0;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    if (!is_special(vocabulary.type(id))) continue;
    if (spec.tokens[id].size() > kMaxSpecialBytes)
      return error(ErrorCode::kUnsupported, "special token {} has {} bytes, the most is {}", id, spec.tokens[id].size(),
                   kMaxSpecialBytes);
    num_bytes += spec.tokens[id].size();
  }
  SpecialMatcher out;
  out.edges_.reserve(num_bytes);
  out.nodes_.emplace_back();
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string& token = spec.tokens[id];
    if (!is_special(vocabulary.type(id)) || token.empty()) continue;
    out.first_.set(static_cast<uint8_t>(token[0]));
    int32_t node = 0;
    for (char c : token) {
      const int32_t byte = static_cast<uint8_t>(c);
      const PairTable::Entry* edge = out.edges_.find(node, byte);
      if (edge != nullptr) {
        node = edge->id;
        continue;
      }
      const int32_t next = static_cast<int32_t>(out.nodes_.size());
      out.edges_.insert(node, byte, 0, next);
      out.nodes_.emplace_back();
      node = next;
    }
    if (out.nodes_[node].id < 0) out.nodes_[node] = {id, vocabulary.is_control(id), false, false};
  }
  auto listed = [](const std::vector<int32_t>& ids, int32_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  for (Node& node : out.nodes_) {
    if (node.id < 0) continue;
    node.strip_left = listed(spec.strip_left_ids, node.id);
    node.strip_right = listed(spec.strip_right_ids, node.id);
  }
  return out;
}

std::vector<Segment> SpecialMatcher::split(std::string_view text, const std::vector<ByteRange>& trusted) const {
  std::vector<Segment> out;
  size_t range = 0;  // first trusted range that ends after the position
  size_t ordinary = 0;
  for (size_t i = 0; i < text.size();) {
    if (!first_.test(static_cast<uint8_t>(text[i]))) {
      ++i;
      continue;
    }
    while (range < trusted.size() && trusted[range].end <= i) ++range;
    const size_t trusted_end = range < trusted.size() && trusted[range].begin <= i ? trusted[range].end : i;
    const Node* best = nullptr;
    size_t best_end = i;
    int32_t node = 0;
    for (size_t j = i; j < text.size(); ++j) {
      const PairTable::Entry* edge = edges_.find(node, static_cast<uint8_t>(text[j]));
      if (edge == nullptr) break;
      node = edge->id;
      const Node& here = nodes_[node];
      if (here.id >= 0 && (!here.control || j + 1 <= trusted_end)) best = &here, best_end = j + 1;
    }
    if (best == nullptr) {
      ++i;
      continue;
    }
    const size_t end = best->strip_left ? before_spaces(text, ordinary, i) : i;
    if (end > ordinary) out.push_back({ordinary, end, -1});
    out.push_back({i, best_end, best->id});
    i = best->strip_right ? after_spaces(text, best_end) : best_end;
    ordinary = i;
  }
  if (ordinary < text.size()) out.push_back({ordinary, text.size(), -1});
  return out;
}

}  // namespace brio::tokenizer
