#include "grammar/automaton_builder.h"

#include <algorithm>

#include "grammar/deterministic.h"

namespace brio::grammar {
namespace {

class Builder {
 public:
  Builder(const Rules& rules, const CompileLimits& limits) : rules_(rules), classes_(rules), budget_{limits} {}

  Result<Automaton> build() {
    out_.num_classes = classes_.size();
    out_.class_of = classes_.class_of();
    out_.root = rules_.root();
    for (size_t i = 0; i < rules_.rules().size(); ++i) BRIO_TRY_OK(add_rule(static_cast<RuleId>(i)));
    find_productive();
    if (!productive_rule(out_.root)) {
      return error(ErrorCode::kInvalidArgument, "{} cannot be matched by any text", place(out_.root));
    }
    cut();
    BRIO_TRY_OK(refuse_left_recursion());
    mark_tails();
    return std::move(out_);
  }

 private:
  std::string place(RuleId rule) const { return rules_.rules()[static_cast<size_t>(rule)].name; }

  Result<void> add_rule(RuleId id) {
    const Rule& rule = rules_.rules()[static_cast<size_t>(id)];
    BRIO_TRY(Deterministic automaton, determinize(rules_, rule.body, classes_, rule.name, budget_));
    if (rule.kind == Rule::Kind::kIntersect || rule.kind == Rule::Kind::kExcept) {
      BRIO_TRY(const Deterministic other, determinize(rules_, rule.other, classes_, rule.name, budget_));
      BRIO_TRY(automaton, product(automaton, other, rule.kind, rule.name, budget_));
    }
    merge_equal(automaton, budget_);
    append(automaton, id, rule);
    return {};
  }

  void append(const Deterministic& automaton, RuleId id, const Rule& rule) {
    const auto base = static_cast<int32_t>(out_.nodes.size());
    Automaton::Rule info{base, rule.kind == Rule::Kind::kLoop, false, rule.min, rule.max};
    for (const Deterministic::State& state : automaton.states) {
      Automaton::Node node;
      node.rule = id;
      node.final = state.final;
      node.calls_begin = static_cast<int32_t>(out_.calls.size());
      for (const auto& [callee, then] : state.calls) out_.calls.push_back({callee, base + then});
      node.calls_end = static_cast<int32_t>(out_.calls.size());
      info.has_calls = info.has_calls || node.calls_begin != node.calls_end;
      out_.nodes.push_back(node);
      for (const int32_t next : state.next) out_.next.push_back(next < 0 ? kNoNode : base + next);
    }
    out_.rules.push_back(info);
    budget_.states += static_cast<int64_t>(automaton.states.size());
  }

  bool productive_rule(RuleId rule) const {
    const Automaton::Rule& info = out_.rules[static_cast<size_t>(rule)];
    return (info.is_loop && info.min == 0) || productive_[static_cast<size_t>(info.start)];
  }

  bool productive_now(size_t i) const {
    const Automaton::Node& node = out_.nodes[i];
    if (node.final) return true;
    const auto classes = static_cast<size_t>(out_.num_classes);
    for (size_t c = 0; c < classes; ++c) {
      const int32_t to = out_.next[i * classes + c];
      if (to >= 0 && productive_[static_cast<size_t>(to)]) return true;
    }
    for (int32_t k = node.calls_begin; k < node.calls_end; ++k) {
      const Automaton::Call& call = out_.calls[static_cast<size_t>(k)];
      if (productive_rule(call.rule) && productive_[static_cast<size_t>(call.then)]) return true;
    }
    return false;
  }

  // From the ends backwards: whoever can reach a node that turned out to be productive is looked at again.
  void find_productive() {
    const size_t num = out_.nodes.size();
    const auto classes = static_cast<size_t>(out_.num_classes);
    std::vector<std::vector<int32_t>> before(num);
    for (size_t i = 0; i < num; ++i) {
      const auto self = static_cast<int32_t>(i);
      const auto add = [&](int32_t to) {
        if (before[static_cast<size_t>(to)].empty() || before[static_cast<size_t>(to)].back() != self) {
          before[static_cast<size_t>(to)].push_back(self);
        }
      };
      for (size_t c = 0; c < classes; ++c) {
        if (const int32_t to = out_.next[i * classes + c]; to >= 0) add(to);
      }
      for (int32_t k = out_.nodes[i].calls_begin; k < out_.nodes[i].calls_end; ++k) {
        add(out_.calls[static_cast<size_t>(k)].then);
        add(out_.rules[static_cast<size_t>(out_.calls[static_cast<size_t>(k)].rule)].start);
      }
    }
    productive_.assign(num, false);
    std::vector<int32_t> todo;
    for (size_t i = num; i-- > 0;) todo.push_back(static_cast<int32_t>(i));
    while (!todo.empty()) {
      const auto i = static_cast<size_t>(todo.back());
      todo.pop_back();
      if (productive_[i] || !productive_now(i)) continue;
      productive_[i] = true;
      todo.insert(todo.end(), before[i].begin(), before[i].end());
    }
  }

