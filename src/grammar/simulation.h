// Simulation: an automaton's state after some bytes: a set of configurations, each a node and a stack of returns. Stacks
// share their lower frames. Used by the matcher for the text so far and by the mask for what tokens would do to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grammar/automaton.h"

namespace brio::grammar {

struct Frame {
  int32_t then = kNoNode;  // where the caller goes on
  int32_t loop = -1;       // the loop rule that counts here, -1: an ordinary call
  int32_t count = 0;       // finished rounds; of an unbounded loop at most its minimum
  int32_t parent = -1;     // -1: the root rule
  bool operator==(const Frame&) const = default;
};

struct Config {
  int32_t node = kNoNode;  // has bytes to go on with
  int32_t frame = -1;
  bool operator==(const Config&) const = default;
};

// More than this many at a time: the grammar is too ambiguous to be followed.
inline constexpr size_t kMaxConfigs = 1024;
inline constexpr size_t kMaxFrames = size_t{1} << 20;

class Simulation {
 public:
  explicit Simulation(const Automaton& automaton) : automaton_(&automaton) {}

  std::vector<Frame> frames;  // parents before children; a caller may cut it back to an earlier size
  int64_t work = 0;           // comparisons and moves so far, whatever the machine

  // Adds to `out` (from `begin` on) what is reached from (node, frame) without a byte; sets `complete` where the root
  // rule (or what stands below frame -1) ends. False: beyond kMaxConfigs or kMaxFrames.
  bool expand(int32_t node, int32_t frame, std::vector<Config>& out, size_t begin, bool& complete);
  bool expand_loop(int32_t frame, std::vector<Config>& out, size_t begin, bool& complete);
  // All configurations of out[from, to) after a byte, appended to `out`.
  bool step(int byte_class, size_t from, size_t to, std::vector<Config>& out, bool& complete);

 private:
  struct Pending {
    int32_t node;  // kNoNode: a loop's frame to look at
    int32_t frame;
    bool operator==(const Pending&) const = default;
  };
  bool run(std::vector<Config>& out, size_t begin, bool& complete);
  void look(const Pending& at, std::vector<Config>& out, size_t begin, bool& complete);
  void enter(const Automaton::Call& call, int32_t frame);
  void leave(int32_t frame, bool& complete);
  void add(Config config, std::vector<Config>& out, size_t begin);
  bool same_stack(int32_t a, int32_t b) const;
  int32_t push(const Frame& frame);

  const Automaton* automaton_;
  std::vector<Pending> todo_;
  std::vector<Pending> seen_;
};

}  // namespace brio::grammar
