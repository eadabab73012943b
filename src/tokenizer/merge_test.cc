#include "tokenizer/merge.h"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"

namespace brio::tokenizer {
namespace {

using Rules = std::map<std::pair<int32_t, int32_t>, Merge>;

// The definition, literally: look at all pairs, merge the first of the lowest rank, start again.
std::vector<int32_t> merge_by_definition(std::vector<int32_t> ids, const Rules& rules) {
  for (;;) {
    size_t best = ids.size();
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto rule = rules.find({ids[i], ids[i + 1]});
      if (rule == rules.end()) continue;
      if (best == ids.size() || rule->second.rank < rules.at({ids[best], ids[best + 1]}).rank) best = i;
    }
    if (best == ids.size()) return ids;
    ids[best] = rules.at({ids[best], ids[best + 1]}).id;
    ids.erase(ids.begin() + best + 1);
  }
}

// Rules as a vocabulary has them: each joins two earlier symbols into a new one. Equal ranks occur in SentencePiece.
Rules random_rules(Rng& rng, int num_rules, bool equal_ranks) {
  Rules rules;
  int32_t next = 3;
  for (int i = 0; i < num_rules; ++i) {
    const std::pair pair{static_cast<int32_t>(rng.below(next)), static_cast<int32_t>(rng.below(next))};
    if (rules.contains(pair)) continue;
    rules[pair] = {equal_ranks ? i / 3 : i, next++};
  }
  return rules;
}

TEST(Merge, ScanAndHeapFollowTheDefinition) {
  Rng rng(11);
  Merger merger;
  for (int round = 0; round < 400; ++round) {
    const Rules rules = random_rules(rng, 1 + static_cast<int>(rng.below(40)), round % 2 == 1);
    const uint32_t size = rng.below(round % 3 == 0 ? 300 : 45);  // both sides of the scan limit
    std::vector<int32_t> ids;
    std::vector<Symbol> symbols;
    for (uint32_t i = 0; i < size; ++i) {
      ids.push_back(static_cast<int32_t>(rng.below(3)));
      symbols.push_back({ids.back(), i, 1});
    }
    merger.run(symbols, [&](const Symbol& left, const Symbol& right) {
      EXPECT_EQ(left.begin + left.size, right.begin);
      const auto rule = rules.find({left.id, right.id});
      return rule == rules.end() ? kNoMerge : rule->second;
    });
    std::vector<int32_t> got;
    uint32_t end = 0;
    for (const Symbol& symbol : symbols) {
      EXPECT_EQ(symbol.begin, end);
      end += symbol.size;
      got.push_back(symbol.id);
    }
    EXPECT_EQ(end, size);
    EXPECT_EQ(got, merge_by_definition(ids, rules)) << "round " << round;
  }
}

}  // namespace
}  // namespace brio::tokenizer
