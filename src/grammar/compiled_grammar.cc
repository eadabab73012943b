#include "grammar/compiled_grammar.h"

namespace brio::grammar {

size_t CompiledGrammar::size_bytes() const {
  return automaton_.next.size() * sizeof(int32_t) + automaton_.nodes.size() * sizeof(Automaton::Node) +
         automaton_.calls.size() * sizeof(Automaton::Call) + kMaxLocalBytes +
         kMaxMasks * trie_->num_words() * sizeof(uint64_t);
}

std::shared_ptr<const LocalMask> CompiledGrammar::local(int32_t node) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = local_.find(node); found != local_.end()) return found->second;
    for (const auto& other : shared_) {
      if (looks_alike(automaton_, other->visited, node)) return local_.emplace(node, other).first->second;
    }
  }
  auto made = std::make_shared<const LocalMask>(make_local_mask(automaton_, *trie_, node));
  const std::lock_guard lock(mutex_);
  if (local_bytes_ > kMaxLocalBytes) {
    local_.clear();
    shared_.clear();
    local_bytes_ = 0;
  }
  local_bytes_ += made->size_bytes();
  local_.emplace(node, made);
  if (!made->visited.empty()) {
    if (shared_.size() == kMaxShared) shared_.erase(shared_.begin());
    shared_.push_back(made);
  }
  return made;
}

std::shared_ptr<const CompiledGrammar::Words> CompiledGrammar::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = masks_.find(key);
  return found == masks_.end() ? nullptr : found->second;
}

void CompiledGrammar::keep(std::string key, std::shared_ptr<const Words> words) const {
  const std::lock_guard lock(mutex_);
  if (masks_.size() >= kMaxMasks) masks_.clear();
  masks_.emplace(std::move(key), std::move(words));
}

void CompiledGrammar::warm() const {
  int warmed = 0;
  for (size_t i = 0; i < automaton_.nodes.size() && warmed < kMaxWarm; ++i) {
    int leading_on = 0;
    for (const uint8_t c : automaton_.class_of) leading_on += automaton_.step(static_cast<int32_t>(i), c) >= 0 ? 1 : 0;
    if (leading_on < kWide) continue;
    local(static_cast<int32_t>(i));
    ++warmed;
  }
}

}  // namespace brio::grammar
