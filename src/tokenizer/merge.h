// Byte-pair merging, shared by every BPE kind: join the neighbouring pair of lowest rank (the leftmost of equals) until
// no pair has a rule. Sennrich et al. 2016. Words up to kScanLimit symbols are scanned; longer ones use a heap over a
// linked list, O(n log n), so that a 100 kB word costs what 100 kB of words cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace brio::tokenizer {

struct Symbol {
  int32_t id;      // token or symbol id; a merged-away symbol has kGone
  uint32_t begin;  // byte span in the text being merged
  uint32_t size;
};

struct Merge {
  int32_t rank;  // lower first
  int32_t id;    // of the joined symbol
  bool possible = true;
};
inline constexpr Merge kNoMerge{0, 0, false};

class Merger {
 public:
  // `rule(left, right)` returns a Merge. `symbols` is compacted to what remains, in order.
  template <typename Rule>
  void run(std::vector<Symbol>& symbols, const Rule& rule) {
    if (symbols.size() < 2) return;
    if (symbols.size() <= kScanLimit) {
      scan(symbols, rule);
    } else {
      heap(symbols, rule);
    }
  }

 private:
  // Break-even measured between 32 and 64 symbols; below it the scan's n^2 / 2 integer compares beat heap upkeep.
  static constexpr size_t kScanLimit = 40;
  static constexpr int32_t kGone = INT32_MIN;

  struct Candidate {
    int32_t rank, left, left_id, right_id, id;
    bool operator<(const Candidate& other) const {  // std::push_heap keeps the greatest first
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  template <typename Rule>
  void scan(std::vector<Symbol>& symbols, const Rule& rule) {
    Merge pairs[kScanLimit];  // pairs[i]: the merge of symbols i and i + 1
    size_t n = symbols.size();
    for (size_t i = 0; i + 1 < n; ++i) pairs[i] = rule(symbols[i], symbols[i + 1]);
    while (n > 1) {
      size_t best = n;
      for (size_t i = 0; i + 1 < n; ++i) {
        if (pairs[i].possible && (best == n || pairs[i].rank < pairs[best].rank)) best = i;
      }
      if (best == n) break;
      symbols[best].id = pairs[best].id;
      symbols[best].size += symbols[best + 1].size;
      std::copy(symbols.begin() + best + 2, symbols.begin() + n, symbols.begin() + best + 1);
      std::copy(pairs + best + 1, pairs + n - 1, pairs + best);
      --n;
      if (best > 0) pairs[best - 1] = rule(symbols[best - 1], symbols[best]);
      if (best + 1 < n) pairs[best] = rule(symbols[best], symbols[best + 1]);
    }
    symbols.resize(n);
  }

  // A candidate is stale when one of its two symbols has changed. Ids tell: merging always changes the id, because the
  // text grows, and the symbol after an unchanged one starts where it always did.
  template <typename Rule>
  void heap(std::vector<Symbol>& symbols, const Rule& rule) {
    const int32_t n = static_cast<int32_t>(symbols.size());
    next_.resize(n);
    previous_.resize(n);
    heap_.clear();
    auto propose = [&](int32_t left, int32_t right) {
      if (left < 0 || right >= n) return;
      const Merge merge = rule(symbols[left], symbols[right]);
      if (merge.possible) heap_.push_back({merge.rank, left, symbols[left].id, symbols[right].id, merge.id});
    };
    for (int32_t i = 0; i < n; ++i) {
      next_[i] = i + 1;
      previous_[i] = i - 1;
      propose(i, i + 1);
    }
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Candidate c = heap_.back();
      heap_.pop_back();
      const int32_t right = next_[c.left];
      if (symbols[c.left].id != c.left_id || right >= n || symbols[right].id != c.right_id) continue;
      symbols[c.left].id = c.id;
      symbols[c.left].size += symbols[right].size;
      symbols[right].id = kGone;
      next_[c.left] = next_[right];
      if (next_[right] < n) previous_[next_[right]] = c.left;
      const size_t before = heap_.size();
      propose(previous_[c.left], c.left);
      if (heap_.size() > before) std::push_heap(heap_.begin(), heap_.end());
      const size_t middle = heap_.size();
      propose(c.left, next_[c.left]);
      if (heap_.size() > middle) std::push_heap(heap_.begin(), heap_.end());
    }
    std::erase_if(symbols, [](const Symbol& s) { return s.id == kGone; });
  }

  std::vector<int32_t> next_, previous_;
  std::vector<Candidate> heap_;
};

}  // namespace brio::tokenizer
