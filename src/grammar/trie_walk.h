// TrieWalk: follows every token of a branch of the trie at once through an automaton with its stacks. What a mask does
// where no shorter way is known (local_mask.h).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "grammar/simulation.h"
#include "grammar/token_trie.h"

namespace brio::grammar {

// A branch that costs more is refused: about 0.2 s of a hostile grammar.
inline constexpr int64_t kMaxWalkWork = 20'000'000;

class TrieWalk {
 public:
  TrieWalk(const Automaton& automaton, const TokenTrie& trie)
      : simulation(automaton), automaton_(automaton), trie_(trie) {}

  Simulation simulation;
  std::vector<Config> sets;  // the caller puts the first set here; what follows is the walk's

  // Nodes [first, last) of the trie, whose parents at base_depth are in the states sets[begin, end). on_node(node,
  // complete) for each that the automaton can reach. False: too much work, or too ambiguous.
  template <typename OnNode>
  bool run(uint32_t first, uint32_t last, int base_depth, size_t begin, size_t end, OnNode&& on_node) {
    levels_.clear();
    levels_.push_back({begin, end, simulation.frames.size()});
    const TokenTrie::Node* nodes = trie_.nodes();
    for (uint32_t i = first; i < last;) {
      const auto depth = static_cast<size_t>(nodes[i].depth - base_depth);
      levels_.resize(depth);
      const Level from = levels_.back();
      sets.resize(std::max(from.end, end));
      simulation.frames.resize(from.frames);
      const size_t start = sets.size();
      bool complete = false;
      if (!simulation.step(automaton_.class_of[nodes[i].byte], from.begin, from.end, sets, complete) ||
          simulation.work > kMaxWalkWork) {
        return false;
      }
      const bool goes_on = sets.size() > start;
      if (goes_on || complete) on_node(i, complete);
      if (goes_on) {
        levels_.push_back({start, sets.size(), simulation.frames.size()});
        ++i;
      } else {
        i = nodes[i].end;
      }
    }
    sets.resize(end);
    simulation.frames.resize(levels_[0].frames);
    return true;
  }

 private:
  struct Level {
    size_t begin;  // of sets
    size_t end;
    size_t frames;
  };
  const Automaton& automaton_;
  const TokenTrie& trie_;
  std::vector<Level> levels_;
};

}  // namespace brio::grammar
