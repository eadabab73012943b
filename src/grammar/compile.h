// compile: what a client asks its output to look like, as something that masks tokens. Pure function of text, vocabulary
// and limits; slow (up to a second for the largest grammars), so never on the engine's thread. GrammarCache keeps results.
//
//   BRIO_TRY(auto grammar, compile({GrammarKind::kJsonSchema, schema_text}, trie));
//   Matcher matcher(grammar);                         // matcher.h
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "grammar/compiled_grammar.h"
#include "grammar/limits.h"
#include "grammar/token_trie.h"

namespace brio::grammar {

enum class GrammarKind : uint8_t { kJsonObject, kJsonSchema, kRegex, kChoice, kGbnf };

struct GrammarSpec {
  GrammarKind kind = GrammarKind::kJsonObject;
  std::string text{};                  // the schema, expression or grammar
  std::vector<std::string> choices{};  // of kChoice

  std::string key() const;  // equal for equal specs only
};

// Errors: kInvalidArgument or kUnsupported with the place (line, byte or JSON pointer) and what is wrong there.
Result<std::shared_ptr<const CompiledGrammar>> compile(const GrammarSpec& spec, std::shared_ptr<const TokenTrie> trie,
                                                       const CompileLimits& limits = {});

// The compiled grammars of one vocabulary, least recently used ones dropped. Any thread; compiles outside its lock, so two
// threads that miss at the same time both compile.
class GrammarCache {
 public:
  explicit GrammarCache(std::shared_ptr<const TokenTrie> trie, size_t max_entries = 64)
      : trie_(std::move(trie)), max_entries_(max_entries) {}

  Result<std::shared_ptr<const CompiledGrammar>> get(const GrammarSpec& spec);
  size_t size() const;

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const CompiledGrammar>>;
  std::shared_ptr<const TokenTrie> trie_;
  size_t max_entries_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

}  // namespace brio::grammar
