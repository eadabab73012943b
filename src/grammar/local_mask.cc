#include "grammar/local_mask.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "grammar/trie_walk.h"

namespace brio::grammar {
namespace {

constexpr size_t kFewTokens = 512;
constexpr size_t kMaxVisited = 200;
constexpr uint32_t kRoundsWithin = 16;  // most tokens are shorter, in characters

void set_bit(std::span<uint64_t> words, int32_t token) {
  words[static_cast<size_t>(token) >> 6] |= uint64_t{1} << (token & 63);
}

class Maker {
 public:
  Maker(const Automaton& automaton, const TokenTrie& trie)
      : automaton_(automaton), trie_(trie), exits_(static_cast<size_t>(automaton.num_classes)) {}

  LocalMask make(int32_t node) {
    const Automaton::Rule& rule =
        automaton_.rules[static_cast<size_t>(automaton_.nodes[static_cast<size_t>(node)].rule)];
    words_.assign(trie_.num_words(), 0);
    if (rule.is_loop) {
      walk_loop(node, rule);
    } else if (!rule.has_calls) {
      walk_plain(node);
    } else {
      walk_calls(node);
    }
    out_.exits_begin.push_back(0);
    for (const std::vector<LocalMask::Exit>& exits : exits_) {
      out_.exits.insert(out_.exits.end(), exits.begin(), exits.end());
      out_.exits_begin.push_back(static_cast<uint32_t>(out_.exits.size()));
    }
    out_.tokens = TokenSet(std::move(words_));
    return std::move(out_);
  }

 private:
  void accept(uint32_t at) {
    for (const int32_t token : trie_.tokens(at)) set_bit(words_, token);
  }

  void leave(uint32_t at, uint32_t rounds, const std::vector<bool>* own) {
    const TokenTrie::Node* nodes = trie_.nodes();
    for (uint32_t child = at + 1; child < nodes[at].end; child = nodes[child].end) {
      const uint8_t c = automaton_.class_of[nodes[child].byte];
      if (own == nullptr || !(*own)[c]) exits_[c].push_back({child, rounds});
    }
  }

  void walk_plain(int32_t start) {
    const TokenTrie::Node* nodes = trie_.nodes();
    std::vector<int32_t> at(static_cast<size_t>(trie_.max_depth()) + 1);
    at[0] = start;
    std::vector<bool> seen(automaton_.nodes.size());
    seen[static_cast<size_t>(start)] = true;
    out_.visited.push_back(start);
    for (uint32_t i = 0; i < trie_.size();) {
      const TokenTrie::Node& trie_node = nodes[i];
      const int32_t next = automaton_.step(at[trie_node.depth - 1U], automaton_.class_of[trie_node.byte]);
      if (next < 0) {
        i = trie_node.end;
        continue;
      }
      accept(i);
      const Automaton::Node& node = automaton_.nodes[static_cast<size_t>(next)];
      if (node.final) leave(i, 0, nullptr);
      at[trie_node.depth] = next;
      if (!seen[static_cast<size_t>(next)]) {
        seen[static_cast<size_t>(next)] = true;
        out_.visited.push_back(next);
      }
      i = node.has_bytes ? i + 1 : trie_node.end;
    }
    if (out_.visited.size() > kMaxVisited) out_.visited.clear();
  }

  void walk_calls(int32_t start) {
    TrieWalk walk(automaton_, trie_);
    walk.sets.push_back({start, -1});
    out_.failed = !walk.run(0, trie_.size(), 0, 0, 1, [&](uint32_t at, bool complete) {
      accept(at);
      if (complete) leave(at, 0, nullptr);
    });
  }

  void walk_loop(int32_t start, const Automaton::Rule& rule) {
    std::vector<bool> own(static_cast<size_t>(automaton_.num_classes));
    for (size_t c = 0; c < own.size(); ++c) own[c] = automaton_.step(rule.start, static_cast<int>(c)) >= 0;
    out_.leaves_out_own_bytes = true;
    const TokenTrie::Node* nodes = trie_.nodes();
    struct At {
      int32_t node;
      uint32_t round;  // the one that node belongs to
    };
    std::vector<At> path(static_cast<size_t>(trie_.max_depth()) + 1);
    path[0] = {start, 1};
    std::vector<std::vector<int32_t>> by_rounds;
    for (uint32_t i = 0; i < trie_.size();) {
      const TokenTrie::Node& trie_node = nodes[i];
      At at = path[trie_node.depth - 1U];
      at.node = automaton_.step(at.node, automaton_.class_of[trie_node.byte]);
      if (at.node < 0) {
        i = trie_node.end;
        continue;
      }
      if (by_rounds.size() < at.round) by_rounds.resize(at.round);
      for (const int32_t token : trie_.tokens(i)) by_rounds[at.round - 1].push_back(token);
      if (automaton_.nodes[static_cast<size_t>(at.node)].final) {
        leave(i, at.round, &own);
        at = {rule.start, at.round + 1};
      }
      path[trie_node.depth] = at;
      ++i;
    }
    order_by_rounds(by_rounds);
  }

