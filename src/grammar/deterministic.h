// One rule's deterministic automaton before it joins the others: subset construction, products, merging of equal ends.
#pragma once

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/limits.h"
#include "grammar/rules.h"

namespace brio::grammar {

// Bytes that no set in the grammar tells apart share a class.
class ByteClasses {
 public:
  explicit ByteClasses(const Rules& rules);
  int size() const { return num_; }
  const std::array<uint8_t, 256>& class_of() const { return class_of_; }
  const std::vector<uint8_t>& classes_of(const ByteSet& set) const { return members_.at(set); }

 private:
  int num_ = 1;
  std::array<uint8_t, 256> class_of_{};
  std::map<ByteSet, std::vector<uint8_t>> members_;
};

// What is left of the limits, over all rules of a grammar.
struct BuildBudget {
  const CompileLimits& limits;
  int64_t work = 0;
  int64_t states = 0;
  bool spend(int64_t amount) { return (work += amount) <= limits.max_work; }
};

struct Deterministic {
  struct State {
    std::vector<int32_t> next;                      // by class, -1: none
    std::vector<std::pair<RuleId, int32_t>> calls;  // sorted by rule, one entry a rule
    bool final = false;
    bool operator==(const State&) const = default;
  };
  std::vector<State> states;  // the first is the start
};

Result<Deterministic> determinize(const Rules& rules, ExprId expr, const ByteClasses& classes, const std::string& place,
                                  BuildBudget& budget);
// What both match, or what a matches and b does not. Without calls.
Result<Deterministic> product(const Deterministic& a, const Deterministic& b, Rule::Kind kind, const std::string& place,
                              BuildBudget& budget);
// States with the same ways on become one.
void merge_equal(Deterministic& automaton, BuildBudget& budget);

}  // namespace brio::grammar
