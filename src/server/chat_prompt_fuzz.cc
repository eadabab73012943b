// libFuzzer: the body of a chat request, all the way to the ids of its prompt. Whatever clients write into messages,
// tools and template variables, the control tokens of the prompt are those that the template itself wrote; and with a
// plain template the ids are, one by one, those of a prompt put together here by hand.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "api/openai_request.h"
#include "server/chat_prompt.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"

namespace {

using namespace brio;

// Token b is the byte b; no merges that text could use, so that ids can be told from text by hand.
enum : int32_t { kBegin = 256, kEnd, kStartOfTurn, kEndOfTurn, kToolCall };
constexpr std::string_view kSpellings[] = {"<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|tool_call|>"};

// ChatML without anything around it.
constexpr std::string_view kPlain =
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

// What real templates do to the text of clients: cut, strip, join, replace, dump as JSON, pass through macros.
constexpr std::string_view kBusy = R"({{- bos_token -}}
{%- macro shown(text) -%}{{ text | trim }}{%- endmacro -%}
{%- if tools -%}<|im_start|>system
{{ tools | tojson(indent=2) }}{% for tool in tools %}{{ tool.function.name | upper if tool.function is defined }}{% endfor %}<|im_end|>{% endif -%}
{%- for key, value in kwargs_seen | default({}) | dictsort %}{{ key ~ '=' ~ value }}{% endfor -%}
{{- note | default('') | string | replace('a', '<|') -}}
{%- for message in messages -%}
{{ '<|im_start|>' + message.role + ((' ' + message['name']) if message.name else '') + '\n' }}
{%- set parts = message.content.split('</think>') -%}
{{ shown(parts[-1]) }}{{ message.content[1:-1] }}{{ message.content | reverse | title }}{{ parts | join('<') }}
{%- for call in message.tool_calls or [] -%}<|tool_call|>{{ call.function.name }}({{ call.function.arguments | tojson }}){{ call.function.arguments }}{%- endfor -%}
{{ '%s %r' | format(message.reasoning_content, message) }}{{ '<|im_end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%})";

server::LoadedModel model_of(std::string_view source) {
  tokenizer::TokenizerSpec spec;
  spec.model = "gpt2";
  spec.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    spec.tokens.push_back(tokenizer::spelling_of_bytes(std::string(1, static_cast<char>(byte))));
  }
  for (const std::string_view spelling : kSpellings) spec.tokens.emplace_back(spelling);
  spec.tokens.push_back(tokenizer::spelling_of_bytes("\xFE\xFF"));
  spec.merges.push_back(tokenizer::spelling_of_bytes("\xFE") + " " + tokenizer::spelling_of_bytes("\xFF"));
  spec.types.assign(spec.tokens.size(), tokenizer::TokenType::kNormal);
  for (size_t i = 0; i < std::size(kSpellings); ++i) spec.types[kBegin + i] = tokenizer::TokenType::kControl;
  spec.bos = kBegin;
  spec.eos = kEnd;
  server::LoadedModel model;
  model.name = "fuzz";
  model.tokenizer = tokenizer::Tokenizer::create(std::move(spec)).value();
  model.chat_template = chat::Template::parse(source).value();
  model.bos_text = kSpellings[0];
  model.eos_text = kSpellings[1];
  return model;
}

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

void add_text(std::vector<int32_t>& ids, std::string_view text) {
  for (const char c : text) ids.push_back(static_cast<uint8_t>(c));
}

void check_plain(const api::ChatRequest& request) {
  static const server::LoadedModel model = model_of(kPlain);
  const auto ids = server::chat_prompt(model, request);
  require(ids.ok());
  std::vector<int32_t> expected;
  for (const api::Message& message : request.messages) {
    expected.push_back(kStartOfTurn);
    add_text(expected, message.role + "\n" + message.content.value_or(""));
    expected.push_back(kEndOfTurn);
    add_text(expected, "\n");
  }
  if (request.continue_answer) {  // without the end of its turn and the line break
    expected.resize(expected.size() - 2);
  } else if (request.add_generation_prompt) {
    expected.push_back(kStartOfTurn);
    add_text(expected, "assistant\n");
  }
  require(*ids == expected);
}

void check_busy(const api::ChatRequest& request) {
  static const server::LoadedModel model = model_of(kBusy);
  const auto ids = server::chat_prompt(model, request);
  if (!ids.ok()) {  // refusing is fine, in words that can be sent
    require(ids.error().code == ErrorCode::kInvalidArgument ||
            (request.continue_answer && ids.error().code == ErrorCode::kUnsupported));
    return;
  }
  std::vector<int32_t> controls;
  for (const int32_t id : *ids) {
    if (model.tokenizer->is_control(id)) controls.push_back(id);
  }
  std::vector<int32_t> expected{kBegin};
  if (!request.tools_json.empty()) expected.insert(expected.end(), {kStartOfTurn, kEndOfTurn});
  for (const api::Message& message : request.messages) {
    expected.push_back(kStartOfTurn);
    expected.insert(expected.end(), message.tool_calls.size(), kToolCall);
    expected.push_back(kEndOfTurn);
  }
  if (request.continue_answer) {
    expected.pop_back();
  } else if (request.add_generation_prompt) {
    expected.push_back(kStartOfTurn);
  }
  require(controls == expected);
  require(tokenizer::is_valid_utf8(model.tokenizer->decode(*ids, tokenizer::RenderSpecial::kYes)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = api::parse_openai_chat({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) return 0;
  const auto& request = std::get<api::ChatRequest>(parsed->request);
  check_plain(request);
  check_busy(request);
  return 0;
}
