#include "grammar/compile.h"

#include <utility>

#include "grammar/automaton_builder.h"
#include "grammar/gbnf.h"
#include "grammar/json_schema.h"
#include "grammar/matcher.h"
#include "grammar/regex.h"
#include "tokenizer/utf8.h"

namespace brio::grammar {
namespace {

Result<void> check_text(std::string_view what, std::string_view text, const CompileLimits& limits) {
  if (text.size() > limits.max_text_bytes) {
    return error(ErrorCode::kInvalidArgument, "{} has {} bytes; the most is {}", what, text.size(),
                 limits.max_text_bytes);
  }
  if (!tokenizer::is_valid_utf8(text)) return error(ErrorCode::kInvalidArgument, "{} is not valid UTF-8", what);
  return {};
}

Result<void> parse_whole_regex(Rules& rules, std::string_view text, const CompileLimits& limits) {
  RegexOptions options;
  options.place = "regex";
  options.encode = [&](const CharSet& set) { return rules.chars(set); };
  options.max_depth = limits.max_depth;
  const RuleId root = rules.add_rule("regex");
  BRIO_TRY(const ExprId body, parse_regex(rules, text, options));
  rules.set_body(root, body);
  rules.set_root(root);
  return {};
}

Result<void> parse_choices(Rules& rules, const std::vector<std::string>& choices, const CompileLimits& limits) {
  if (choices.empty()) return error(ErrorCode::kInvalidArgument, "the list of choices is empty");
  std::string all;
  std::vector<ExprId> parts;
  for (const std::string& choice : choices) {
    if (choice.empty()) return error(ErrorCode::kInvalidArgument, "one of the choices is an empty string");
    all += choice;
    BRIO_TRY_OK(check_text("the list of choices", all, limits));
    parts.push_back(rules.literal(choice));
  }
  const RuleId root = rules.add_rule("the list of choices");
  rules.set_body(root, rules.choice(std::move(parts)));
  rules.set_root(root);
  return {};
}

Result<void> parse(Rules& rules, const GrammarSpec& spec, const CompileLimits& limits) {
  switch (spec.kind) {
    case GrammarKind::kJsonObject:
      set_json_object(rules);
      return {};
    case GrammarKind::kJsonSchema:
      BRIO_TRY_OK(check_text("schema", spec.text, limits));
      return parse_json_schema(rules, spec.text, limits);
    case GrammarKind::kRegex:
      BRIO_TRY_OK(check_text("regex", spec.text, limits));
      return parse_whole_regex(rules, spec.text, limits);
    case GrammarKind::kChoice:
      return parse_choices(rules, spec.choices, limits);
    case GrammarKind::kGbnf:
      BRIO_TRY_OK(check_text("grammar", spec.text, limits));
      return parse_gbnf(rules, spec.text, limits);
  }
  return error(ErrorCode::kInternal, "an unknown kind of grammar");
}

}  // namespace

std::string GrammarSpec::key() const {
  std::string key = fmt::format("{}:{}:{}", static_cast<int>(kind), text.size(), text);
  for (const std::string& choice : choices) key += fmt::format(":{}:{}", choice.size(), choice);
  return key;
}

Result<std::shared_ptr<const CompiledGrammar>> compile(const GrammarSpec& spec, std::shared_ptr<const TokenTrie> trie,
                                                       const CompileLimits& limits) {
  Rules rules;
  BRIO_TRY_OK(parse(rules, spec, limits));
  BRIO_TRY(Automaton automaton, build_automaton(rules, limits));
  auto grammar = std::make_shared<const CompiledGrammar>(std::move(automaton), std::move(trie));
  grammar->warm();
  const Matcher start(grammar);
  std::vector<uint64_t> words(start.num_words());
  BRIO_TRY_OK(start.mask(words));
  if (!start.is_complete() && !start.can_go_on()) {
    return error(ErrorCode::kInvalidArgument, "the grammar is too ambiguous: more than {} ways to begin", kMaxConfigs);
  }
  return grammar;
}

Result<std::shared_ptr<const CompiledGrammar>> GrammarCache::get(const GrammarSpec& spec) {
  std::string key = spec.key();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->second;
    }
  }
  BRIO_TRY(std::shared_ptr<const CompiledGrammar> grammar, compile(spec, trie_));
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(key); found != index_.end()) return found->second->second;
  entries_.emplace_front(key, grammar);
  index_[std::move(key)] = entries_.begin();
  if (entries_.size() > max_entries_) {
    index_.erase(entries_.back().first);
    entries_.pop_back();
  }
  return grammar;
}

size_t GrammarCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace brio::grammar
