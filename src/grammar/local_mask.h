// LocalMask: what one node of an automaton allows whatever its stack is: tokens that stay within the rule (and the rules
// it calls), and the places in the trie where the rule ends in the middle of tokens. A mask is the union of those of its
// configurations plus what the rest of the stack makes of these places. The split into tokens that depend on the stack
// and tokens that do not is XGrammar's (Dong et al. 2024, section 3.1).
//
// In a counted loop tokens are ordered by how many rounds they begin, so that one LocalMask serves every count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/token_trie.h"

namespace brio::grammar {

// A set of tokens: few as a list, many as bits.
class TokenSet {
 public:
  TokenSet() = default;
  explicit TokenSet(std::vector<uint64_t> words);
  void add_to(std::span<uint64_t> words) const;
  size_t size_bytes() const { return words_.size() * sizeof(uint64_t) + tokens_.size() * sizeof(int32_t); }

 private:
  std::vector<uint64_t> words_;
  std::vector<int32_t> tokens_;
};

struct LocalMask {
  // A step out of the rule: the byte of this trie node is the first that belongs to whoever called.
  struct Exit {
    uint32_t trie_node = 0;
    uint32_t rounds = 0;  // of a loop: finished before it, counted from this configuration
  };

  bool failed = false;  // too ambiguous to be followed
  // Nodes that the tokens lead through, the first one this mask's own; empty where it cannot be shared. A node that looks
  // alike, together with those behind it, has the same mask: the places of a long repetition, except near its ends.
  std::vector<int32_t> visited;
  TokenSet tokens;  // of a loop: all that any number of rounds allows
  std::vector<Exit> exits;
  std::vector<uint32_t> exits_begin;  // [classes + 1]: exits by the class of their byte

  // Of a loop:
  std::vector<TokenSet> within;     // [r - 1]: tokens that begin at most r rounds
  std::vector<int32_t> by_rounds;   // tokens that begin more rounds than `within` covers, ascending
  std::vector<uint32_t> rounds_of;  // of those
  uint32_t most_rounds = 0;
  bool leaves_out_own_bytes = false;  // exits whose byte might as well begin a round are not listed

  void add_to(std::span<uint64_t> words, int64_t rounds_left) const;  // rounds_left < 0: unbounded
  size_t size_bytes() const;
};

// Whether `node` has the mask of another, given that mask's visited nodes: a homomorphism of the automaton from those to
// nodes reached from `node`, which keeps ends and the classes that lead nowhere. Of call-free rules, not of loops.
bool looks_alike(const Automaton& automaton, const std::vector<int32_t>& visited, int32_t node);

LocalMask make_local_mask(const Automaton& automaton, const TokenTrie& trie, int32_t node);

}  // namespace brio::grammar
