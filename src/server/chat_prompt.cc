#include "server/chat_prompt.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>

namespace brio::server {
namespace {

namespace json = boost::json;

// Text that api has checked or made; should it not parse after all, templates see it as a string.
json::value parse_or_string(const std::string& text) {
  json::parse_options options;
  options.max_depth = 128;
  json::error_code failure;
  json::value value = json::parse(text, failure, {}, options);
  return failure ? json::value(text) : value;
}

json::array tool_calls(const std::vector<api::ToolCall>& calls) {
  json::array out;
  for (const api::ToolCall& call : calls) {
    // Templates expect the arguments as an object, on the wire they are JSON in a string.
    out.push_back({{"id", call.id},
                   {"type", "function"},
                   {"function", {{"name", call.name}, {"arguments", parse_or_string(call.arguments_json)}}}});
  }
  return out;
}

json::object to_json(const api::Message& message) {
  json::object out;
  out["role"] = message.role;
  out["content"] = message.content.value_or("");
  if (!message.reasoning.empty()) out["reasoning_content"] = message.reasoning;
  if (!message.name.empty()) out["name"] = message.name;
  if (!message.tool_call_id.empty()) out["tool_call_id"] = message.tool_call_id;
  if (!message.tool_calls.empty()) out["tool_calls"] = tool_calls(message.tool_calls);
  return out;
}

json::object template_context(const LoadedModel& model, const api::ChatRequest& request) {
  json::object context;
  if (!request.template_kwargs_json.empty()) {
    const json::value kwargs = parse_or_string(request.template_kwargs_json);
    if (kwargs.is_object()) context = kwargs.get_object();
  }
  json::array messages;
  for (const api::Message& message : request.messages) messages.push_back(to_json(message));
  context["messages"] = std::move(messages);
  context["tools"] = request.tools_json.empty() ? json::value(nullptr) : parse_or_string(request.tools_json);
  context["documents"] = nullptr;
  context["add_generation_prompt"] = request.add_generation_prompt;
  context["bos_token"] = model.bos_text;
  context["eos_token"] = model.eos_text;
  return context;
}

}  // namespace

Result<std::vector<int32_t>> chat_prompt(const LoadedModel& model, const api::ChatRequest& request) {
  if (!model.chat_template) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("'model' is '{}', a base model without a chat template", model.name),
                 "It continues text on /v1/completions"};
  }
  BRIO_TRY(const std::vector<tokenizer::TextPiece> pieces,
           model.chat_template->render(template_context(model, request), std::chrono::system_clock::now()));
  return model.tokenizer->encode(pieces, tokenizer::AddSpecial::kNo);
}

Result<std::vector<int32_t>> completion_prompt(const LoadedModel& model, const api::Prompt& prompt) {
  std::vector<int32_t> ids;
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    BRIO_TRY(ids, model.tokenizer->encode(*text, tokenizer::Trust::kTrusted, tokenizer::AddSpecial::kYes));
  } else {
    ids = std::get<std::vector<int32_t>>(prompt);
    for (int32_t id : ids) {
      if (id < 0 || id >= model.tokenizer->vocab_size()) {
        return error(ErrorCode::kInvalidArgument, "'prompt' has token {}, the vocabulary ends at {}", id,
                     model.tokenizer->vocab_size() - 1);
      }
    }
  }
  if (ids.empty()) return error(ErrorCode::kInvalidArgument, "'prompt' is empty");
  return ids;
}

}  // namespace brio::server
