#include "api/ollama_request.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "api/openai_tools.h"
#include "api/request_fields.h"

namespace brio::api {
namespace {

namespace json = boost::json;

// "name:latest" is how Ollama spells a name without a tag.
void read_model(JsonFields& fields, std::string_view field, std::string& out) {
  constexpr std::string_view kLatest = ":latest";
  fields.text(field, out);
  if (out.ends_with(kLatest)) out.resize(out.size() - kLatest.size());
}

void refuse_images(JsonFields& fields, const std::string& model) {
  const json::value* images = fields.find("images");
  if (!images) return;
  if (!images->is_array()) return fields.fail("images", "has to be a list");
  if (!images->get_array().empty()) {
    fields.unsupported("images",
                       fmt::format("has {}, but model '{}' reads text only", images->get_array().size(), model));
  }
}

// Samplers that would change the answer and are not here.
void refuse_samplers(JsonFields& options) {
  float mirostat = 0.0F;
  float typical_p = 1.0F;
  float tfs_z = 1.0F;
  options.number("mirostat", 0.0, 2.0, mirostat);
  options.number("typical_p", 0.0, 1.0, typical_p);
  options.number("tfs_z", 0.0, 1e6, tfs_z);
  if (mirostat != 0.0F) options.unsupported("mirostat", "is not supported: leave it at 0");
  if (typical_p != 0.0F && typical_p < 1.0F) options.unsupported("typical_p", "is not supported: leave it at 1");
  if (tfs_z != 0.0F && tfs_z != 1.0F) options.unsupported("tfs_z", "is not supported: leave it at 1");
}

void read_options(JsonFields& fields, Generation& out) {
  Sampling& sampling = out.sampling;
  sampling.temperature = 0.8F;
  sampling.top_k = 40;
  sampling.top_p = 0.9F;
  out.cut_to_context = true;
  const json::value* value = fields.find("options");
  if (!value) return;
  if (!value->is_object()) return fields.fail("options", "has to be an object");
  JsonFields options(value->get_object(), "options");
  options.number("temperature", 0.0, 2.0, sampling.temperature);
  options.integer("top_k", -1, kMaxToken, sampling.top_k);
  sampling.top_k = std::max(sampling.top_k, 0);
  read_top_p(options, sampling.top_p);
  options.number("min_p", 0.0, 1.0, sampling.min_p);
  options.number("repeat_penalty", 0.01, 100.0, sampling.repetition_penalty);
  options.number("frequency_penalty", -2.0, 2.0, sampling.frequency_penalty);
  options.number("presence_penalty", -2.0, 2.0, sampling.presence_penalty);
  int64_t seed = -1;
  const json::value* given = options.find("seed");
  if (given && JsonFields::as_integer(*given)) seed = *JsonFields::as_integer(*given);
  if (given && !given->is_number()) options.fail("seed", "has to be a whole number");
  if (seed >= 0) sampling.seed = static_cast<uint64_t>(seed);  // below: a random one
  int most = -1;
  options.integer("num_predict", -2, kMaxToken, most);
  if (most > 0) out.max_tokens = most;  // else: to the end of the context
  int context = 0;
  options.integer("num_ctx", 1, kMaxToken, context);
  read_stop(options, "stop", out.stop);
  refuse_samplers(options);
  fields.adopt(options);
}

void read_think(JsonFields& fields, ChatRequest& out) {
  const json::value* value = fields.find("think");
  if (!value) return;
  if (value->is_bool()) {
    set_template_variable(out, "enable_thinking", value->get_bool() ? "true" : "false");
  } else if (value->is_string()) {
    read_effort(fields, "think", out);
  } else {
    fields.fail("think", "has to be true, false or a level");
  }
}

void check_keep_alive(JsonFields& fields) {
  const json::value* value = fields.find("keep_alive");
  if (value && !value->is_number() && !value->is_string()) {
    fields.fail("keep_alive", "has to be a duration such as \"5m\", or seconds");
  }
}

// What is the same in both kinds.
void read_common(JsonFields& fields, OllamaRequest& out, Generation& generation) {
  read_options(fields, generation);
  fields.flag("stream", out.stream);
  read_logprobs(fields, generation);
  check_keep_alive(fields);
  const json::value* format = fields.find("format");
  if (format && !(format->is_string() && format->get_string().empty())) {
    fields.unsupported("format", "is not supported in this version");
  }
}

Result<ToolCall> read_tool_call(const json::value& value, const std::string& path) {
  const json::value* function = value.is_object() ? value.get_object().if_contains("function") : nullptr;
  if (!function || !function->is_object()) {
    return error(ErrorCode::kInvalidArgument, "'{}.function' has to be an object", path);
  }
  ToolCall out;
  JsonFields fields(function->get_object(), path + ".function");
  fields.text("name", out.name);
  if (out.name.empty()) fields.fail("name", "is missing");
  const json::value* arguments = fields.find("arguments");
  if (arguments && !arguments->is_object()) fields.fail("arguments", "has to be an object");
  out.arguments_json = arguments ? json::serialize(*arguments) : "{}";
  BRIO_TRY_OK(fields.result());
  return out;
}

Result<Message> read_message(const json::value& value, const std::string& path, const std::string& model) {
  if (!value.is_object()) return error(ErrorCode::kInvalidArgument, "'{}' has to be an object", path);
  Message out;
  JsonFields fields(value.get_object(), path);
  fields.text("role", out.role);
  if (out.role != "system" && out.role != "user" && out.role != "assistant" && out.role != "tool") {
    fields.fail("role", "is '{}'; the roles are system, user, assistant and tool", out.role);
  }
  out.content.emplace();
  fields.text("content", *out.content);
  fields.text("thinking", out.reasoning);
  fields.text("tool_name", out.name);
  refuse_images(fields, model);
  BRIO_TRY_OK(fields.result());
  BRIO_TRY_OK(read_tool_calls(fields, path, out.tool_calls, read_tool_call));
  return out;
}

}  // namespace

Result<OllamaRequest> parse_ollama_chat(std::string_view body) {
  BRIO_TRY(const json::object object, parse_object(body));
  OllamaRequest out;
  ChatRequest chat;
  JsonFields fields(object, "");
  read_model(fields, "model", chat.generation.model);
  const json::value* messages = fields.find("messages");
  out.empty = !messages || (messages->is_array() && messages->get_array().empty());
  if (!out.empty) {
    const json::array* items = find_messages(fields);
    if (!items) return fields.result().error();
    BRIO_TRY_OK(read_items(*items, "messages", chat.messages, [&](const json::value& item, const std::string& path) {
      return read_message(item, path, chat.generation.model);
    }));
  }
  read_common(fields, out, chat.generation);
  read_template_kwargs(fields, chat);
  read_think(fields, chat);
  read_tools(fields, chat);
  BRIO_TRY_OK(fields.result());
  chat.continue_answer = ends_with_answer(chat.messages);
  out.request = std::move(chat);
  return out;
}

Result<OllamaRequest> parse_ollama_generate(std::string_view body) {
  BRIO_TRY(const json::object object, parse_object(body));
  OllamaRequest out;
  ChatRequest chat;
  Generation& generation = chat.generation;
  JsonFields fields(object, "");
  read_model(fields, "model", generation.model);
  std::string prompt;
  std::string system;
  bool raw = false;
  fields.text("prompt", prompt);
  fields.text("system", system);
  fields.flag("raw", raw);
  read_common(fields, out, generation);
  read_template_kwargs(fields, chat);
  read_think(fields, chat);
  refuse_images(fields, generation.model);
  for (const char* name : {"suffix", "template"}) {
    std::string text;
    fields.text(name, text);
    if (!text.empty()) fields.unsupported(name, "is not supported in this version");
  }
  const json::value* context = fields.find("context");
  if (context && !(context->is_array() && context->get_array().empty())) {
    fields.unsupported("context", "is not supported: send the conversation to /api/chat");
  }
  BRIO_TRY_OK(fields.result());
  out.empty = prompt.empty();
  if (raw) {
    CompletionRequest completion;
    completion.generation = std::move(generation);
    completion.prompts.emplace_back(std::move(prompt));
    out.request = std::move(completion);
    return out;
  }
  const auto add = [&chat](const char* role, std::string& text) {
    Message& message = chat.messages.emplace_back();
    message.role = role;
    message.content = std::move(text);
  };
  if (!system.empty()) add("system", system);
  add("user", prompt);
  out.request = std::move(chat);
  return out;
}

CompletionRequest as_completion(const ChatRequest& chat) {
  std::string text;
  for (const Message& message : chat.messages) {
    text.append(text.empty() ? "" : "\n\n").append(message.content.value_or(""));
  }
  CompletionRequest out;
  out.generation = chat.generation;
  out.prompts.emplace_back(std::move(text));
  return out;
}

Result<std::string> parse_ollama_model(std::string_view body) {
  BRIO_TRY(const json::object object, parse_object(body));
  std::string out;
  JsonFields fields(object, "");
  read_model(fields, fields.find("model") ? "model" : "name", out);
  if (out.empty()) fields.fail("model", "is missing");
  BRIO_TRY_OK(fields.result());
  return out;
}

}  // namespace brio::api