  void cut() {
    const auto classes = static_cast<size_t>(out_.num_classes);
    std::vector<Automaton::Call> kept;
    for (size_t i = 0; i < out_.nodes.size(); ++i) {
      Automaton::Node& node = out_.nodes[i];
      for (size_t c = 0; c < classes; ++c) {
        int32_t& to = out_.next[i * classes + c];
        if (to >= 0 && !productive_[static_cast<size_t>(to)]) to = kNoNode;
        node.has_bytes = node.has_bytes || to >= 0;
      }
      const auto begin = static_cast<int32_t>(kept.size());
      for (int32_t k = node.calls_begin; k < node.calls_end; ++k) {
        const Automaton::Call& call = out_.calls[static_cast<size_t>(k)];
        if (productive_rule(call.rule) && productive_[static_cast<size_t>(call.then)]) kept.push_back(call);
      }
      node.calls_begin = begin;
      node.calls_end = static_cast<int32_t>(kept.size());
    }
    out_.calls = std::move(kept);
    for (size_t r = 0; r < out_.rules.size(); ++r) {  // a loop whose rounds cannot end is the empty text
      Automaton::Rule& rule = out_.rules[r];
      if (rule.is_loop && !productive_[static_cast<size_t>(rule.start)]) rule.max = 0;
    }
  }

  bool nullable_rule(RuleId rule) const {
    const Automaton::Rule& info = out_.rules[static_cast<size_t>(rule)];
    return info.is_loop ? info.min == 0 : nullable_[static_cast<size_t>(info.start)];
  }

  void find_nullable() {
    nullable_.assign(out_.nodes.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = out_.nodes.size(); i-- > 0;) {
        if (nullable_[i]) continue;
        const Automaton::Node& node = out_.nodes[i];
        bool now = node.final;
        for (int32_t k = node.calls_begin; k < node.calls_end && !now; ++k) {
          const Automaton::Call& call = out_.calls[static_cast<size_t>(k)];
          now = nullable_rule(call.rule) && nullable_[static_cast<size_t>(call.then)];
        }
        if (now) nullable_[i] = changed = true;
      }
    }
  }

  // The rules that a rule may call before it has consumed a byte.
  std::vector<RuleId> first_calls(RuleId rule) const {
    std::vector<RuleId> out;
    std::vector<int32_t> todo{out_.rules[static_cast<size_t>(rule)].start};
    std::vector<int32_t> seen;
    while (!todo.empty()) {
      const int32_t at = todo.back();
      todo.pop_back();
      if (std::find(seen.begin(), seen.end(), at) != seen.end()) continue;
      seen.push_back(at);
      const Automaton::Node& node = out_.nodes[static_cast<size_t>(at)];
      for (int32_t k = node.calls_begin; k < node.calls_end; ++k) {
        const Automaton::Call& call = out_.calls[static_cast<size_t>(k)];
        out.push_back(call.rule);
        if (nullable_rule(call.rule)) todo.push_back(call.then);
      }
    }
    return out;
  }

  Result<void> refuse_left_recursion() {
    find_nullable();
    enum : uint8_t { kNew, kOpen, kDone };
    std::vector<uint8_t> mark(out_.rules.size(), kNew);
    struct Visit {
      RuleId rule;
      std::vector<RuleId> calls;
    };
    for (size_t r = 0; r < out_.rules.size(); ++r) {
      if (mark[r] != kNew) continue;
      std::vector<Visit> path;
      const auto open = [&](RuleId rule) {
        mark[static_cast<size_t>(rule)] = kOpen;
        path.push_back({rule, first_calls(rule)});
      };
      open(static_cast<RuleId>(r));
      while (!path.empty()) {
        if (path.back().calls.empty()) {
          mark[static_cast<size_t>(path.back().rule)] = kDone;
          path.pop_back();
          continue;
        }
        const RuleId callee = path.back().calls.back();
        path.back().calls.pop_back();
        if (mark[static_cast<size_t>(callee)] == kOpen) {
          return error(ErrorCode::kInvalidArgument, "{} refers to itself before anything else (left recursion)",
                       place(callee));
        }
        if (mark[static_cast<size_t>(callee)] == kNew) open(callee);
      }
    }
    return {};
  }

  void mark_tails() {
    for (Automaton::Call& call : out_.calls) {
      const Automaton::Node& then = out_.nodes[static_cast<size_t>(call.then)];
      call.tail = then.final && !then.has_bytes && then.calls_begin == then.calls_end;
    }
  }

  const Rules& rules_;
  ByteClasses classes_;
  BuildBudget budget_;
  Automaton out_;
  std::vector<bool> productive_;
  std::vector<bool> nullable_;
};

}  // namespace

Result<Automaton> build_automaton(const Rules& rules, const CompileLimits& limits) {
  if (static_cast<int64_t>(rules.num_exprs()) > limits.max_exprs) {
    return error(ErrorCode::kInvalidArgument, "the grammar has more than {} parts", limits.max_exprs);
  }
  if (static_cast<int64_t>(rules.rules().size()) > limits.max_rules) {
    return error(ErrorCode::kInvalidArgument, "the grammar has more than {} rules", limits.max_rules);
  }
  return Builder(rules, limits).build();
}

}  // namespace brio::grammar
