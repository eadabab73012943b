#include "grammar/simulation.h"

#include <algorithm>

namespace brio::grammar {

int32_t Simulation::push(const Frame& frame) {
  frames.push_back(frame);
  return static_cast<int32_t>(frames.size() - 1);
}

bool Simulation::same_stack(int32_t a, int32_t b) const {
  while (a != b) {
    if (a < 0 || b < 0) return false;
    const Frame& x = frames[static_cast<size_t>(a)];
    const Frame& y = frames[static_cast<size_t>(b)];
    if (x.then != y.then || x.loop != y.loop || x.count != y.count) return false;
    a = x.parent;
    b = y.parent;
  }
  return true;
}

void Simulation::add(Config config, std::vector<Config>& out, size_t begin) {
  const auto same = [&](const Config& c) { return c.node == config.node && same_stack(c.frame, config.frame); };
  if (std::none_of(out.begin() + static_cast<ptrdiff_t>(begin), out.end(), same)) out.push_back(config);
}

void Simulation::enter(const Automaton::Call& call, int32_t frame) {
  const Automaton::Rule& rule = automaton_->rules[static_cast<size_t>(call.rule)];
  if (rule.is_loop) {
    todo_.push_back({kNoNode, push({call.then, call.rule, 0, frame})});
  } else {
    todo_.push_back({rule.start, call.tail ? frame : push({call.then, -1, 0, frame})});
  }
}

void Simulation::leave(int32_t frame, bool& complete) {
  if (frame < 0) {
    complete = true;
    return;
  }
  const Frame top = frames[static_cast<size_t>(frame)];
  if (top.loop < 0) {
    todo_.push_back({top.then, top.parent});
    return;
  }
  const Automaton::Rule& rule = automaton_->rules[static_cast<size_t>(top.loop)];
  const int32_t count = rule.max < 0 ? std::min(top.count + 1, rule.min) : top.count + 1;
  todo_.push_back({kNoNode, count == top.count ? frame : push({top.then, top.loop, count, top.parent})});
}

void Simulation::look(const Pending& at, std::vector<Config>& out, size_t begin, bool& complete) {
  if (at.node == kNoNode) {
    const Frame top = frames[static_cast<size_t>(at.frame)];
    const Automaton::Rule& rule = automaton_->rules[static_cast<size_t>(top.loop)];
    if (rule.max < 0 || top.count < rule.max) add({rule.start, at.frame}, out, begin);
    if (top.count >= rule.min) todo_.push_back({top.then, top.parent});
    return;
  }
  const Automaton::Node& node = automaton_->nodes[static_cast<size_t>(at.node)];
  if (node.has_bytes) add({at.node, at.frame}, out, begin);
  if (node.plain()) return;
  if (std::find(seen_.begin(), seen_.end(), at) != seen_.end()) return;  // calls that may be empty can lead in a circle
  seen_.push_back(at);
  for (int32_t k = node.calls_begin; k < node.calls_end; ++k) {
    enter(automaton_->calls[static_cast<size_t>(k)], at.frame);
  }
  if (node.final) leave(at.frame, complete);
}

bool Simulation::run(std::vector<Config>& out, size_t begin, bool& complete) {
  seen_.clear();
  while (!todo_.empty()) {
    const Pending at = todo_.back();
    todo_.pop_back();
    look(at, out, begin, complete);
    work += 1 + static_cast<int64_t>(out.size() - begin + seen_.size()) / 4;
    if (out.size() - begin > kMaxConfigs || seen_.size() > 4 * kMaxConfigs || frames.size() > kMaxFrames) {
      todo_.clear();
      return false;
    }
  }
  return true;
}

bool Simulation::expand(int32_t node, int32_t frame, std::vector<Config>& out, size_t begin, bool& complete) {
  todo_.push_back({node, frame});
  return run(out, begin, complete);
}

bool Simulation::expand_loop(int32_t frame, std::vector<Config>& out, size_t begin, bool& complete) {
  todo_.push_back({kNoNode, frame});
  return run(out, begin, complete);
}

bool Simulation::step(int byte_class, size_t from, size_t to, std::vector<Config>& out, bool& complete) {
  const size_t begin = out.size();
  work += static_cast<int64_t>(to - from);
  for (size_t i = from; i < to; ++i) {
    const Config config = out[i];
    const int32_t next = automaton_->step(config.node, byte_class);
    if (next < 0) continue;
    if (begin == out.size() && to - from == 1 && automaton_->nodes[static_cast<size_t>(next)].plain()) {
      out.push_back({next, config.frame});
      return true;
    }
    todo_.push_back({next, config.frame});
  }
  return todo_.empty() || run(out, begin, complete);
}

}  // namespace brio::grammar
