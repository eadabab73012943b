#include "server/chat_prompt.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <utility>

#include "chat/tool_prompt.h"
#include "server/call_id.h"

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

// Messages as one template wants them.
class MessageWriter {
 public:
  explicit MessageWriter(const LoadedModel& model) : model_(model) {}

  json::object write(const api::Message& message) {
    json::object out;
    out["role"] = message.role;
    out["content"] = message.content.value_or("");
    if (!message.reasoning.empty()) out["reasoning_content"] = message.reasoning;
    if (!message.name.empty()) out["name"] = message.name;
    if (!message.tool_call_id.empty()) add_result_id(message, out);
    if (message.tool_calls.empty()) return out;
    if (out["content"].get_string().empty() && model_.traits.null_content) out["content"] = nullptr;
    out["tool_calls"] = calls(message.tool_calls);
    return out;
  }

 private:
  std::string id(const std::string& given) const {
    const bool mistral = model_.output.tools && model_.output.tools->name == "mistral";
    return mistral ? short_call_id(given) : given;
  }

  // Some templates show which function a result is of; clients say it by the call's id alone.
  void add_result_id(const api::Message& message, json::object& out) const {
    out["tool_call_id"] = id(message.tool_call_id);
    if (!message.name.empty()) return;
    for (const auto& [call, name] : called_) {
      if (call == message.tool_call_id) out["name"] = name;
    }
  }

  // On the wire the arguments are JSON in a string; most templates expect an object.
  json::value arguments(const std::string& text) const {
    if (model_.traits.text_arguments) return json::value(text.empty() ? "{}" : text);
    return text.empty() ? json::object() : parse_or_string(text);
  }

  json::array calls(const std::vector<api::ToolCall>& calls) {
    json::array out;
    for (const api::ToolCall& call : calls) {
      called_.emplace_back(call.id, call.name);
      out.push_back({{"id", id(call.id)},
                     {"type", "function"},
                     {"function", {{"name", call.name}, {"arguments", arguments(call.arguments_json)}}}});
    }
    return out;
  }

  const LoadedModel& model_;
  std::vector<std::pair<std::string, std::string>> called_;  // id and name of the calls so far
};

// Marks the end of the answer that is continued. Templates put text around messages and some trim them: what follows
// this mark in the rendered text is the template's own ending. No client knows the bits.
std::string end_mark() {
  std::random_device bits;
  return fmt::format("brio-{:08x}{:08x}{:08x}{:08x}", bits(), bits(), bits(), bits());
}

// Everything up to the mark, which the template has to have left whole.
Result<void> cut_at(const std::string& mark, std::vector<tokenizer::TextPiece>& pieces) {
  while (!pieces.empty()) {
    const size_t at = pieces.back().text.rfind(mark);
    if (at != std::string::npos) {
      pieces.back().text.resize(at);
      return {};
    }
    pieces.pop_back();
  }
  return error(ErrorCode::kUnsupported, "'messages' ends with an answer, which this model's template cannot continue");
}

json::object template_context(const LoadedModel& model, const api::ChatRequest& request, const std::string& mark) {
  json::object context;
  if (!request.template_kwargs_json.empty()) {
    const json::value kwargs = parse_or_string(request.template_kwargs_json);
    if (kwargs.is_object()) context = kwargs.get_object();
  }
  json::array messages;
  MessageWriter writer(model);
  for (const api::Message& message : request.messages) messages.push_back(writer.write(message));
  if (request.continue_answer) {
    json::string& answer = messages.back().get_object()["content"].get_string();
    answer.append(mark);
  }
  context["messages"] = std::move(messages);
  context["tools"] = request.tools_json.empty() ? json::value(nullptr) : parse_or_string(request.tools_json);
  context["documents"] = nullptr;
  context["add_generation_prompt"] = request.add_generation_prompt && !request.continue_answer;
  context["bos_token"] = model.bos_text;
  context["eos_token"] = model.eos_text;
  const bool described = model.output.tools && !model.traits.takes_tools && !request.tools_json.empty();
  if (described) chat::describe_tools(context);
  return context;
}

chat::ToolNames tool_names(const std::string& tools_json) {
  auto out = std::make_shared<std::vector<std::string>>();
  const json::value tools = parse_or_string(tools_json);
  for (size_t i = 0; tools.is_array() && i < tools.get_array().size(); ++i) {
    const json::value& tool = tools.get_array()[i];
    const json::value* function = tool.is_object() ? tool.get_object().if_contains("function") : nullptr;
    const json::value* name = function && function->is_object() ? function->get_object().if_contains("name") : nullptr;
    if (name && name->is_string()) out->emplace_back(name->get_string());
  }
  return out;
}

}  // namespace

