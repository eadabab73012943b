#include "grammar/deterministic.h"

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"

namespace brio::grammar {
namespace {

Error too_large(const std::string& place, const BuildBudget& budget) {
  return error(ErrorCode::kInvalidArgument, "{} needs more than {} states or too much time to compile", place,
               budget.limits.max_states);
}

struct Edge {
  const std::vector<uint8_t>* classes;
  int32_t to;
};

struct Nondeterministic {
  struct State {
    std::vector<int32_t> silent;
    std::vector<Edge> bytes;
    std::vector<std::pair<RuleId, int32_t>> calls;
  };
  std::vector<State> states;

  int32_t add() {
    states.emplace_back();
    return static_cast<int32_t>(states.size() - 1);
  }
  State& operator[](int32_t i) { return states[static_cast<size_t>(i)]; }
  const State& operator[](int32_t i) const { return states[static_cast<size_t>(i)]; }
};

// Thompson's construction (1968): one fragment between two states for each expression.
class Writer {
 public:
  Writer(const Rules& rules, const ByteClasses& classes, BuildBudget& budget)
      : rules_(rules), classes_(classes), budget_(budget) {}

  Nondeterministic automaton;

  bool write(ExprId id, int32_t from, int32_t to) {
    const Expr& expr = rules_.expr(id);
    if (!budget_.spend(1) || static_cast<int64_t>(automaton.states.size()) > budget_.limits.max_states) return false;
    switch (expr.op) {
      case Expr::Op::kEmpty:
        automaton[from].silent.push_back(to);
        return true;
      case Expr::Op::kNever:
        return true;
      case Expr::Op::kBytes:
        automaton[from].bytes.push_back({&classes_.classes_of(expr.bytes), to});
        return true;
      case Expr::Op::kCall:
        if (const Rule& rule = rules_.rules()[static_cast<size_t>(expr.rule)]; rule.inlined) {
          return write(rule.body, from, to);
        }
        automaton[from].calls.emplace_back(expr.rule, to);
        return true;
      case Expr::Op::kChoice:
        return std::all_of(expr.children.begin(), expr.children.end(),
                           [&](ExprId child) { return write(child, from, to); });
      case Expr::Op::kSequence:
        for (size_t i = 0; i < expr.children.size(); ++i) {
          const int32_t end = i + 1 < expr.children.size() ? automaton.add() : to;
          if (!write(expr.children[i], from, end)) return false;
          from = end;
        }
        return true;
      case Expr::Op::kRepeat:
        return write_repeat(expr, from, to);
    }
    return false;
  }

 private:
  bool write_repeat(const Expr& expr, int32_t from, int32_t to) {
    const auto round = [&](int32_t& at) {
      const int32_t end = automaton.add();
      const bool written = write(expr.children[0], at, end);
      at = end;
      return written;
    };
    int32_t at = automaton.add();
    automaton[from].silent.push_back(at);
    for (int i = 0; i < expr.min; ++i) {
      if (!round(at)) return false;
    }
    if (expr.max == kUnbounded) {
      const int32_t loop = automaton.add();
      automaton[at].silent.push_back(loop);
      int32_t end = loop;
      if (!round(end)) return false;
      automaton[end].silent.push_back(loop);
      at = loop;
    } else {
      for (int i = expr.min; i < expr.max; ++i) {
        automaton[at].silent.push_back(to);
        if (!round(at)) return false;
      }
    }
    automaton[at].silent.push_back(to);
    return true;
  }

  const Rules& rules_;
  const ByteClasses& classes_;
  BuildBudget& budget_;
};

uint64_t hash_ids(const std::vector<int32_t>& ids) {
  return hash_bytes({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t)});
}
struct IdsHash {
  size_t operator()(const std::vector<int32_t>& ids) const { return hash_ids(ids); }
};

class Subsets {
 public:
  Subsets(const Nondeterministic& source, int32_t end, int num_classes, BuildBudget& budget)
      : source_(source), end_(end), num_classes_(num_classes), budget_(budget), seen_(source.states.size(), 0) {}

  bool run(int32_t start, Deterministic& out) {
    find({start}, out);
    for (size_t i = 0; i < subsets_.size(); ++i) {
      if (!expand(i, out)) return false;
    }
    return true;
  }

