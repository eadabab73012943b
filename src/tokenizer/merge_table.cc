#include "tokenizer/merge_table.h"

namespace brio::tokenizer {

int32_t MergeTable::symbol(const Vocabulary& vocabulary, std::string_view spelling) const {
  const int32_t id = vocabulary.ordinary(spelling);
  if (id >= 0 || extra_.empty()) return id;
  const auto at = extra_.find(std::string(spelling));
  return at == extra_.end() ? -1 : at->second;
}

int32_t MergeTable::intern(const Vocabulary& vocabulary, std::string_view spelling) {
  const int32_t id = symbol(vocabulary, spelling);
  if (id >= 0) return id;
  const int32_t next = vocabulary.size() + static_cast<int32_t>(extra_.size());
  extra_.emplace(spelling, next);
  return next;
}

Result<MergeTable> MergeTable::create(const Vocabulary& vocabulary) {
  const std::vector<std::string>& merges = vocabulary.spec().merges;
  if (merges.empty()) return error(ErrorCode::kInvalidFile, "tokenizer.ggml.merges is missing or empty");
  if (merges.size() > (1u << 25))
    return error(ErrorCode::kInvalidFile, "tokenizer.ggml.merges has {} entries, the most is {}", merges.size(),
                 1 << 25);
  MergeTable out;
  out.pairs_.reserve(merges.size());
  std::string joined;
  for (size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    const size_t space = merge.find(' ', 1);  // from 1: a left part may itself be a space
    if (space == std::string_view::npos || space + 1 == merge.size())
      return error(ErrorCode::kInvalidFile, "tokenizer.ggml.merges[{}] is '{}', not two parts and a space", i,
                   merge.substr(0, 64));
    const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
    joined.assign(left).append(right);
    const int32_t left_id = out.intern(vocabulary, left), right_id = out.intern(vocabulary, right);
    out.pairs_.insert(left_id, right_id, static_cast<int32_t>(i), out.intern(vocabulary, joined));
  }
  return out;
}

}  // namespace brio::tokenizer
