#include "api/openai_request.h"

#include <boost/json/serialize.hpp>
#include <charconv>

#include "api/openai_format.h"
#include "api/openai_tools.h"
#include "api/request_fields.h"

namespace brio::api {
namespace {

namespace json = boost::json;

constexpr size_t kMaxPrompts = 256;
constexpr size_t kMaxStopIds = 1'024;
constexpr size_t kMaxLogitBias = 4'096;
constexpr int kMaxChoices = 256;  // over all prompts

// ---- what chat and completions share ----

void read_stop_ids(JsonFields& fields, std::vector<int32_t>& out) {
  const json::value* value = fields.find("stop_token_ids");
  if (!value) return;
  if (!value->is_array()) return fields.fail("stop_token_ids", "has to be a list of token ids");
  if (value->get_array().size() > kMaxStopIds) {
    return fields.fail("stop_token_ids", "has {} entries; the most is {}", value->get_array().size(), kMaxStopIds);
  }
  read_ids(fields, "stop_token_ids", value->get_array(), out);
}

void read_logit_bias(JsonFields& fields, std::vector<std::pair<int32_t, float>>& out) {
  const json::value* value = fields.find("logit_bias");
  if (!value) return;
  if (!value->is_object()) return fields.fail("logit_bias", "has to be an object of token id to bias");
  const json::object& object = value->get_object();
  if (object.size() > kMaxLogitBias) {
    return fields.fail("logit_bias", "has {} entries; the most is {}", object.size(), kMaxLogitBias);
  }
  for (const auto& [key, bias] : object) {
    int32_t token = 0;
    const char* end = key.data() + key.size();
    const auto [stopped, status] = std::from_chars(key.data(), end, token);
    if (status != std::errc{} || stopped != end || token < 0) {
      return fields.fail("logit_bias", "names '{}', which is not a token id", std::string_view(key.data(), key.size()));
    }
    const std::optional<double> number = JsonFields::as_double(bias);
    if (!number || !(*number >= -100.0 && *number <= 100.0)) {
      return fields.fail("logit_bias", "gives token {} no number between -100 and 100", token);
    }
    out.emplace_back(token, static_cast<float>(*number));
  }
}

void read_sampling(JsonFields& fields, Sampling& out) {
  fields.number("temperature", 0.0, 2.0, out.temperature);
  fields.integer("top_k", -1, kMaxToken, out.top_k);
  if (out.top_k < 0) out.top_k = 0;  // -1 is another spelling of off
  read_top_p(fields, out.top_p);
  fields.number("min_p", 0.0, 1.0, out.min_p);
  fields.number("repetition_penalty", 0.01, 100.0, out.repetition_penalty);
  fields.number("frequency_penalty", -2.0, 2.0, out.frequency_penalty);
  fields.number("presence_penalty", -2.0, 2.0, out.presence_penalty);
  read_logit_bias(fields, out.logit_bias);
  read_seed(fields, out.seed);
}

void read_stream(JsonFields& fields, OpenAiRequest& out) {
  fields.flag("stream", out.stream);
  const json::value* options = fields.find("stream_options");
  if (!options) return;
  if (!options->is_object()) return fields.fail("stream_options", "has to be an object");
  JsonFields inner(options->get_object(), "stream_options");
  inner.flag("include_usage", out.include_usage);
  fields.adopt(inner);
}

void read_generation(JsonFields& fields, Generation& out) {
  read_sampling(fields, out.sampling);
  fields.integer("n", 1, kMaxChoices, out.n);
  read_stop(fields, "stop", out.stop);
  read_stop_ids(fields, out.stop_token_ids);
  fields.flag("ignore_eos", out.ignore_eos);
  read_output_format(fields, out.format);
  fields.integer("min_tokens", 0, kMaxToken, out.min_tokens);
  if (out.max_tokens && out.min_tokens > *out.max_tokens) {
    fields.fail("min_tokens", "is {}, more than the {} tokens allowed", out.min_tokens, *out.max_tokens);
  }
}

// ---- chat ----

// Text parts joined. Anything else is refused by its type.
void read_parts(JsonFields& fields, const json::array& parts, const std::string& model, std::string& out) {
  refuse_too_many_parts(fields, "content", parts.size());
  for (size_t i = 0; i < parts.size() && fields.ok(); ++i) {
    const std::string name = indexed("content", i);
    const auto type = part_type(fields, name, parts[i]);
    if (!type) return;
    if (*type != "text" && *type != "refusal") return refuse_part(fields, name, *type, model);
    append_part(fields, name, parts[i], *type, out);
  }
}

void read_content(JsonFields& fields, const std::string& model, Message& out) {
  const json::value* value = fields.find("content");
  if (!value) {
    if (out.role != "assistant") fields.fail("content", "is missing");
    return;
  }
  out.content.emplace();
  if (value->is_string()) {
    *out.content = std::string(value->get_string());
  } else if (value->is_array()) {
    read_parts(fields, value->get_array(), model, *out.content);
  } else {
    fields.fail("content", "has to be a string, a list of parts or null");
  }
}

Result<ToolCall> read_tool_call(const json::value& value, const std::string& path) {
  if (!value.is_object()) return error(ErrorCode::kInvalidArgument, "'{}' has to be an object", path);
  ToolCall out;
  JsonFields fields(value.get_object(), path);
  fields.text("id", out.id);
  const json::value* function = fields.find("function");
  if (!function || !function->is_object()) {
    fields.fail("function", "has to be an object");
    return fields.result().error();
  }
  JsonFields inner(function->get_object(), path + ".function");
  inner.text("name", out.name);
  if (out.name.empty()) inner.fail("name", "is missing");
  const json::value* arguments = inner.find("arguments");
  if (!arguments) {
    out.arguments_json = "{}";
  } else if (arguments->is_string()) {
    out.arguments_json = std::string(arguments->get_string());
  } else {
    out.arguments_json = json::serialize(*arguments);
  }
  BRIO_TRY_OK(fields.result());
  BRIO_TRY_OK(inner.result());
  return out;
}

Result<Message> read_message(const json::value& value, const std::string& path, const std::string& model) {
  if (!value.is_object()) return error(ErrorCode::kInvalidArgument, "'{}' has to be an object", path);
  Message out;
  JsonFields fields(value.get_object(), path);
  fields.text("role", out.role);
  if (out.role == "developer") out.role = "system";
  if (out.role == "function") out.role = "tool";
  if (out.role != "system" && out.role != "user" && out.role != "assistant" && out.role != "tool") {
    fields.fail("role", "is '{}'; the roles are system, developer, user, assistant and tool", out.role);
  }
  read_content(fields, model, out);
  fields.text("name", out.name);
  fields.text("tool_call_id", out.tool_call_id);
  fields.text(fields.find("reasoning_content") ? "reasoning_content" : "reasoning", out.reasoning);
  BRIO_TRY_OK(fields.result());
  BRIO_TRY_OK(read_tool_calls(fields, path, out.tool_calls, read_tool_call));
  return out;
}

Result<void> read_messages(JsonFields& fields, ChatRequest& out) {
  const json::array* items = find_messages(fields);
  if (!items) return fields.result();
  return read_items(*items, "messages", out.messages, [&](const json::value& item, const std::string& path) {
    return read_message(item, path, out.generation.model);
  });
}

// A conversation that ends with an answer is continued there, unless the client says what is to happen.
void read_generation_prompt(JsonFields& fields, ChatRequest& out) {
  fields.flag("add_generation_prompt", out.add_generation_prompt);
  out.continue_answer = ends_with_answer(out.messages) && !fields.find("add_generation_prompt");
  fields.flag("continue_final_message", out.continue_answer);
  if (out.continue_answer && !ends_with_answer(out.messages)) {
    fields.fail("continue_final_message", "needs a last message from the assistant, with content");
  }
}

// ---- completions ----

void read_prompt(JsonFields& fields, std::vector<Prompt>& out) {
  const json::value* value = fields.find("prompt");
  if (!value) return fields.fail("prompt", "is missing");
  if (value->is_string()) {
    out.emplace_back(std::string(value->get_string()));
    return;
  }
  if (!value->is_array() || value->get_array().empty()) {
    return fields.fail("prompt", "has to be a string, a list of token ids, or a list of these");
  }
  const json::array& items = value->get_array();
  if (items[0].is_number()) return read_ids(fields, "prompt", items, out.emplace_back().emplace<1>());
  if (items.size() > kMaxPrompts)
    return fields.fail("prompt", "has {} entries; the most is {}", items.size(), kMaxPrompts);
  for (size_t i = 0; i < items.size() && fields.ok(); ++i) {
    if (items[i].is_string()) {
      out.emplace_back(std::string(items[i].get_string()));
    } else if (items[i].is_array()) {
      read_ids(fields, indexed("prompt", i), items[i].get_array(), out.emplace_back().emplace<1>());
    } else {
      fields.fail(indexed("prompt", i), "has to be a string or a list of token ids");
    }
  }
}

void read_completion_fields(JsonFields& fields, CompletionRequest& out) {
  fields.flag("echo", out.echo);
  fields.flag("add_special_tokens", out.add_special_tokens);
  fields.integer("logprobs", 0, kMaxLogprobs, out.generation.top_logprobs);
  int best_of = out.generation.n;
  fields.integer("best_of", 1, kMaxChoices, best_of);
  if (best_of != out.generation.n) fields.unsupported("best_of", "has to equal 'n'");
  std::string suffix;
  fields.text("suffix", suffix);
  if (!suffix.empty()) fields.unsupported("suffix", "is not supported in this version");
  const int choices = out.generation.n * static_cast<int>(out.prompts.size());
  if (choices > kMaxChoices) fields.fail("n", "times {} prompts is more than {}", out.prompts.size(), kMaxChoices);
}

}  // namespace

Result<OpenAiRequest> parse_openai_chat(std::string_view body) {
  BRIO_TRY(const json::object object, parse_object(body));
  OpenAiRequest out;
  ChatRequest chat;
  JsonFields fields(object, "");
  fields.text("model", chat.generation.model);
  BRIO_TRY_OK(read_messages(fields, chat));
  const bool newer = fields.find("max_completion_tokens") != nullptr;  // wins over the deprecated name
  fields.integer(newer ? "max_completion_tokens" : "max_tokens", 1, kMaxToken, chat.generation.max_tokens);
  read_generation(fields, chat.generation);
  read_logprobs(fields, chat.generation);
  read_tools(fields, chat);
  if (const auto& format = chat.generation.format; format && !chat.tools_json.empty()) {
    fields.unsupported(format->field, "cannot be asked for beside 'tools' in this version");
  }
  read_template_kwargs(fields, chat);
  read_effort(fields, "reasoning_effort", chat);
  read_generation_prompt(fields, chat);
  read_stream(fields, out);
  BRIO_TRY_OK(fields.result());
  out.request = std::move(chat);
  return out;
}

Result<OpenAiRequest> parse_openai_completion(std::string_view body) {
  BRIO_TRY(const json::object object, parse_object(body));
  OpenAiRequest out;
  CompletionRequest completion;
  JsonFields fields(object, "");
  fields.text("model", completion.generation.model);
  read_prompt(fields, completion.prompts);
  fields.integer("max_tokens", 0, kMaxToken, completion.generation.max_tokens);
  read_generation(fields, completion.generation);
  read_completion_fields(fields, completion);
  read_stream(fields, out);
  BRIO_TRY_OK(fields.result());
  out.request = std::move(completion);
  return out;
}

}  // namespace brio::api
