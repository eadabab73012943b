// Checkpoint::chat_template: where the two kinds of model keep their Jinja text.
#include <boost/json/value.hpp>

#include "weights/checkpoint.h"
#include "weights/gguf.h"
#include "weights/json_file.h"

namespace brio::weights {
namespace {

using Template = std::optional<std::string>;

// A string, or a list of {name, template} of which "default" counts.
Template template_of(const boost::json::value& value) {
  if (value.is_string()) return std::string(std::string_view(value.get_string()));
  if (!value.is_array()) return std::nullopt;
  for (const boost::json::value& item : value.get_array()) {
    const boost::json::object* object = item.if_object();
    if (object == nullptr) continue;
    const boost::json::value* name = object->if_contains("name");
    const boost::json::value* text = object->if_contains("template");
    if (name != nullptr && *name == "default" && text != nullptr) return template_of(*text);
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<std::string>> Checkpoint::chat_template() const {
  if (gguf() != nullptr) {
    if (!metadata().has("tokenizer.chat_template")) return Template{};
    BRIO_TRY(std::string_view text, metadata().string("tokenizer.chat_template"));
    return Template(text);
  }
  auto jinja = folder_file("chat_template.jinja");
  if (jinja.ok()) return Template(std::move(jinja).value());
  if (jinja.error().code != ErrorCode::kNotFound) return std::move(jinja).error();
  for (const std::string_view name : {"tokenizer_config.json", "chat_template.json"}) {
    auto text = folder_file(name);
    if (!text.ok() && text.error().code == ErrorCode::kNotFound) continue;
    if (!text.ok()) return std::move(text).error();
    BRIO_TRY(boost::json::object config, parse_json_object(*text, path() / name));
    const boost::json::value* value = config.if_contains("chat_template");
    if (value == nullptr) continue;
    if (Template found = template_of(*value)) return found;
  }
  return Template{};
}

}  // namespace brio::weights
