// Matcher: where one sequence stands in its grammar. Copies are cheap and independent (n > 1); a preempted sequence keeps
// its own. One sequence's, one thread at a time.
//
//   Matcher matcher(grammar);
//   BRIO_TRY_OK(matcher.mask(words));                 // bit i: token i may come next
//   if (matcher.accept(token)) ...                    // false: the mask does not have it; nothing changed
//
// After an accepted end token nothing may follow: is_ended().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/compiled_grammar.h"
#include "grammar/simulation.h"

namespace brio::grammar {

class Matcher {
 public:
  explicit Matcher(std::shared_ptr<const CompiledGrammar> grammar);

  // Tokens that may come next; end tokens exactly where is_complete().                              words [num_words]
  // Errors: kInvalidArgument, the grammar is too ambiguous here.
  Result<void> mask(std::span<uint64_t> words) const;
  size_t num_words() const { return grammar_->trie().num_words(); }

  bool accept(int32_t token);
  bool accept_bytes(std::string_view bytes);                       // for tests and other drivers; all or nothing
  bool is_complete() const { return complete_ && !ended_; }        // the text matches as it is
  bool is_ended() const { return ended_; }                         // an end token was accepted
  bool can_go_on() const { return !ended_ && !configs_.empty(); }  // by more text

 private:
  std::string key() const;
  bool fill(std::span<uint64_t> words, int64_t& work) const;
  void compact(const Simulation& simulation, std::span<const Config> configs);

  std::shared_ptr<const CompiledGrammar> grammar_;
  std::vector<Frame> frames_;
  std::vector<Config> configs_;
  bool complete_ = false;
  bool ended_ = false;
};

// The one token of a mask, if it has exactly one: text that needs no sampling.
std::optional<int32_t> only_token(std::span<const uint64_t> words);

}  // namespace brio::grammar
