// grammar_check: compiles grammars and walks texts through their masks, for tests/grammar/*.py. One JSON object a line in,
// one out. Not installed.
//
//   {"kind": "json_schema" | "json_object" | "regex" | "choice" | "gbnf", "text": "...", "choices": [...], "seed": 1,
//    "texts": ["..."], "samples": 3, "max_tokens": 200}
//   -> {"error": "...", "code": "..."} or {"results": ["ok" | "open" | "blocked at 3"], "samples": ["..."]}
//
// A text is cut into tokens at random; "ok": each was in the mask, the end token too; "open": only the end was not. Each
// check also asks that a token is in the mask exactly where accept() takes it, for a few tokens at random. Samples are
// random walks over the masks that ended; a walk that finds an empty mask is an error.
//
//   grammar_check --bench VOCABULARY < lines     processor time of masks; the file has a token's bytes in hexadecimal on each line, an
//                                               empty one for what is never allowed; texts are cut into longest tokens
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/rng.h"
#include "grammar/compile.h"
#include "grammar/matcher.h"
#include "tokenizer/utf8.h"

namespace {

using namespace brio;
namespace json = boost::json;

std::string to_text(const json::string& text) {
  return {text.data(), text.size()};
}

// All bytes, and pieces that cross the borders of JSON's tokens and of characters.
std::vector<std::string> piece_vocabulary() {
  std::vector<std::string> out(1);  // token 0 ends
  for (int byte = 0; byte < 256; ++byte) out.push_back(std::string(1, static_cast<char>(byte)));
  for (const char* piece : {"{\"",       "\":",      "\": ",   "\",",      "\", \"",
                            "\",\"",     "\"}",      "},{",    "}, {",     "[[",
                            "]]",        "\"]",      "[\"",    "\": \"",   "\":\"",
                            "\":[",      "\": {",    "null",   "true",     "false",
                            "tr",        "ue",       "al",     "se",       ", ",
                            ",\n",       "\n  ",     "\n    ", "    ",     "{}",
                            "[]",        "}}",       "\"\"",   "ab",       "abc",
                            "foo",       "bar",      "baz",    "qu",       "the",
                            " a",        " the",     "er",     "10",       "100",
                            "00",        "123",      "-1",     ".0",       ".5",
                            "e-",        "1e",       "0.",     "20",       "2024",
                            "-0",        "\\u",      "\\u00",  "\\\"",     "\\n",
                            "\\\\",      "\xC3\xA9", "\xC3",   "\xE4\xB8", "\xE4\xB8\xAD\xE6",
                            "\xF0\x9F",  "\x98\x80", "a\xC3",  "\"a\"",    "\"foo\"",
                            "\"bar\": ", "foo\": ",  "o\"",    "\"x",      "x\":",
                            ":1",        ": 1",      "1,",     "1}",       "1]",
                            "1, ",       "\"}]",     "]}",     "}]"}) {
    out.emplace_back(piece);
  }
  return out;
}

grammar::GrammarSpec read_spec(const json::object& in) {
  grammar::GrammarSpec spec;
  const std::string kind = to_text(in.at("kind").as_string());
  spec.kind = kind == "json_schema"   ? grammar::GrammarKind::kJsonSchema
              : kind == "json_object" ? grammar::GrammarKind::kJsonObject
              : kind == "regex"       ? grammar::GrammarKind::kRegex
              : kind == "choice"      ? grammar::GrammarKind::kChoice
                                      : grammar::GrammarKind::kGbnf;
  if (const json::value* text = in.if_contains("text")) spec.text = to_text(text->as_string());
  if (const json::value* choices = in.if_contains("choices")) {
    for (const json::value& choice : choices->as_array()) spec.choices.push_back(to_text(choice.as_string()));
  }
  return spec;
}

bool has(const std::vector<uint64_t>& words, int32_t token) {
  return (words[static_cast<size_t>(token) >> 6] >> (token & 63) & 1) != 0;
}

class Checker {
 public:
  Checker(std::shared_ptr<const grammar::TokenTrie> trie, uint64_t seed) : trie_(std::move(trie)), rng_(seed) {}

