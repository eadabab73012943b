// OutputGrammars: what requests ask their output to look like, compiled for one model's vocabulary and kept for the next
// request that asks the same. Owned by LocalBackend; any thread but the engine's, since compiling takes its time.
#pragma once

#include <memory>
#include <mutex>

#include "api/request.h"
#include "base/result.h"
#include "grammar/compile.h"
#include "tokenizer/tokenizer.h"

namespace brio::server {

class OutputGrammars {
 public:
  explicit OutputGrammars(const tokenizer::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // Errors: the grammar's own, behind the name of the request's field.
  Result<std::shared_ptr<const grammar::CompiledGrammar>> get(const api::OutputFormat& format);

 private:
  const tokenizer::Tokenizer& tokenizer_;
  std::once_flag made_;  // the trie of the vocabulary, when the first request needs it
  std::unique_ptr<grammar::GrammarCache> cache_;
};

}  // namespace brio::server
