#include "server/output_grammars.h"

#include <utility>

namespace brio::server {
namespace {

grammar::GrammarKind kind_of(api::OutputFormat::Kind kind) {
  switch (kind) {
    case api::OutputFormat::Kind::kJsonObject:
      return grammar::GrammarKind::kJsonObject;
    case api::OutputFormat::Kind::kJsonSchema:
      return grammar::GrammarKind::kJsonSchema;
    case api::OutputFormat::Kind::kRegex:
      return grammar::GrammarKind::kRegex;
    case api::OutputFormat::Kind::kChoice:
      return grammar::GrammarKind::kChoice;
    case api::OutputFormat::Kind::kGrammar:
      break;
  }
  return grammar::GrammarKind::kGbnf;
}

}  // namespace

Result<std::shared_ptr<const grammar::CompiledGrammar>> OutputGrammars::get(const api::OutputFormat& format) {
  std::call_once(made_,
                 [&] { cache_ = std::make_unique<grammar::GrammarCache>(grammar::TokenTrie::create(tokenizer_)); });
  auto grammar = cache_->get({kind_of(format.kind), format.text, format.choices});
  if (grammar.ok()) return grammar;
  Error refused = grammar.error();
  refused.message = fmt::format("'{}' cannot be followed: {}", format.field, refused.message);
  return refused;
}

}  // namespace brio::server
