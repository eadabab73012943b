#include "api/request_fields.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <cmath>
#include <exception>

namespace brio::api {

namespace json = boost::json;

namespace {

constexpr int kMaxDepth = 128;  // tool schemas nest deeply

// Variables of brio's own, or trusted ones (control tokens are recognised in them): a client may not set them.
constexpr std::string_view kReservedKwargs[] = {
    "messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "unk_token", "pad_token"};

// Boost.JSON reads 1e999 as infinity and 0e999 as no number, which no JSON can say again.
bool holds_non_finite(const json::value& value) {
  if (const double* number = value.if_double()) return !std::isfinite(*number);
  if (const json::array* items = value.if_array()) return std::any_of(items->begin(), items->end(), holds_non_finite);
  const json::object* object = value.if_object();
  return object &&
         std::any_of(object->begin(), object->end(), [](const auto& field) { return holds_non_finite(field.value()); });
}

}  // namespace

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
    if (holds_non_finite(value)) {
      return error(ErrorCode::kInvalidArgument, "the request body holds a number that no double can hold");
    }
    if (value.is_object()) return std::move(value.get_object());
  } catch (const std::exception& exception) {
    return error(ErrorCode::kOutOfMemory, "the request body cannot be read: {}", exception.what());
  }
  return error(ErrorCode::kInvalidArgument, "the request body has to be a JSON object");
}

std::string indexed(std::string_view name, size_t index) {
  return fmt::format("{}[{}]", name, index);
}

const json::array* find_messages(JsonFields& fields) {
  const json::value* value = fields.find("messages");
  if (!value || !value->is_array()) {
    fields.fail("messages", "has to be a list of messages");
    return nullptr;
  }
  const json::array& items = value->get_array();
  if (items.empty()) fields.fail("messages", "is empty");
  if (items.size() > kMaxMessages)
    fields.fail("messages", "has {} entries; the most is {}", items.size(), kMaxMessages);
  return fields.ok() ? &items : nullptr;
}

void read_stop(JsonFields& fields, const std::string& name, std::vector<std::string>& out) {
  const json::value* value = fields.find(name);
  if (!value) return;
  const auto add = [&](const json::value& item, const std::string& item_name) {
    if (!item.is_string()) return fields.fail(item_name, "has to be a string");
    if (item.get_string().empty()) return fields.fail(item_name, "is an empty string");
    out.emplace_back(item.get_string());
  };
  if (!value->is_array()) return add(*value, name);
  const json::array& items = value->get_array();
  if (items.size() > kMaxStopStrings) {
    return fields.fail(name, "has {} entries; the most is {}", items.size(), kMaxStopStrings);
  }
  for (size_t i = 0; i < items.size(); ++i) add(items[i], indexed(name, i));
}

void read_ids(JsonFields& fields, const std::string& name, const json::array& items, std::vector<int32_t>& out) {
  out.reserve(items.size());
  for (size_t i = 0; i < items.size() && fields.ok(); ++i) {
    const std::optional<int64_t> id = JsonFields::as_integer(items[i]);
    if (!id || *id < 0 || *id > kMaxToken) return fields.fail(indexed(name, i), "has to be a token id");
    out.push_back(static_cast<int32_t>(*id));
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
    fields.fail("seed", "has to be a whole number of at most 64 bits");
  }
}

void read_top_p(JsonFields& fields, float& out) {
  constexpr float kAboveZero = 1e-6F;  // 0: the likeliest token alone
  fields.number("top_p", 0.0, 1.0, out);
  out = std::max(out, kAboveZero);
}

void read_logprobs(JsonFields& fields, Generation& out) {
  bool wanted = false;
  fields.flag("logprobs", wanted);
  if (wanted) out.top_logprobs = 0;
  if (fields.find("top_logprobs") && !wanted) return fields.fail("top_logprobs", "needs 'logprobs': true");
  fields.integer("top_logprobs", 0, kMaxLogprobs, out.top_logprobs);
}

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

void set_template_variable(ChatRequest& out, std::string_view name, std::string_view value_json) {
  const std::string variable = fmt::format(R"("{}":{})", name, value_json);
  std::string& kwargs = out.template_kwargs_json;
  if (kwargs.empty() || kwargs == "{}") {
    kwargs = "{" + variable + "}";
  } else {
    kwargs.insert(1, variable + ",");  // of two equal names the later one counts
  }
}

void read_effort(JsonFields& fields, const std::string& name, ChatRequest& out) {
  std::string effort;
  fields.text(name, effort);
  if (effort == "none") {
    set_template_variable(out, "enable_thinking", "false");
  } else if (!effort.empty()) {
    set_template_variable(out, "reasoning_effort", json::serialize(json::value(effort)));
  }
}

std::optional<std::string_view> part_type(JsonFields& fields, const std::string& name, const json::value& part) {
  if (!part.is_object()) {
    fields.fail(name, "has to be an object with a type");
    return std::nullopt;
  }
  const json::value* type = part.get_object().if_contains("type");
  if (!type || !type->is_string()) {
    fields.fail(name + ".type", "has to be a string");
    return std::nullopt;
  }
  return std::string_view(type->get_string().data(), type->get_string().size());
}

void append_part(JsonFields& fields, const std::string& name, const json::value& part, std::string_view key,
                 std::string& out) {
  const json::value* text = part.get_object().if_contains(key);
  if (!text || !text->is_string()) return fields.fail(fmt::format("{}.{}", name, key), "has to be a string");
  out.append(text->get_string().data(), text->get_string().size());
}

void refuse_part(JsonFields& fields, const std::string& name, std::string_view type, std::string_view model) {
  const std::string whom = model.empty() ? "the model" : fmt::format("model '{}'", model);
  fields.unsupported(name + ".type", fmt::format("is '{}', but {} reads text only", type, whom));
}

void refuse_too_many_parts(JsonFields& fields, const std::string& name, size_t count) {
  if (count > kMaxParts) fields.fail(name, "has {} parts; the most is {}", count, kMaxParts);
}

bool ends_with_answer(const std::vector<Message>& messages) {
  return !messages.empty() && messages.back().role == "assistant" && messages.back().tool_calls.empty() &&
         messages.back().content.has_value();
}

}  // namespace brio::api
