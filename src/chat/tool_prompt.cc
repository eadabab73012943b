#include "chat/tool_prompt.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace brio::chat {
namespace {

namespace json = boost::json;

constexpr std::string_view kBefore =
    "You can call functions. To call one, answer with a JSON object and nothing else:\n"
    "{\"name\": function name, \"parameters\": object of arguments}\n"
    "To call several, write one such object a line. When no function helps, answer in plain text.\n"
    "The functions, as JSON:";

std::string text_of(const json::object& message, std::string_view key) {
  const json::value* value = message.if_contains(key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::string description(const json::value& tools) {
  std::string out(kBefore);
  if (!tools.is_array()) return out;
  for (const json::value& tool : tools.get_array()) {
    const json::value* function = tool.is_object() ? tool.get_object().if_contains("function") : nullptr;
    out.append("\n").append(json::serialize(function ? *function : tool));
  }
  return out;
}

// Calls as the model is asked to write them.
std::string calls_text(const json::value& calls) {
  std::string out;
  if (!calls.is_array()) return out;
  for (const json::value& call : calls.get_array()) {
    const json::value* function = call.is_object() ? call.get_object().if_contains("function") : nullptr;
    if (!function || !function->is_object()) continue;
    const json::object& object = function->get_object();
    const json::value* arguments = object.if_contains("arguments");
    if (!out.empty()) out += '\n';
    out.append("{\"name\": ").append(json::serialize(json::value(text_of(object, "name"))));
    out.append(", \"parameters\": ").append(arguments ? json::serialize(*arguments) : "{}").append("}");
  }
  return out;
}

std::string with_newline(std::string text) {
  if (!text.empty()) text += '\n';
  return text;
}

// Results of one turn become one message of the user: many templates want roles to alternate.
void add_result(const json::object& message, bool continues, json::array& out) {
  const std::string name = text_of(message, "name");
  const std::string text =
      "Result of " + (name.empty() ? std::string("the function") : name) + ":\n" + text_of(message, "content");
  if (continues) {
    json::object& last = out.back().get_object();
    last["content"] = with_newline(text_of(last, "content")) + text;
  } else {
    out.push_back({{"role", "user"}, {"content", text}});
  }
}

}  // namespace

void describe_tools(json::object& context) {
  json::array out;
  bool results = false;  // the last message holds results
  for (const json::value& item : context["messages"].as_array()) {
    json::object message = item.as_object();
    const std::string role = text_of(message, "role");
    if (role == "tool") {
      add_result(message, results, out);
      results = true;
      continue;
    }
    results = false;
    if (const json::value* calls = message.if_contains("tool_calls")) {
      message["content"] = with_newline(text_of(message, "content")) + calls_text(*calls);
      message.erase("tool_calls");
    }
    out.push_back(std::move(message));
  }
  const std::string tools = description(context["tools"]);
  if (!out.empty() && text_of(out.front().as_object(), "role") == "system") {
    json::object& system = out.front().as_object();
    system["content"] = text_of(system, "content") + "\n\n" + tools;
  } else {
    out.insert(out.begin(), json::object{{"role", "system"}, {"content", tools}});
  }
  context["messages"] = std::move(out);
  context["tools"] = nullptr;
}

}  // namespace brio::chat
