// Automaton: a grammar as deterministic automata that call each other, over classes of bytes. Made by
// automaton_builder.h, run by simulation.h and local_mask.h. Immutable, any thread.
//
// Nothing in it leads to a dead end: from every node some string completes the grammar. No rule calls itself before it
// has consumed a byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace brio::grammar {

inline constexpr int32_t kNoNode = -1;

struct Automaton {
  struct Node {
    int32_t rule = -1;
    int32_t calls_begin = 0;  // into calls
    int32_t calls_end = 0;
    bool final = false;      // the rule may end here
    bool has_bytes = false;  // some byte leads on
    bool plain() const { return calls_begin == calls_end && !final; }
  };
  struct Call {
    int32_t rule = -1;
    int32_t then = kNoNode;
    bool tail = false;  // `then` does nothing but end its rule: no frame is needed
  };
  struct Rule {
    int32_t start = kNoNode;
    bool is_loop = false;  // the automaton from start is one round
    bool has_calls = false;
    int32_t min = 0;
    int32_t max = 0;  // -1: unbounded
  };

  int num_classes = 0;
  std::array<uint8_t, 256> class_of{};
  std::vector<Node> nodes;
  std::vector<int32_t> next;  // [nodes, num_classes], kNoNode where no byte of the class leads on
  std::vector<Call> calls;
  std::vector<Rule> rules;
  int32_t root = 0;

  int32_t step(int32_t node, int byte_class) const {
    return next[static_cast<size_t>(node) * static_cast<size_t>(num_classes) + static_cast<size_t>(byte_class)];
  }
};

}  // namespace brio::grammar