Result<std::vector<tokenizer::TextPiece>> chat_text(const LoadedModel& model, const api::ChatRequest& request) {
  if (!model.chat_template) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("'model' is '{}', a base model without a chat template", model.name),
                 "It continues text on /v1/completions"};
  }
  const std::string mark = request.continue_answer ? end_mark() : std::string();
  BRIO_TRY(std::vector<tokenizer::TextPiece> pieces,
           model.chat_template->render(template_context(model, request, mark), std::chrono::system_clock::now()));
  if (request.continue_answer) BRIO_TRY_OK(cut_at(mark, pieces));
  return pieces;
}

Result<std::vector<int32_t>> chat_prompt(const LoadedModel& model, const api::ChatRequest& request) {
  BRIO_TRY(const std::vector<tokenizer::TextPiece> pieces, chat_text(model, request));
  return model.tokenizer->encode(pieces, tokenizer::AddSpecial::kNo);
}

OutputRules output_rules(const LoadedModel& model, const api::ChatRequest& request,
                         const std::vector<tokenizer::TextPiece>& prompt) {
  OutputRules out;
  out.format.reasoning = model.output.reasoning;
  out.reasoning_open = out.format.reasoning && chat::opens_reasoning(*out.format.reasoning, prompt);
  out.parallel_calls = request.parallel_tool_calls;
  if (request.tools_json.empty()) return out;
  out.format.tools = model.output.tools;
  out.offered = tool_names(request.tools_json);
  return out;
}

std::vector<int32_t> shown_tokens(const LoadedModel& model, const chat::OutputFormat& format) {
  std::vector<int32_t> out;
  for (const std::string_view marker : chat::markers(format)) {
    const std::optional<int32_t> id = model.tokenizer->find(marker);
    if (id && model.tokenizer->is_control(*id)) out.push_back(*id);
  }
  return out;
}

Result<void> check_ids(const LoadedModel& model, const std::vector<int32_t>& ids, std::string_view field) {
  for (int32_t id : ids) {
    if (id >= 0 && id < model.tokenizer->vocab_size()) continue;
    return error(ErrorCode::kInvalidArgument, "'{}' has token {}, the vocabulary ends at {}", field, id,
                 model.tokenizer->vocab_size() - 1);
  }
  return {};
}

Result<std::vector<int32_t>> completion_prompt(const LoadedModel& model, const api::Prompt& prompt,
                                               tokenizer::AddSpecial add_special) {
  std::vector<int32_t> ids;
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    BRIO_TRY(ids, model.tokenizer->encode(*text, tokenizer::Trust::kTrusted, add_special));
  } else {
    ids = std::get<std::vector<int32_t>>(prompt);
    BRIO_TRY_OK(check_ids(model, ids, "prompt"));
  }
  if (ids.empty()) return error(ErrorCode::kInvalidArgument, "'prompt' is empty");
  return ids;
}

tokenizer::AddSpecial add_special(const api::CompletionRequest& request) {
  return request.add_special_tokens ? tokenizer::AddSpecial::kYes : tokenizer::AddSpecial::kNo;
}

Result<std::vector<api::RenderedPrompt>> rendered_prompts(const LoadedModel& model, const api::Request& request) {
  std::vector<api::RenderedPrompt> out;
  if (const auto* chat = std::get_if<api::ChatRequest>(&request)) {
    BRIO_TRY(const std::vector<tokenizer::TextPiece> pieces, chat_text(model, *chat));
    BRIO_TRY(std::vector<int32_t> ids, model.tokenizer->encode(pieces, tokenizer::AddSpecial::kNo));
    out.push_back({chat::join(pieces), std::move(ids)});
    return out;
  }
  const auto& completion = std::get<api::CompletionRequest>(request);
  for (const api::Prompt& prompt : completion.prompts) {
    BRIO_TRY(std::vector<int32_t> ids, completion_prompt(model, prompt, add_special(completion)));
    const auto* text = std::get_if<std::string>(&prompt);
    out.push_back({text ? *text : model.tokenizer->decode(ids, tokenizer::RenderSpecial::kYes), std::move(ids)});
  }
  return out;
}

}  // namespace brio::server