  void order_by_rounds(const std::vector<std::vector<int32_t>>& by_rounds) {
    out_.most_rounds = static_cast<uint32_t>(by_rounds.size());
    for (uint32_t r = 0; r < by_rounds.size(); ++r) {
      for (const int32_t token : by_rounds[r]) set_bit(words_, token);
      if (r < kRoundsWithin) {
        out_.within.emplace_back(words_);
      } else {
        out_.by_rounds.insert(out_.by_rounds.end(), by_rounds[r].begin(), by_rounds[r].end());
        out_.rounds_of.insert(out_.rounds_of.end(), by_rounds[r].size(), r + 1);
      }
    }
  }

  const Automaton& automaton_;
  const TokenTrie& trie_;
  LocalMask out_;
  std::vector<uint64_t> words_;
  std::vector<std::vector<LocalMask::Exit>> exits_;
};

}  // namespace

TokenSet::TokenSet(std::vector<uint64_t> words) {
  size_t count = 0;
  for (const uint64_t word : words) count += static_cast<size_t>(std::popcount(word));
  if (count > kFewTokens) {
    words_ = std::move(words);
    return;
  }
  for (size_t w = 0; w < words.size(); ++w) {
    for (uint64_t word = words[w]; word != 0; word &= word - 1) {
      tokens_.push_back(static_cast<int32_t>(w * 64 + static_cast<size_t>(std::countr_zero(word))));
    }
  }
}

void TokenSet::add_to(std::span<uint64_t> words) const {
  for (size_t w = 0; w < words_.size(); ++w) words[w] |= words_[w];
  for (const int32_t token : tokens_) set_bit(words, token);
}

void LocalMask::add_to(std::span<uint64_t> words, int64_t rounds_left) const {
  if (rounds_left < 0 || rounds_left >= static_cast<int64_t>(most_rounds)) {
    tokens.add_to(words);
    return;
  }
  const auto most = static_cast<uint32_t>(rounds_left);
  if (most == 0) return;
  within[std::min(most, kRoundsWithin) - 1].add_to(words);
  for (size_t i = 0; i < by_rounds.size() && rounds_of[i] <= most; ++i) set_bit(words, by_rounds[i]);
}

size_t LocalMask::size_bytes() const {
  size_t bytes = tokens.size_bytes() + exits.size() * sizeof(Exit) + exits_begin.size() * sizeof(uint32_t) +
                 by_rounds.size() * (sizeof(int32_t) + sizeof(uint32_t));
  for (const TokenSet& set : within) bytes += set.size_bytes();
  return bytes;
}

bool looks_alike(const Automaton& automaton, const std::vector<int32_t>& visited, int32_t node) {
  if (visited.empty()) return false;
  const auto call_free = [&](int32_t id) {
    const Automaton::Rule& rule = automaton.rules[static_cast<size_t>(automaton.nodes[static_cast<size_t>(id)].rule)];
    return !rule.has_calls && !rule.is_loop;
  };
  if (!call_free(node)) return false;
  std::unordered_map<int32_t, int32_t> image;
  for (const int32_t id : visited) image.emplace(id, kNoNode);
  image[visited[0]] = node;
  std::vector<int32_t> todo{visited[0]};
  while (!todo.empty()) {
    const int32_t from = todo.back();
    todo.pop_back();
    const int32_t to = image[from];
    if (automaton.nodes[static_cast<size_t>(from)].final != automaton.nodes[static_cast<size_t>(to)].final)
      return false;
    for (int c = 0; c < automaton.num_classes; ++c) {
      const int32_t next = automaton.step(from, c);
      const int32_t next_image = automaton.step(to, c);
      if ((next < 0) != (next_image < 0)) return false;
      const auto found = next < 0 ? image.end() : image.find(next);
      if (found == image.end()) continue;  // no token leads there
      if (found->second == kNoNode) {
        found->second = next_image;
        todo.push_back(next);
      } else if (found->second != next_image) {
        return false;
      }
    }
  }
  return true;
}

LocalMask make_local_mask(const Automaton& automaton, const TokenTrie& trie, int32_t node) {
  return Maker(automaton, trie).make(node);
}

}  // namespace brio::grammar