  std::string problem;

  std::string walk(const std::shared_ptr<const grammar::CompiledGrammar>& compiled, const std::string& text) {
    grammar::Matcher matcher(compiled);
    for (size_t at = 0; at < text.size();) {
      const std::vector<uint64_t> words = mask(matcher);
      const int32_t token = cut(text, at);
      const bool allowed = has(words, token);
      if (matcher.accept(token) != allowed) problem = fmt::format("mask and accept differ at byte {}", at);
      if (!allowed) return fmt::format("blocked at {}", at);
      at += trie_->bytes(token).size();
    }
    return has(mask(matcher), trie_->ends()[0]) ? "ok" : "open";
  }

  std::string sample(const std::shared_ptr<const grammar::CompiledGrammar>& compiled, int max_tokens) {
    grammar::Matcher matcher(compiled);
    std::string text;
    for (int i = 0; i < max_tokens; ++i) {
      const std::vector<uint64_t> words = mask(matcher);
      std::vector<int32_t> allowed;
      for (int32_t id = 0; id < trie_->vocab_size(); ++id) {
        if (has(words, id)) allowed.push_back(id);
      }
      if (allowed.empty()) {
        problem = "an empty mask after " + text;
        return {};
      }
      const bool end = has(words, trie_->ends()[0]) && (rng_.below(4) == 0 || i + 20 > max_tokens);
      const int32_t token = end ? trie_->ends()[0] : pick(allowed);
      if (!matcher.accept(token)) problem = "a token of the mask is not accepted after " + text;
      if (matcher.is_ended()) return "+" + text;
      text += trie_->bytes(token);
    }
    return {};
  }

 private:
  std::vector<uint64_t> mask(const grammar::Matcher& matcher) {
    std::vector<uint64_t> words(matcher.num_words());
    if (const Result<void> made = matcher.mask(words); !made.ok()) problem = made.error().message;
    for (int i = 0; i < 3; ++i) {
      const auto token = static_cast<int32_t>(rng_.below(static_cast<uint32_t>(trie_->vocab_size())));
      grammar::Matcher copy = matcher;
      if (copy.accept(token) != has(words, token)) problem = fmt::format("mask and accept differ for token {}", token);
    }
    return words;
  }

  int32_t cut(const std::string& text, size_t at) {
    std::vector<int32_t> fitting;
    for (int32_t id = 1; id < trie_->vocab_size(); ++id) {
      if (text.compare(at, trie_->bytes(id).size(), trie_->bytes(id)) == 0) fitting.push_back(id);
    }
    return fitting[rng_.below(static_cast<uint32_t>(fitting.size()))];
  }

  // Closing brackets and quotes more often: random texts would rarely end.
  int32_t pick(const std::vector<int32_t>& allowed) {
    if (rng_.below(3) == 0) {
      std::vector<int32_t> closing;
      for (const int32_t id : allowed) {
        if (trie_->bytes(id).find_first_of("\"]}") != std::string::npos) closing.push_back(id);
      }
      if (!closing.empty()) return closing[rng_.below(static_cast<uint32_t>(closing.size()))];
    }
    return allowed[rng_.below(static_cast<uint32_t>(allowed.size()))];
  }

