// CompiledGrammar: an automaton, the vocabulary it constrains and what masks share. Logically immutable and made to be
// shared between sequences and requests; the caches inside are guarded by a mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/local_mask.h"
#include "grammar/token_trie.h"

namespace brio::grammar {

class CompiledGrammar {
 public:
  CompiledGrammar(Automaton automaton, std::shared_ptr<const TokenTrie> trie)
      : automaton_(std::move(automaton)), trie_(std::move(trie)) {}

  const Automaton& automaton() const { return automaton_; }
  const TokenTrie& trie() const { return *trie_; }
  size_t size_bytes() const;  // the automaton, and at most what the caches may grow to

  // What masks are made of; computed at the first call for a node.
  std::shared_ptr<const LocalMask> local(int32_t node) const;
  // Whole masks by the state they belong to (Matcher's key), for those that cost more than their lookup.
  using Words = std::vector<uint64_t>;
  std::shared_ptr<const Words> find(const std::string& key) const;
  void keep(std::string key, std::shared_ptr<const Words> words) const;
  // Computes what most texts need, so that no step waits for it: the nodes where many bytes may follow.
  void warm() const;

 private:
  static constexpr size_t kMaxLocalBytes = size_t{32} << 20;
  static constexpr size_t kMaxMasks = 256;
  static constexpr int kMaxWarm = 32;
  static constexpr int kWide = 24;  // bytes: letters, but not digits
  static constexpr size_t kMaxShared = 64;

  const Automaton automaton_;
  const std::shared_ptr<const TokenTrie> trie_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<int32_t, std::shared_ptr<const LocalMask>> local_;
  mutable size_t local_bytes_ = 0;
  mutable std::vector<std::shared_ptr<const LocalMask>> shared_;  // the last that others may look like
  mutable std::unordered_map<std::string, std::shared_ptr<const Words>> masks_;
};

}  // namespace brio::grammar
