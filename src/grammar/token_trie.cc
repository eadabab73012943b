#include "grammar/token_trie.h"

#include <algorithm>
#include <limits>

namespace brio::grammar {

std::shared_ptr<const TokenTrie> TokenTrie::create(const tokenizer::Tokenizer& tokenizer) {
  std::vector<std::string> tokens(static_cast<size_t>(tokenizer.vocab_size()));
  const std::span<const int32_t> ends = tokenizer.end_of_generation_ids();
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_control(id)) tokens[static_cast<size_t>(id)] = tokenizer.piece(id);
  }
  return std::make_shared<TokenTrie>(std::move(tokens), std::vector<int32_t>(ends.begin(), ends.end()));
}

TokenTrie::TokenTrie(std::vector<std::string> tokens, std::vector<int32_t> ends)
    : bytes_(std::move(tokens)), ends_(std::move(ends)) {
  constexpr size_t kMaxTokenBytes = std::numeric_limits<uint16_t>::max();
  for (const int32_t end : ends_) bytes_[static_cast<size_t>(end)].clear();
  std::vector<int32_t> order;
  for (size_t id = 0; id < bytes_.size(); ++id) {
    if (!bytes_[id].empty() && bytes_[id].size() <= kMaxTokenBytes) order.push_back(static_cast<int32_t>(id));
  }
  const auto text = [&](int32_t id) -> const std::string& { return bytes_[static_cast<size_t>(id)]; };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const int compared = text(a).compare(text(b));
    return compared < 0 || (compared == 0 && a < b);
  });
  std::vector<uint32_t> open;  // the path to the last node
  const auto close = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back()) nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  std::string_view before;
  for (const int32_t id : order) {
    const std::string_view now = text(id);
    const size_t shared =
        static_cast<size_t>(std::mismatch(before.begin(), before.end(), now.begin(), now.end()).first - before.begin());
    close(shared);
    for (size_t i = shared; i < now.size(); ++i) {
      open.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back(
          {0, static_cast<uint32_t>(tokens_.size()), static_cast<uint16_t>(i + 1), static_cast<uint8_t>(now[i])});
    }
    tokens_.push_back(id);
    max_depth_ = std::max(max_depth_, static_cast<int>(now.size()));
    before = now;
  }
  close(0);
  nodes_.push_back({0, static_cast<uint32_t>(tokens_.size()), 0, 0});
}

bool TokenTrie::is_end(int32_t token) const {
  return std::binary_search(ends_.begin(), ends_.end(), token);
}

}  // namespace brio::grammar
