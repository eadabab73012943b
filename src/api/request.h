// Native requests: what a client asks for, whatever dialect it spoke. Made by the wire parsers, read by backends.
// Plain data; JSON that only templates and models interpret stays JSON text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"

namespace brio::api {

struct Sampling {
  float temperature = 1.0F;  // 0: greedy
  int top_k = 0;             // 0: off
  float top_p = 1.0F;
  float min_p = 0.0F;
  float repetition_penalty = 1.0F;  // over prompt and output
  float frequency_penalty = 0.0F;   // over output
  float presence_penalty = 0.0F;    // over output
  std::vector<std::pair<int32_t, float>> logit_bias;
  std::optional<uint64_t> seed;  // absent: fresh entropy
};

// What the output has to look like, as a whole.
struct OutputFormat {
  enum class Kind : uint8_t { kJsonObject, kJsonSchema, kRegex, kChoice, kGrammar };
  Kind kind = Kind::kJsonObject;
  std::string text;                  // the JSON schema, regular expression or GBNF grammar
  std::vector<std::string> choices;  // of kChoice
  std::string field;                 // that said so, for errors
};

// What every generating request has, chat or plain.
struct Generation {
  std::string model;
  Sampling sampling;
  int n = 1;                      // choices per prompt
  std::optional<int> max_tokens;  // absent: to the end of the context
  bool cut_to_context = false;    // max_tokens beyond the context means its end instead of an error
  std::vector<std::string> stop;  // never part of the output
  std::vector<int32_t> stop_token_ids;
  bool ignore_eos = false;
  std::optional<OutputFormat> format;
  int min_tokens = 0;     // until then nothing but a stop string ends a choice
  int top_logprobs = -1;  // -1: no logprobs; 0: of the chosen token only; k: and of the k likeliest
  TimePoint arrival{};    // of the client's request; zero: now
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments_json;  // as the client sent it: a JSON object in a string
};

struct Message {
  std::string role;                    // system, user, assistant, tool ("developer" is read as system)
  std::optional<std::string> content;  // text parts are joined; absent where the client sent null
  std::string reasoning;               // reasoning_content handed back
  std::string name;
  std::string tool_call_id;
  std::vector<ToolCall> tool_calls;
};

struct ChatRequest {
  Generation generation;
  std::vector<Message> messages;     // at least one
  std::string tools_json;            // a JSON array, or empty
  std::string template_kwargs_json;  // a JSON object, or empty: more variables for the template
  bool add_generation_prompt = true;
  bool parallel_tool_calls = true;  // false: of the calls of an answer the first alone counts
  bool continue_answer = false;     // the last message is an assistant's: the answer goes on where it ends
};

using Prompt = std::variant<std::string, std::vector<int32_t>>;  // text, or token ids

struct CompletionRequest {
  Generation generation;
  std::vector<Prompt> prompts;     // at least one; choice index = prompt index * n + choice
  bool add_special_tokens = true;  // around text prompts, as the vocabulary asks: a begin token, say
  bool echo = false;               // the prompt's text (and logprobs, where asked for) comes before each answer
};

using Request = std::variant<ChatRequest, CompletionRequest>;

// How many choices the answer has, over all prompts.
inline int num_choices(const Request& request) {
  const auto* completion = std::get_if<CompletionRequest>(&request);
  if (!completion) return std::get<ChatRequest>(request).generation.n;
  return completion->generation.n * static_cast<int>(completion->prompts.size());
}

inline Generation& generation(Request& request) {
  return std::visit([](auto& kind) -> Generation& { return kind.generation; }, request);
}
inline const Generation& generation(const Request& request) {
  return std::visit([](const auto& kind) -> const Generation& { return kind.generation; }, request);
}

}  // namespace brio::api