  std::shared_ptr<const grammar::TokenTrie> trie_;
  Rng rng_;
};

json::object check(const json::object& in, const std::shared_ptr<const grammar::TokenTrie>& trie) {
  const auto compiled = grammar::compile(read_spec(in), trie);
  if (!compiled.ok()) {
    return {{"error", compiled.error().message}, {"code", std::string(name(compiled.error().code))}};
  }
  const auto number = [&](const char* key, int64_t absent) {
    const json::value* value = in.if_contains(key);
    return value ? value->to_number<int64_t>() : absent;
  };
  Checker checker(trie, static_cast<uint64_t>(number("seed", 1)));
  json::array results, samples;
  if (const json::value* texts = in.if_contains("texts")) {
    for (const json::value& text : texts->as_array()) {
      results.emplace_back(checker.walk(*compiled, to_text(text.as_string())));
    }
  }
  for (int64_t i = 0; i < number("samples", 0); ++i) {
    const std::string text = checker.sample(*compiled, static_cast<int>(number("max_tokens", 200)));
    if (text.empty()) continue;
    samples.emplace_back(tokenizer::is_valid_utf8(text) ? text.substr(1) : "not UTF-8");
  }
  json::object out{{"results", std::move(results)}, {"samples", std::move(samples)}};
  if (!checker.problem.empty()) out["problem"] = checker.problem;
  return out;
}

int bench(const char* path) {
  std::vector<std::string> tokens;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::string& token = tokens.emplace_back();
    for (size_t i = 0; i + 1 < line.size(); i += 2)
      token += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
  }
  std::unordered_map<std::string, int32_t> ids_of;
  size_t longest = 0;
  for (size_t id = 0; id < tokens.size(); ++id) {
    ids_of.emplace(tokens[id], static_cast<int32_t>(id));
    longest = std::max(longest, tokens[id].size());
  }
  tokens.emplace_back();
  const auto end = static_cast<int32_t>(tokens.size() - 1);
  const auto encode = [&](const std::string& text) {
    std::vector<int32_t> ids;
    for (size_t at = 0; at < text.size();) {
      size_t length = std::min(longest, text.size() - at);
      while (length > 1 && !ids_of.contains(text.substr(at, length))) --length;
      ids.push_back(ids_of[text.substr(at, length)]);
      at += length;
    }
    ids.push_back(end);
    return ids;
  };
  const auto now = [] {  // of this thread's processor time: others may be using the machine
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
  };
  auto begin = now();
  const auto trie = std::make_shared<const grammar::TokenTrie>(std::move(tokens), std::vector<int32_t>{end});
  std::printf("vocabulary %d, trie of %u nodes in %.0f us\n", trie->vocab_size(), trie->size(), now() - begin);
  std::vector<double> all;
  const auto print = [](const char* what, std::vector<double> times) {
    std::sort(times.begin(), times.end());
    if (times.empty()) return;
    double sum = 0;
    for (const double t : times) sum += t;
    std::printf("  %s: %zu masks, median %.1f us, p99 %.1f us, max %.1f us, mean %.1f us\n", what, times.size(),
                times[times.size() / 2], times[std::min(times.size() - 1, times.size() * 99 / 100)], times.back(),
                sum / static_cast<double>(times.size()));
  };
  for (std::string line; std::getline(std::cin, line);) {
    const json::value value = json::parse(line);
    const json::object& in = value.as_object();
    begin = now();
    const auto compiled = grammar::compile(read_spec(in), trie);
    const double compile_us = now() - begin;
    if (!compiled.ok()) {
      std::printf("%s\n", compiled.error().message.c_str());
      continue;
    }
    std::printf("%s: %d nodes, %d classes, compiled in %.0f us\n",
                in.contains("name") ? to_text(in.at("name").as_string()).c_str() : "?",
                static_cast<int>((*compiled)->automaton().nodes.size()), (*compiled)->automaton().num_classes,
                compile_us);
    std::vector<double> times;
    for (const json::value& text : in.at("texts").as_array()) {
      const std::vector<int32_t> ids = encode(to_text(text.as_string()));
      grammar::Matcher matcher(*compiled);
      std::vector<uint64_t> words(matcher.num_words());
      for (const int32_t id : ids) {
        begin = now();
        const Result<void> made = matcher.mask(words);
        const double taken = now() - begin;
        times.push_back(taken);
        if (!made.ok() || !has(words, id) || !matcher.accept(id)) {
          std::printf("  blocked at token '%s'\n", trie->bytes(id).c_str());
          break;
        }
      }
    }
    print("first visits included", times);
    all.insert(all.end(), times.begin(), times.end());
  }
  print("all", all);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--bench") == 0) return bench(argv[2]);
  const auto trie = std::make_shared<const grammar::TokenTrie>(piece_vocabulary(), std::vector<int32_t>{0});
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << json::serialize(check(json::parse(line).as_object(), trie)) << "\n" << std::flush;
  }
}
