#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "scripted/scripted_backend.h"

namespace brio::scripted {
namespace {

namespace json = boost::json;

// Pieces of so many characters each.
std::vector<std::string> cut(const std::string& text, int characters) {
  std::vector<std::string> out;
  int count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<uint8_t>(text[i]) & 0xC0) != 0x80;
    if (begins && count++ % characters == 0) out.emplace_back();
    out.back() += text[i];
  }
  return out;
}

Duration milliseconds(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value ? std::chrono::duration_cast<Duration>(
                     std::chrono::duration<double, std::milli>(value->to_number<double>()))
               : Duration{};
}

int integer(const json::object& object, const char* key, int otherwise) {
  const json::value* value = object.if_contains(key);
  return value ? value->to_number<int>() : otherwise;
}

std::string text(const json::object& object, const char* key, const char* otherwise) {
  const json::value* value = object.if_contains(key);
  return std::string(value ? value->as_string() : json::string(otherwise));
}

ScriptedAnswer answer_of(const json::object& object) {
  ScriptedAnswer out;
  out.when = text(object, "when", "");
  out.tokens = cut(std::string(object.at("text").as_string()), std::max(1, integer(object, "token_characters", 4)));
  out.first = milliseconds(object, "first_ms");
  out.each = milliseconds(object, "token_ms");
  out.prompt_tokens = integer(object, "prompt_tokens", out.prompt_tokens);
  out.stops = text(object, "finish", "stop") == "stop";
  return out;
}

Result<Script> script_of(const json::object& object) {
  Script out;
  out.model = text(object, "model", "scripted");
  out.context = integer(object, "context", out.context);
  if (const std::string name = text(object, "tool_parser", "none"); name != "none") {
    BRIO_TRY(out.output.tools, chat::find_tool_format(name));
  }
  if (const std::string name = text(object, "reasoning_parser", "none"); name != "none") {
    BRIO_TRY(out.output.reasoning, chat::find_reasoning_format(name));
  }
  if (const json::value* open = object.if_contains("reasoning_open")) out.reasoning_open = open->as_bool();
  for (const json::value& answer : object.at("answers").as_array())
    out.answers.push_back(answer_of(answer.as_object()));
  return out;
}

}  // namespace

Result<Script> read_script(const std::string& path) {
  std::ifstream file(path);
  if (!file) return error(ErrorCode::kNotFound, "{}: cannot be read", path);
  std::stringstream bytes;
  bytes << file.rdbuf();
  try {
    return script_of(json::parse(bytes.str()).as_object());
  } catch (const std::exception& exception) {
    return error(ErrorCode::kInvalidFile, "{}: {}", path, exception.what());
  }
}

}  // namespace brio::scripted