 private:
  // The states reached silently that matter: those with ways on, and the end.
  std::vector<int32_t> closure(const std::vector<int32_t>& from) {
    ++stamp_;
    std::vector<int32_t> todo = from;
    std::vector<int32_t> out;
    while (!todo.empty()) {
      const int32_t at = todo.back();
      todo.pop_back();
      if (std::exchange(seen_[static_cast<size_t>(at)], stamp_) == stamp_) continue;
      ++spent_;
      const auto& state = source_[at];
      if (at == end_ || !state.bytes.empty() || !state.calls.empty()) out.push_back(at);
      todo.insert(todo.end(), state.silent.begin(), state.silent.end());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  int32_t find(const std::vector<int32_t>& from, Deterministic& out) {
    std::vector<int32_t> subset = closure(from);
    const auto [entry, fresh] = index_.emplace(std::move(subset), static_cast<int32_t>(subsets_.size()));
    if (fresh) {
      subsets_.push_back(&entry->first);
      out.states.emplace_back();
      out.states.back().next.assign(static_cast<size_t>(num_classes_), -1);
      out.states.back().final = std::binary_search(entry->first.begin(), entry->first.end(), end_);
    }
    return entry->second;
  }

  bool expand(size_t i, Deterministic& out) {
    std::vector<std::vector<int32_t>> targets(static_cast<size_t>(num_classes_));
    std::map<RuleId, std::vector<int32_t>> calls;
    for (const int32_t at : *subsets_[i]) {
      for (const Edge& edge : source_[at].bytes) {
        spent_ += static_cast<int64_t>(edge.classes->size());
        for (const uint8_t c : *edge.classes) targets[c].push_back(edge.to);
      }
      for (const auto& [rule, to] : source_[at].calls) calls[rule].push_back(to);
    }
    std::unordered_map<std::vector<int32_t>, int32_t, IdsHash> known;  // many classes lead to the same states
    for (size_t c = 0; c < targets.size(); ++c) {
      if (targets[c].empty()) continue;
      const auto found = known.find(targets[c]);
      const int32_t to = found != known.end() ? found->second : find(targets[c], out);
      if (found == known.end()) known.emplace(targets[c], to);
      out.states[i].next[c] = to;
    }
    for (const auto& [rule, to] : calls) {
      const int32_t then = find(to, out);
      out.states[i].calls.emplace_back(rule, then);
    }
    const bool within = budget_.spend(spent_ + num_classes_ / 4);
    spent_ = 0;
    const auto states = static_cast<int64_t>(subsets_.size());
    return within && budget_.states + states <= budget_.limits.max_states &&
           (budget_.states + states) * num_classes_ <= budget_.limits.max_table_entries;
  }

  const Nondeterministic& source_;
  int32_t end_;
  int num_classes_;
  BuildBudget& budget_;
  int64_t spent_ = 0;
  std::vector<int32_t> seen_;
  int32_t stamp_ = 0;
  std::unordered_map<std::vector<int32_t>, int32_t, IdsHash> index_;
  std::vector<const std::vector<int32_t>*> subsets_;  // keys of index_, which do not move
};

}  // namespace

ByteClasses::ByteClasses(const Rules& rules) {
  for (size_t i = 0; i < rules.num_exprs(); ++i) {
    const Expr& expr = rules.expr(static_cast<ExprId>(i));
    if (expr.op != Expr::Op::kBytes || !members_.emplace(expr.bytes, std::vector<uint8_t>()).second) continue;
    std::map<std::pair<int, bool>, int> split;
    std::array<uint8_t, 256> refined{};
    for (int byte = 0; byte < 256; ++byte) {
      const std::pair<int, bool> key{class_of_[static_cast<size_t>(byte)], expr.bytes.has(byte)};
      refined[static_cast<size_t>(byte)] =
          static_cast<uint8_t>(split.emplace(key, static_cast<int>(split.size())).first->second);
    }
    class_of_ = refined;
    num_ = static_cast<int>(split.size());
  }
  for (auto& [set, classes] : members_) {
    std::array<bool, 256> in{};
    for (int byte = 0; byte < 256; ++byte) {
      if (set.has(byte)) in[class_of_[static_cast<size_t>(byte)]] = true;
    }
    for (int c = 0; c < num_; ++c) {
      if (in[static_cast<size_t>(c)]) classes.push_back(static_cast<uint8_t>(c));
    }
  }
}

Result<Deterministic> determinize(const Rules& rules, ExprId expr, const ByteClasses& classes, const std::string& place,
                                  BuildBudget& budget) {
  Writer writer(rules, classes, budget);
  const int32_t start = writer.automaton.add();
  const int32_t end = writer.automaton.add();
  if (!writer.write(expr, start, end)) return too_large(place, budget);
  Deterministic out;
  if (!Subsets(writer.automaton, end, classes.size(), budget).run(start, out)) return too_large(place, budget);
  return out;
}

Result<Deterministic> product(const Deterministic& a, const Deterministic& b, Rule::Kind kind, const std::string& place,
                              BuildBudget& budget) {
  Deterministic out;
  const size_t num_classes = a.states[0].next.size();
  std::map<std::pair<int32_t, int32_t>, int32_t> index;
  std::vector<std::pair<int32_t, int32_t>> pairs;
  const auto find = [&](int32_t x, int32_t y) {
    const auto [entry, fresh] = index.emplace(std::pair{x, y}, static_cast<int32_t>(pairs.size()));
    if (fresh) pairs.emplace_back(x, y);
    return entry->second;
  };
  find(0, 0);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto [x, y] = pairs[i];
    Deterministic::State state;
    state.next.assign(num_classes, -1);
    const bool in_b = y >= 0 && b.states[static_cast<size_t>(y)].final;
    state.final = a.states[static_cast<size_t>(x)].final && in_b == (kind == Rule::Kind::kIntersect);
    for (size_t c = 0; c < num_classes; ++c) {
      const int32_t next_x = a.states[static_cast<size_t>(x)].next[c];
      const int32_t next_y = y >= 0 ? b.states[static_cast<size_t>(y)].next[c] : -1;
      if (next_x < 0 || (next_y < 0 && kind == Rule::Kind::kIntersect)) continue;
      state.next[c] = find(next_x, next_y);
    }
    out.states.push_back(std::move(state));
    const auto states = static_cast<int64_t>(pairs.size());
    if (!budget.spend(static_cast<int64_t>(num_classes)) || budget.states + states > budget.limits.max_states ||
        (budget.states + states) * static_cast<int64_t>(num_classes) > budget.limits.max_table_entries) {
      return too_large(place, budget);
    }
  }
  return out;
}

void merge_equal(Deterministic& automaton, BuildBudget& budget) {
  constexpr int kMaxRounds = 12;  // each shortens common ends by a byte: enough for characters and short words
  for (int round = 0; round < kMaxRounds; ++round) {
    std::vector<Deterministic::State>& states = automaton.states;
    budget.spend(static_cast<int64_t>(states.size() * (states[0].next.size() / 4 + 1)));
    std::unordered_map<uint64_t, std::vector<int32_t>> by_hash;
    std::vector<int32_t> renamed(states.size());
    std::vector<Deterministic::State> kept;
    for (size_t i = 0; i < states.size(); ++i) {
      uint64_t hash = hash_ids(states[i].next) * 31 + (states[i].final ? 1 : 0);
      for (const auto& [rule, then] : states[i].calls) hash = hash * 31 + static_cast<uint64_t>(rule * 7919 + then);
      std::vector<int32_t>& same = by_hash[hash];
      const auto found =
          std::find_if(same.begin(), same.end(), [&](int32_t k) { return kept[static_cast<size_t>(k)] == states[i]; });
      if (found != same.end()) {
        renamed[i] = *found;
        continue;
      }
      renamed[i] = static_cast<int32_t>(kept.size());
      same.push_back(renamed[i]);
      kept.push_back(states[i]);
    }
    if (kept.size() == states.size()) return;
    for (Deterministic::State& state : kept) {
      for (int32_t& next : state.next) next = next < 0 ? next : renamed[static_cast<size_t>(next)];
      for (auto& call : state.calls) call.second = renamed[static_cast<size_t>(call.second)];
    }
    states = std::move(kept);
  }
}

}  // namespace brio::grammar
