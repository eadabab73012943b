#include "api/openai_tools.h"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <set>
#include <string>
#include <string_view>

namespace brio::api {
namespace {

namespace json = boost::json;

constexpr size_t kMaxTools = 1'024;
constexpr size_t kMaxName = 128;
constexpr std::string_view kNoGrammar = "needs output that is held to a grammar, which this version does not have";

using Names = std::set<std::string, std::less<>>;

std::string_view view(const json::string& text) {
  return {text.data(), text.size()};
}

// OpenAI's letters, and those with which other protocols put names together.
bool is_function_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName) return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && std::string_view("_-.:/").find(c) == std::string_view::npos) return false;
  }
  return true;
}

void read_function(JsonFields& fields, const json::object& function, const std::string& path, Names& names) {
  JsonFields inner(function, path);
  std::string name;
  std::string description;
  bool strict = false;
  inner.text("name", name);
  inner.text("description", description);
  inner.flag("strict", strict);
  if (inner.ok() && !is_function_name(name)) {
    inner.fail("name", "has to be 1 to {} letters, digits or any of _-.:/", kMaxName);
  }
  const json::value* parameters = inner.find("parameters");
  if (parameters && !parameters->is_object()) inner.fail("parameters", "has to be a JSON schema, an object");
  if (strict) inner.unsupported("strict", kNoGrammar);
  if (inner.ok() && !names.insert(name).second) inner.fail("name", "is '{}' a second time", name);
  fields.adopt(inner);
}

void read_tool(JsonFields& fields, const json::value& value, const std::string& path, Names& names) {
  if (!value.is_object()) return fields.fail(path, "has to be an object");
  JsonFields tool(value.get_object(), path);
  std::string type;
  tool.text("type", type);
  const json::value* function = tool.find("function");
  if (tool.ok() && type.empty()) {
    tool.fail("type", "is missing");
  } else if (tool.ok() && type != "function") {
    tool.unsupported("type", fmt::format("is '{}'; there are functions only", type));
  } else if (!function || !function->is_object()) {
    tool.fail("function", "has to be an object");
  } else {
    read_function(tool, function->get_object(), path + ".function", names);
  }
  fields.adopt(tool);
}

// "auto", "none", or what forces a call.
void read_choice(JsonFields& fields, const json::value& choice, const Names& names, ChatRequest& out) {
  if (choice.is_string()) {
    const std::string_view word = view(choice.get_string());
    if (word == "none") return out.tools_json.clear();
    if (word == "auto") return;
    if (word != "required") {
      return fields.fail("tool_choice", "is '{}'; the words are none, auto and required", word);
    }
    if (names.empty()) return fields.fail("tool_choice", "is 'required' without any 'tools'");
    return fields.unsupported("tool_choice", fmt::format("'required' {}", kNoGrammar));
  }
  if (!choice.is_object()) return fields.fail("tool_choice", "has to be a word or an object");
  JsonFields inner(choice.get_object(), "tool_choice");
  std::string type;
  inner.text("type", type);
  if (inner.ok() && type != "function") {
    inner.unsupported("type", fmt::format("is '{}'; it can only be 'function'", type));
  }
  const json::value* function = inner.find("function");
  const json::value* name = function && function->is_object() ? function->get_object().if_contains("name") : nullptr;
  if (!name || !name->is_string()) {
    inner.fail("function.name", "has to be the name of a function");
  } else if (names.count(view(name->get_string())) == 0) {
    inner.fail("function.name", "is '{}', which is not among the 'tools'", view(name->get_string()));
  }
  fields.adopt(inner);
  fields.unsupported("tool_choice", fmt::format("that names a function {}", kNoGrammar));
}

}  // namespace

void read_tools(JsonFields& fields, ChatRequest& out) {
  if (fields.find("functions")) return fields.unsupported("functions", "is not known here: use 'tools'");
  Names names;
  if (const json::value* tools = fields.find("tools")) {
    if (!tools->is_array()) return fields.fail("tools", "has to be a list of tools");
    const json::array& items = tools->get_array();
    if (items.size() > kMaxTools)
      return fields.fail("tools", "has {} entries; the most is {}", items.size(), kMaxTools);
    for (size_t i = 0; i < items.size() && fields.ok(); ++i) {
      read_tool(fields, items[i], fmt::format("tools[{}]", i), names);
    }
    if (!items.empty()) out.tools_json = json::serialize(*tools);
  }
  fields.flag("parallel_tool_calls", out.parallel_tool_calls);
  if (const json::value* choice = fields.find("tool_choice")) read_choice(fields, *choice, names, out);
}

}  // namespace brio::api
