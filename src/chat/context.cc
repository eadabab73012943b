#include "chat/context.h"

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>

namespace brio::chat {
namespace {

namespace json = boost::json;

constexpr std::string_view kTokenVariables[] = {"bos_token", "eos_token", "unk_token", "pad_token"};

std::string_view view_of(const json::string& text) {
  return {text.data(), text.size()};
}
std::string_view view_of(json::string_view text) {
  return {text.data(), text.size()};
}

Result<Value> value_of(Budget& budget, const json::value& value);

Result<Value> list_of(Budget& budget, const json::array& array) {
  std::vector<Value> items;
  for (const json::value& item : array) {
    BRIO_TRY(Value converted, value_of(budget, item));
    items.push_back(std::move(converted));
  }
  return Value::list(budget, std::move(items));
}

Result<Dict> entries_of(Budget& budget, const json::object& object) {
  Dict dict;
  for (const json::key_value_pair& entry : object) {
    BRIO_TRY(Value key, Value::string(budget, view_of(entry.key()), false));
    BRIO_TRY(Value value, value_of(budget, entry.value()));
    BRIO_TRY_OK(dict.set(std::move(key), std::move(value)));
  }
  return dict;
}

Result<Value> value_of(Budget& budget, const json::value& value) {
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
      return list_of(budget, value.get_array());
    case json::kind::object:
      break;
  }
  BRIO_TRY(Dict dict, entries_of(budget, value.get_object()));
  return Value::dict(budget, std::move(dict));
}

}  // namespace

Result<Dict> context_values(Budget& budget, const json::object& context) {
  BRIO_TRY(Dict dict, entries_of(budget, context));
  for (const std::string_view name : kTokenVariables) {
    const json::value* token = context.if_contains(json::string_view(name.data(), name.size()));
    if (token == nullptr || !token->is_string()) continue;
    BRIO_TRY(Value trusted, Value::string(budget, view_of(token->get_string()), true));
    BRIO_TRY_OK(dict.set(Value::literal(name), std::move(trusted)));
  }
  return dict;
}

}  // namespace brio::chat
