#include "api/openai_request.h"

#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <exception>

#include "api/json_fields.h"
#include "api/openai_format.h"
#include "api/openai_tools.h"

namespace brio::api {
namespace {

namespace json = boost::json;

// What a request may hold at most: parsed requests wait in queues, and a body of many tiny parts grows tenfold in
// memory.
constexpr size_t kMaxMessages = 16'384;
constexpr size_t kMaxParts = 16'384;
constexpr size_t kMaxPrompts = 256;
constexpr size_t kMaxStopStrings = 16;
constexpr size_t kMaxStopIds = 1'024;
constexpr size_t kMaxLogitBias = 4'096;
constexpr int kMaxChoices = 256;  // over all prompts
constexpr int kMaxLogprobs = 20;
constexpr int kMaxDepth = 128;      // tool schemas nest deeply
constexpr int kMaxToken = 1 << 30;  // whether the vocabulary has it is the backend's to say

Result<json::object> parse_object(std::string_view body) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::stream_parser parser({}, options);
  json::error_code failure;
  try {  // Boost.JSON throws when memory runs out
    const size_t used = parser.write_some(body.data(), body.size(), failure);
    if (!failure && used < body.size()) failure = json::error::extra_data;
    if (!failure) parser.finish(failure);
    if (failure) {
      return error(ErrorCode::kInvalidArgument, "the request body is not valid JSON: {} at byte {}", failure.message(),
                   used);
    }
    json::value value = parser.release();
    if (value.is_object()) return std::move(value.get_object());
  } catch (const std::exception& exception) {
    return error(ErrorCode::kOutOfMemory, "the request body cannot be read: {}", exception.what());
  }
  return error(ErrorCode::kInvalidArgument, "the request body has to be a JSON object");
}

std::string indexed(std::string_view name, size_t index) {
  return fmt::format("{}[{}]", name, index);
}

// ---- what chat and completions share ----

void read_stop(JsonFields& fields, std::vector<std::string>& out) {
  const json::value* value = fields.find("stop");
  if (!value) return;
  const auto add = [&](const json::value& item, const std::string& name) {
    if (!item.is_string()) return fields.fail(name, "has to be a string");
    if (item.get_string().empty()) return fields.fail(name, "is an empty string");
    out.emplace_back(item.get_string());
  };
  if (!value->is_array()) return add(*value, "stop");
  const json::array& items = value->get_array();
  if (items.size() > kMaxStopStrings) {
    return fields.fail("stop", "has {} entries; the most is {}", items.size(), kMaxStopStrings);
  }
  for (size_t i = 0; i < items.size(); ++i) add(items[i], indexed("stop", i));
}

void read_ids(JsonFields& fields, const std::string& name, const json::array& items, std::vector<int32_t>& out) {
  out.reserve(items.size());
  for (size_t i = 0; i < items.size() && fields.ok(); ++i) {
    const std::optional<int64_t> id = JsonFields::as_integer(items[i]);
    if (!id || *id < 0 || *id > kMaxToken) return fields.fail(indexed(name, i), "has to be a token id");
    out.push_back(static_cast<int32_t>(*id));
  }
}

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

void read_seed(JsonFields& fields, std::optional<uint64_t>& out) {
  const json::value* value = fields.find("seed");
  if (!value) return;
  if (value->is_uint64()) {
    out = value->get_uint64();
  } else if (const std::optional<int64_t> seed = JsonFields::as_integer(*value)) {
    out = static_cast<uint64_t>(*seed);
  } else {
    fields.fail("seed", "has to be a whole number");
  }
}

void read_sampling(JsonFields& fields, Sampling& out) {
  constexpr double kAboveZero = 1e-6;
  fields.number("temperature", 0.0, 2.0, out.temperature);
  fields.integer("top_k", -1, kMaxToken, out.top_k);
  if (out.top_k < 0) out.top_k = 0;  // -1 is another spelling of off
  fields.number("top_p", 0.0, 1.0, out.top_p);
  out.top_p = std::max(out.top_p, static_cast<decltype(out.top_p)>(kAboveZero));  // 0: the likeliest token alone
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
  if (!inner.ok()) fields.fail("stream_options.include_usage", "has to be true or false");
}

void read_generation(JsonFields& fields, Generation& out) {
  fields.text("model", out.model);
  read_sampling(fields, out.sampling);
  fields.integer("n", 1, kMaxChoices, out.n);
  read_stop(fields, out.stop);
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
void read_parts(JsonFields& fields, const json::array& parts, std::string& out) {
  if (parts.size() > kMaxParts) return fields.fail("content", "has {} parts; the most is {}", parts.size(), kMaxParts);
  for (size_t i = 0; i < parts.size() && fields.ok(); ++i) {
    const std::string name = indexed("content", i);
    if (!parts[i].is_object()) return fields.fail(name, "has to be an object with a type");
    const json::object& part = parts[i].get_object();
    const json::value* type = part.if_contains("type");
    if (!type || !type->is_string()) return fields.fail(name + ".type", "has to be a string");
    const std::string_view kind(type->get_string().data(), type->get_string().size());
    if (kind != "text" && kind != "refusal") {
      return fields.unsupported(name + ".type", fmt::format("is '{}', but the model reads text only", kind));
    }
    const json::value* text = part.if_contains(kind);
    if (!text || !text->is_string()) return fields.fail(fmt::format("{}.{}", name, kind), "has to be a string");
    out.append(text->get_string().data(), text->get_string().size());
  }
}

void read_content(JsonFields& fields, Message& out) {
  const json::value* value = fields.find("content");
  if (!value) {
    if (out.role != "assistant") fields.fail("content", "is missing");
    return;
  }
  out.content.emplace();
  if (value->is_string()) {
    *out.content = std::string(value->get_string());
  } else if (value->is_array()) {
    read_parts(fields, value->get_array(), *out.content);
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

Result<Message> read_message(const json::value& value, const std::string& path) {
  if (!value.is_object()) return error(ErrorCode::kInvalidArgument, "'{}' has to be an object", path);
  Message out;
  JsonFields fields(value.get_object(), path);
  fields.text("role", out.role);
  if (out.role == "developer") out.role = "system";
  if (out.role == "function") out.role = "tool";
  if (out.role != "system" && out.role != "user" && out.role != "assistant" && out.role != "tool") {
    fields.fail("role", "is '{}'; the roles are system, developer, user, assistant and tool", out.role);
  }
  read_content(fields, out);
  fields.text("name", out.name);
  fields.text("tool_call_id", out.tool_call_id);
  fields.text(fields.find("reasoning_content") ? "reasoning_content" : "reasoning", out.reasoning);
  BRIO_TRY_OK(fields.result());
  if (const json::value* calls = fields.find("tool_calls")) {
    if (!calls->is_array()) return error(ErrorCode::kInvalidArgument, "'{}.tool_calls' has to be a list", path);
    for (size_t i = 0; i < calls->get_array().size(); ++i) {
      BRIO_TRY(ToolCall call, read_tool_call(calls->get_array()[i], indexed(path + ".tool_calls", i)));
      out.tool_calls.push_back(std::move(call));
    }
  }
  return out;
}

Result<void> read_messages(JsonFields& fields, std::vector<Message>& out) {
  const json::value* value = fields.find("messages");
  if (!value || !value->is_array()) {
    fields.fail("messages", "has to be a list of messages");
    return fields.result();
  }
  const json::array& items = value->get_array();
  if (items.empty()) fields.fail("messages", "is empty");
  if (items.size() > kMaxMessages)
    fields.fail("messages", "has {} entries; the most is {}", items.size(), kMaxMessages);
  BRIO_TRY_OK(fields.result());
  for (size_t i = 0; i < items.size(); ++i) {
    BRIO_TRY(Message message, read_message(items[i], indexed("messages", i)));
    out.push_back(std::move(message));
  }
  return {};
}

// Variables of brio's own, or trusted ones (control tokens are recognised in them): a client may not set them.
constexpr std::string_view kReservedKwargs[] = {
    "messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "unk_token", "pad_token"};

void read_template_kwargs(JsonFields& fields, ChatRequest& out) {
  const json::value* value = fields.find("chat_template_kwargs");
  if (!value) return;
  if (!value->is_object()) return fields.fail("chat_template_kwargs", "has to be an object");
  for (std::string_view reserved : kReservedKwargs) {
    if (value->get_object().contains(reserved)) {
      return fields.fail(fmt::format("chat_template_kwargs.{}", reserved), "cannot be set by a client");
    }
  }
  out.template_kwargs_json = json::serialize(*value);
}

void read_chat_logprobs(JsonFields& fields, Generation& out) {
  bool wanted = false;
  fields.flag("logprobs", wanted);
  if (wanted) out.top_logprobs = 0;
  if (fields.find("top_logprobs") && !wanted) return fields.fail("top_logprobs", "needs 'logprobs': true");
  fields.integer("top_logprobs", 0, kMaxLogprobs, out.top_logprobs);
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
  BRIO_TRY_OK(read_messages(fields, chat.messages));
  const bool newer = fields.find("max_completion_tokens") != nullptr;  // wins over the deprecated name
  fields.integer(newer ? "max_completion_tokens" : "max_tokens", 1, kMaxToken, chat.generation.max_tokens);
  read_generation(fields, chat.generation);
  read_chat_logprobs(fields, chat.generation);
  read_tools(fields, chat);
  if (const auto& format = chat.generation.format; format && !chat.tools_json.empty()) {
    fields.unsupported(format->field, "cannot be asked for beside 'tools' in this version");
  }
  read_template_kwargs(fields, chat);
  fields.flag("add_generation_prompt", chat.add_generation_prompt);
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
