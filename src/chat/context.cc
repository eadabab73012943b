#include "chat/context.h"

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>

namespace brio::chat {
namespace {

namespace json = boost::json;

constexpr std::string_view kTokenVariables[] = {"bos_token", "eos_token", "unk_token", "pad_token"};

// Roles of messages. Templates spell control tokens with them, '<|' + message.role + '|>' (Phi-4-mini, GLM-4, EXAONE), so
// these words count as the template's own text. A closed list: a client must not call "im_end" a role and have it.
constexpr std::string_view kRoles[] = {"assistant", "developer",   "environment", "function", "ipython",
                                       "model",     "observation", "system",      "tool",     "user"};

// Where in the context a value stands.
enum class Place : uint8_t { kTop, kMessages, kMessage, kElsewhere };

Place place_of_entry(Place outer, std::string_view key) {
  return outer == Place::kTop && key == "messages" ? Place::kMessages : Place::kElsewhere;
}

std::string_view view_of(const json::string& text) {
  return {text.data(), text.size()};
}
std::string_view view_of(json::string_view text) {
  return {text.data(), text.size()};
}

// A message's role, in words that templates know.
bool is_role(Place place, std::string_view key, const json::value& value) {
  return place == Place::kMessage && key == "role" && value.is_string() &&
         std::ranges::find(kRoles, view_of(value.get_string())) != std::end(kRoles);
}

Result<Value> value_of(Budget& budget, const json::value& value, Place place);

Result<Value> list_of(Budget& budget, const json::array& array, Place place) {
  const Place inside = place == Place::kMessages ? Place::kMessage : Place::kElsewhere;
  std::vector<Value> items;
  for (const json::value& item : array) {
    BRIO_TRY(Value converted, value_of(budget, item, inside));
    items.push_back(std::move(converted));
  }
  return Value::list(budget, std::move(items));
}

Result<Dict> entries_of(Budget& budget, const json::object& object, Place place) {
  Dict dict;
  for (const json::key_value_pair& entry : object) {
    const std::string_view name = view_of(entry.key());
    BRIO_TRY(Value key, Value::string(budget, name, false));
    BRIO_TRY(Value value, is_role(place, name, entry.value())
                              ? Value::string(budget, view_of(entry.value().get_string()), true)
                              : value_of(budget, entry.value(), place_of_entry(place, name)));
    BRIO_TRY_OK(dict.set(std::move(key), std::move(value)));
  }
  return dict;
}

Result<Value> value_of(Budget& budget, const json::value& value, Place place) {
  BRIO_CHAT_ENTER(budget);
  switch (value.kind()) {
    case json::kind::null:
      return Value::none(false);
    case json::kind::bool_:
      return Value::boolean(value.get_bool(), false);
    case json::kind::int64:
      return Value::integer(value.get_int64(), false);
    case json::kind::uint64:
      return Value::real(static_cast<double>(value.get_uint64()), false);  // beyond 2^63
    case json::kind::double_:
      return Value::real(value.get_double(), false);
    case json::kind::string:
      return Value::string(budget, view_of(value.get_string()), false);
    case json::kind::array:
      return list_of(budget, value.get_array(), place);
    case json::kind::object:
      break;
  }
  BRIO_TRY(Dict dict, entries_of(budget, value.get_object(), place));
  return Value::dict(budget, std::move(dict));
}

}  // namespace

Result<Dict> context_values(Budget& budget, const json::object& context) {
  BRIO_TRY(Dict dict, entries_of(budget, context, Place::kTop));
  for (const std::string_view name : kTokenVariables) {
    const json::value* token = context.if_contains(json::string_view(name.data(), name.size()));
    if (token == nullptr || !token->is_string()) continue;
    BRIO_TRY(Value trusted, Value::string(budget, view_of(token->get_string()), true));
    BRIO_TRY_OK(dict.set(Value::literal(name), std::move(trusted)));
  }
  return dict;
}

}  // namespace brio::chat
