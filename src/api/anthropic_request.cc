#include "api/anthropic_request.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "api/request_fields.h"

namespace brio::api {
namespace {

namespace json = boost::json;

// One turn while it is read: tool results stand in front of what else the user says.
struct Turn {
  std::vector<Message> tool_results;
  Message message;
};

void append_line(std::optional<std::string>& out, std::string_view text) {
  if (!out) {
    out = std::string(text);
  } else {
    out->append("\n").append(text);
  }
}

// A string or text blocks, joined.
std::optional<std::string> read_text(JsonFields& fields, const std::string& name, const json::value& value,
                                     const std::string& model) {
  if (value.is_string()) return std::string(value.get_string());
  std::optional<std::string> out;
  if (!value.is_array()) {
    fields.fail(name, "has to be a string or a list of content blocks");
    return out;
  }
  const json::array& blocks = value.get_array();
  refuse_too_many_parts(fields, name, blocks.size());
  for (size_t i = 0; i < blocks.size() && fields.ok(); ++i) {
    const std::string block_name = indexed(name, i);
    const auto type = part_type(fields, block_name, blocks[i]);
    if (!type) break;
    std::string text;
    if (*type != "text") {
      refuse_part(fields, block_name, *type, model);
    } else {
      append_part(fields, block_name, blocks[i], "text", text);
      append_line(out, text);
    }
  }
  return out;
}

void read_tool_use(JsonFields& fields, const std::string& name, const json::object& block, Message& out) {
  ToolCall call;
  JsonFields inner(block, fields.path(name));
  inner.text("id", call.id);
  inner.text("name", call.name);
  if (call.name.empty()) inner.fail("name", "is missing");
  const json::value* input = inner.find("input");
  if (input && !input->is_object()) inner.fail("input", "has to be an object");
  fields.adopt(inner);
  call.arguments_json = input ? json::serialize(*input) : "{}";
  out.tool_calls.push_back(std::move(call));
}

void read_tool_result(JsonFields& fields, const std::string& name, const json::object& block, const std::string& model,
                      std::vector<Message>& out) {
  Message result;
  result.role = "tool";
  const json::value* id = block.if_contains("tool_use_id");
  if (!id || !id->is_string()) return fields.fail(name + ".tool_use_id", "has to be a string");
  result.tool_call_id = std::string(id->get_string());
  const json::value* content = block.if_contains("content");
  if (content && !content->is_null()) result.content = read_text(fields, name + ".content", *content, model);
  if (!result.content) result.content.emplace();
  out.push_back(std::move(result));
}

void read_block(JsonFields& fields, const std::string& name, const json::value& block, const std::string& model,
                Turn& out) {
  const auto type = part_type(fields, name, block);
  if (!type) return;
  const bool assistant = out.message.role == "assistant";
  std::string text;
  if (*type == "text") {
    append_part(fields, name, block, "text", text);
    append_line(out.message.content, text);
  } else if (*type == "thinking" && assistant) {
    append_part(fields, name, block, "thinking", out.message.reasoning);
  } else if (*type == "redacted_thinking" && assistant) {
    // Nobody here can read it.
  } else if (*type == "tool_use" && assistant) {
    read_tool_use(fields, name, block.get_object(), out.message);
  } else if (*type == "tool_result" && !assistant) {
    read_tool_result(fields, name, block.get_object(), model, out.tool_results);
  } else {
    refuse_part(fields, name, *type, model);
  }
}

Result<Turn> read_turn(const json::value& value, const std::string& path, const std::string& model) {
  if (!value.is_object()) return error(ErrorCode::kInvalidArgument, "'{}' has to be an object", path);
  Turn out;
  Message& message = out.message;
  JsonFields fields(value.get_object(), path);
  fields.text("role", message.role);
  if (message.role != "user" && message.role != "assistant" && message.role != "system") {
    fields.fail("role", "is '{}'; the roles are user, assistant and system", message.role);
  }
  const json::value* content = fields.find("content");
  if (!content) {
    fields.fail("content", "is missing");
  } else if (content->is_array()) {
    const json::array& blocks = content->get_array();
    refuse_too_many_parts(fields, "content", blocks.size());
    for (size_t i = 0; i < blocks.size() && fields.ok(); ++i) {
      read_block(fields, indexed("content", i), blocks[i], model, out);
    }
  } else {
    message.content = read_text(fields, "content", *content, model);
  }
  BRIO_TRY_OK(fields.result());
  const bool nothing = out.tool_results.empty() && message.role != "assistant";
  if (!message.content && nothing) message.content.emplace();
  return out;
}

// Turns of one role in a row are one turn.
void append_turn(std::vector<Message>& messages, Turn turn) {
  for (Message& result : turn.tool_results) messages.push_back(std::move(result));
  Message& message = turn.message;
  if (!turn.tool_results.empty() && !message.content) return;
  if (messages.empty() || messages.back().role != message.role || message.role == "system") {
    messages.push_back(std::move(message));
    return;
  }
  Message& last = messages.back();
  if (message.content) append_line(last.content, *message.content);
  last.reasoning += message.reasoning;
  for (ToolCall& call : message.tool_calls) last.tool_calls.push_back(std::move(call));
}

Result<void> read_messages(JsonFields& fields, ChatRequest& out) {
  const std::string& model = out.generation.model;
  if (const json::value* system = fields.find("system")) {
    std::optional<std::string> text = read_text(fields, "system", *system, model);
    BRIO_TRY_OK(fields.result());
    if (text && !text->empty()) {
      Message& message = out.messages.emplace_back();
      message.role = "system";
      message.content = std::move(text);
    }
  }
  const json::array* items = find_messages(fields);
  if (!items) return fields.result();
  for (size_t i = 0; i < items->size(); ++i) {
    BRIO_TRY(Turn turn, read_turn((*items)[i], indexed("messages", i), model));
    append_turn(out.messages, std::move(turn));
  }
  out.continue_answer = ends_with_answer(out.messages);
  return {};
}

void read_thinking(JsonFields& fields, ChatRequest& out) {
  const json::value* value = fields.find("thinking");
  if (!value) return;
  const auto type = part_type(fields, "thinking", *value);
  if (!type) return;
  if (*type == "enabled" || *type == "disabled") {
    set_template_variable(out, "enable_thinking", *type == "enabled" ? "true" : "false");
  } else if (*type != "adaptive" && *type != "between_tools") {
    fields.fail("thinking.type", "is '{}'; it has to be enabled, disabled or adaptive", *type);
  }
}

void read_output_config(JsonFields& fields, ChatRequest& out) {
  const json::value* value = fields.find("output_config");
  if (!value) return;
  if (!value->is_object()) return fields.fail("output_config", "has to be an object");
  JsonFields inner(value->get_object(), "output_config");
  if (inner.find("format")) inner.unsupported("format", "is not supported in this version");
  read_effort(inner, "effort", out);
  fields.adopt(inner);
}

// One tool in OpenAI's form, which is what templates know.
json::value read_tool(JsonFields& fields, const std::string& path, const json::value& value) {
  if (!value.is_object()) {
    fields.fail(path, "has to be an object");
    return {};
  }
  JsonFields tool(value.get_object(), path);
  std::string type = "custom";
  std::string name;
  std::string description;
  tool.text("type", type);
  tool.text("name", name);
  tool.text("description", description);
  const json::value* schema = tool.find("input_schema");
  if (type != "custom") tool.unsupported("type", fmt::format("is '{}'; there are functions of the client only", type));
  if (name.empty()) tool.fail("name", "is missing");
  if (!schema || !schema->is_object()) tool.fail("input_schema", "has to be a JSON schema, an object");
  fields.adopt(tool);
  if (!tool.ok()) return {};
  json::object function = {{"name", name}};
  if (!description.empty()) function["description"] = description;
  function["parameters"] = *schema;
  return {{"type", "function"}, {"function", std::move(function)}};
}

// "auto" where the client says nothing.
std::string read_tool_choice(JsonFields& fields, ChatRequest& out) {
  const json::value* value = fields.find("tool_choice");
  if (!value) return "auto";
  const auto type = part_type(fields, "tool_choice", *value);
  if (!type) return "auto";
  JsonFields inner(value->get_object(), "tool_choice");
  bool one_call = false;
  inner.flag("disable_parallel_tool_use", one_call);
  out.parallel_tool_calls = !one_call;
  if (*type == "any" || *type == "tool") {
    inner.unsupported("type", "needs output that is held to a grammar, which this version does not have");
  } else if (*type != "auto" && *type != "none") {
    inner.fail("type", "is '{}'; it has to be auto, any, tool or none", *type);
  }
  fields.adopt(inner);
  return std::string(*type);
}

void read_tools(JsonFields& fields, ChatRequest& out) {
  constexpr size_t kMaxTools = 1'024;
  const json::value* tools = fields.find("tools");
  if (tools && !tools->is_array()) return fields.fail("tools", "has to be a list of tools");
  json::array offered;
  if (tools && tools->get_array().size() > kMaxTools) fields.fail("tools", "has more than {} entries", kMaxTools);
  for (size_t i = 0; tools && i < tools->get_array().size() && fields.ok(); ++i) {
    offered.push_back(read_tool(fields, indexed("tools", i), tools->get_array()[i]));
  }
  const std::string choice = read_tool_choice(fields, out);
  if (choice == "auto" && !offered.empty()) out.tools_json = json::serialize(offered);
  const json::value* servers = fields.find("mcp_servers");
  if (servers && (!servers->is_array() || !servers->get_array().empty())) {
    fields.unsupported("mcp_servers", "is not supported");
  }
}

Result<AnthropicRequest> parse(std::string_view body, bool generates) {
  BRIO_TRY(const json::object object, parse_object(body));
  AnthropicRequest out;
  Generation& generation = out.chat.generation;
  JsonFields fields(object, "");
  fields.text("model", generation.model);
  BRIO_TRY_OK(read_messages(fields, out.chat));
  if (generates && !fields.find("max_tokens")) fields.fail("max_tokens", "is missing");
  fields.integer("max_tokens", 1, kMaxToken, generation.max_tokens);
  generation.cut_to_context = true;  // clients ask for more than small models have
  fields.number("temperature", 0.0, 2.0, generation.sampling.temperature);
  fields.integer("top_k", -1, kMaxToken, generation.sampling.top_k);
  generation.sampling.top_k = std::max(generation.sampling.top_k, 0);
  read_top_p(fields, generation.sampling.top_p);
  read_stop(fields, "stop_sequences", generation.stop);
  read_template_kwargs(fields, out.chat);
  read_thinking(fields, out.chat);
  read_output_config(fields, out.chat);
  read_tools(fields, out.chat);
  fields.flag("stream", out.stream);
  BRIO_TRY_OK(fields.result());
  return out;
}

}  // namespace

Result<AnthropicRequest> parse_anthropic_message(std::string_view body) {
  return parse(body, true);
}

Result<AnthropicRequest> parse_anthropic_count(std::string_view body) {
  return parse(body, false);
}

}  // namespace brio::api
