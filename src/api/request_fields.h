// What the request parsers of all dialects share: limits, the body as an object, fields that mean the same everywhere.
// Inside api only. Readers take the JsonFields of the object that holds the field and leave their complaint there.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json_fields.h"
#include "api/request.h"
#include "base/result.h"

namespace brio::api {

// What a request may hold at most: parsed requests wait in queues, and a body of many tiny parts grows tenfold in
// memory.
constexpr size_t kMaxMessages = 16'384;
constexpr size_t kMaxParts = 16'384;
constexpr size_t kMaxStopStrings = 16;
constexpr int kMaxLogprobs = 20;
constexpr int kMaxToken = 1 << 30;  // whether the vocabulary has it is the backend's to say

Result<boost::json::object> parse_object(std::string_view body);

std::string indexed(std::string_view name, size_t index);  // "name[3]"

// Checks that there are messages at all, and few enough. Null: it has complained.
const boost::json::array* find_messages(JsonFields& fields);

// Every item of a list, by read(item, "path[i]") -> Result<Item>; the first error ends it.
template <typename Item, typename Read>
Result<void> read_items(const boost::json::array& items, const std::string& path, std::vector<Item>& out,
                        const Read& read) {
  for (size_t i = 0; i < items.size(); ++i) {
    BRIO_TRY(Item item, read(items[i], indexed(path, i)));
    out.push_back(std::move(item));
  }
  return {};
}

// "tool_calls" of a message in the given path.
template <typename Read>
Result<void> read_tool_calls(const JsonFields& message, const std::string& path, std::vector<ToolCall>& out,
                             const Read& read) {
  const boost::json::value* calls = message.find("tool_calls");
  if (!calls) return {};
  if (!calls->is_array()) return error(ErrorCode::kInvalidArgument, "'{}.tool_calls' has to be a list", path);
  return read_items(calls->get_array(), path + ".tool_calls", out, read);
}

// A string or a list of strings that end the text.
void read_stop(JsonFields& fields, const std::string& name, std::vector<std::string>& out);
void read_ids(JsonFields& fields, const std::string& name, const boost::json::array& items, std::vector<int32_t>& out);
void read_seed(JsonFields& fields, std::optional<uint64_t>& out);
void read_top_p(JsonFields& fields, float& out);
// "logprobs": true and "top_logprobs": k.
void read_logprobs(JsonFields& fields, Generation& out);
// Variables for the chat template.
void read_template_kwargs(JsonFields& fields, ChatRequest& out);

// One more variable for the chat template, a JSON value; what the client's own chat_template_kwargs say stays.
void set_template_variable(ChatRequest& out, std::string_view name, std::string_view value_json);
// How much to reason, which templates see as reasoning_effort, or enable_thinking false for "none".
void read_effort(JsonFields& fields, const std::string& name, ChatRequest& out);

// One item of a list of typed parts: its type, or nothing after a complaint.
std::optional<std::string_view> part_type(JsonFields& fields, const std::string& name, const boost::json::value& part);
// The string of a text part.
void append_part(JsonFields& fields, const std::string& name, const boost::json::value& part, std::string_view key,
                 std::string& out);
void refuse_part(JsonFields& fields, const std::string& name, std::string_view type, std::string_view model);
void refuse_too_many_parts(JsonFields& fields, const std::string& name, size_t count);

// The last message is an answer that has begun: it is continued.
bool ends_with_answer(const std::vector<Message>& messages);

}  // namespace brio::api
