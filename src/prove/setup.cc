#include "prove/setup.h"

#include <algorithm>

namespace brio::prove {
namespace {

template <typename Key>
void add_counts(std::map<Key, int64_t>& to, const std::map<Key, int64_t>& from) {
  for (const auto& [key, count] : from) to[key] += count;
}

}  // namespace

void Evidence::add(const Evidence& other) {
  most_rows = std::max(most_rows, other.most_rows);
  most_sequences = std::max(most_sequences, other.most_sequences);
  longest_whole_prompt = std::max(longest_whole_prompt, other.longest_whole_prompt);
  most_preemptions = std::max(most_preemptions, other.most_preemptions);
  for (int64_t Evidence::*count :
       {&Evidence::steps, &Evidence::mixed_steps, &Evidence::joins, &Evidence::leaves, &Evidence::preemptions,
        &Evidence::forks, &Evidence::shared_blocks, &Evidence::scattered_tables, &Evidence::reused_blocks,
        &Evidence::poisoned_blocks, &Evidence::aborted_prefills, &Evidence::aborted_decodes, &Evidence::verify_rows,
        &Evidence::sampled_tokens, &Evidence::greedy_tokens, &Evidence::unseeded_tokens, &Evidence::parted_choices}) {
    this->*count += other.*count;
  }
  add_counts(admitted_at_once, other.admitted_at_once);
  add_counts(chunks, other.chunks);
  add_counts(threads, other.threads);
  add_counts(isas, other.isas);
  full_budgets.insert(other.full_budgets.begin(), other.full_budgets.end());
  places.insert(other.places.begin(), other.places.end());
  drawn_rows.insert(other.drawn_rows.begin(), other.drawn_rows.end());
}

}  // namespace brio::prove
