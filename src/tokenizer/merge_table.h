// MergeTable: the merge rules of a vocabulary as pairs of symbol ids. A symbol is a token, or text that merges name but
// the vocabulary lacks (ids from vocabulary size up). Immutable after create(), any thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "tokenizer/merge.h"
#include "tokenizer/pair_table.h"
#include "tokenizer/vocabulary.h"

namespace brio::tokenizer {

class MergeTable {
 public:
  static Result<MergeTable> create(const Vocabulary& vocabulary);

  // Symbol of a spelling, -1: none.
  int32_t symbol(const Vocabulary& vocabulary, std::string_view spelling) const;

  Merge operator()(const Symbol& left, const Symbol& right) const {
    if (left.id < 0 || right.id < 0) return kNoMerge;
    const PairTable::Entry* entry = pairs_.find(left.id, right.id);
    return entry == nullptr ? kNoMerge : Merge{entry->rank, entry->id};
  }

 private:
  int32_t intern(const Vocabulary& vocabulary, std::string_view spelling);
  PairTable pairs_;
  std::unordered_map<std::string, int32_t> extra_;  // merge parts that are no token: none in a sound file
};

}  // namespace brio::tokenizer
