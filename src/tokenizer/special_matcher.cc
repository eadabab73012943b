#include "tokenizer/special_matcher.h"

#include <algorithm>

namespace brio::tokenizer {
namespace {

// Bounds the time per byte of text; the longest special tokens in use have about 60 bytes.
constexpr size_t kMaxSpecialBytes = 512;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

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
  auto listed = [](const std::vector<int32_t>& ids, int32_t id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); };
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
    size_t end = i;
    if (best->strip_left) {
      while (end > ordinary && is_space(text[end - 1])) --end;
    }
    if (end > ordinary) out.push_back({ordinary, end, -1});
    out.push_back({i, best_end, best->id});
    i = best_end;
    if (best->strip_right) {
      while (i < text.size() && is_space(text[i])) ++i;
    }
    ordinary = i;
  }
  if (ordinary < text.size()) out.push_back({ordinary, text.size(), -1});
  return out;
}

}  // namespace brio::tokenizer
