// Rules: a grammar on its way from text to automaton. Expressions over bytes live in one arena and refer to each other
// and to rules by number, so recursion is a call. Every front end (JSON schema, regex, choices, GBNF) fills one of
// these; automaton_builder.h reads it. One thread.
//
//   Rules rules;
//   const int value = rules.add_rule("value");
//   rules.set_body(value, rules.choice({rules.literal("x"), rules.sequence({rules.literal("("), rules.call(value), ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/byte_set.h"
#include "grammar/char_set.h"

namespace brio::grammar {

using ExprId = int32_t;
using RuleId = int32_t;
inline constexpr int kUnbounded = -1;

struct Expr {
  enum class Op : uint8_t { kEmpty, kNever, kBytes, kSequence, kChoice, kRepeat, kCall };
  Op op = Op::kEmpty;
  ByteSet bytes{};                 // kBytes
  std::vector<ExprId> children{};  // kSequence, kChoice; kRepeat: one
  int min = 0;                     // kRepeat
  int max = 0;                     // kRepeat; kUnbounded
  RuleId rule = -1;                // kCall
};

struct Rule {
  // kLoop: min to max times the body, which is a prefix code without calls: counted while running instead of written out.
  // kIntersect, kExcept: what body and other both match; what body matches and other does not. Neither has calls.
  enum class Kind : uint8_t { kPlain, kLoop, kIntersect, kExcept };
  std::string name;  // for errors
  Kind kind = Kind::kPlain;
  ExprId body = -1;
  ExprId other = -1;
  int min = 0;
  int max = 0;
  bool inlined = false;  // written out where it is called
};

class Rules {
 public:
  ExprId empty() { return add({}); }
  ExprId never() { return add({Expr::Op::kNever}); }
  ExprId bytes(const ByteSet& set) { return add({Expr::Op::kBytes, set}); }
  ExprId literal(std::string_view text);
  ExprId chars(const CharSet& set);  // one character, in UTF-8
  ExprId sequence(std::vector<ExprId> parts);
  ExprId choice(std::vector<ExprId> parts);
  ExprId repeat(ExprId part, int min, int max);
  ExprId optional(ExprId part) { return repeat(part, 0, 1); }
  ExprId call(RuleId rule);

  RuleId add_rule(std::string name);
  void set_body(RuleId rule, ExprId body) { rules_[static_cast<size_t>(rule)].body = body; }
  RuleId add_loop(std::string name, ExprId unit, int min, int max);
  RuleId add_product(std::string name, Rule::Kind kind, ExprId body, ExprId other);
  void set_root(RuleId rule) { root_ = rule; }
  // Rules that come to at most max_weight parts are written out where they are called: automata without calls are fast.
  void inline_small(int max_weight);
  // The bytes that texts of an expression without calls begin with; nullable if the empty text is among them.
  struct First {
    ByteSet bytes{};
    bool nullable = false;
  };
  First first(ExprId id) const;

  RuleId root() const { return root_; }
  const std::vector<Rule>& rules() const { return rules_; }
  const Expr& expr(ExprId id) const { return exprs_[static_cast<size_t>(id)]; }
  size_t num_exprs() const { return exprs_.size(); }

 private:
  ExprId add(Expr expr);
  int weight(ExprId id, int depth);
  std::vector<int> rule_weights_;  // -1: not known, -2: being found
  std::vector<Expr> exprs_;
  std::vector<Rule> rules_;
  RuleId root_ = -1;
};

}  // namespace brio::grammar
