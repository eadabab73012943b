#include "api/openai_format.h"

#include <boost/json/serialize.hpp>

namespace brio::api {
namespace {

namespace json = boost::json;
using Kind = OutputFormat::Kind;

constexpr size_t kMaxChoices = 10'000;

class Reader {
 public:
  Reader(JsonFields& fields, std::optional<OutputFormat>& out) : fields_(fields), out_(out) {}

  void read() {
    read_response_format();
    if (const json::value* value = fields_.find("structured_outputs")) {
      if (!value->is_object()) return fields_.fail("structured_outputs", "has to be an object");
      read_members(value->get_object(), "structured_outputs.");
    }
    for (const std::string_view name : {"json", "regex", "choice", "grammar"}) {
      const std::string field = fmt::format("guided_{}", name);
      if (const json::value* value = fields_.find(field)) read_one(name, *value, field);
    }
    if (const json::value* value = fields_.find("grammar")) read_one("grammar", *value, "grammar");
  }

 private:
  void set(OutputFormat format) {
    if (!fields_.ok()) return;
    if (out_) return fields_.fail(format.field, "cannot be asked for beside '{}'", out_->field);
    out_ = std::move(format);
  }

  void read_response_format() {
    const json::value* value = fields_.find("response_format");
    if (!value) return;
    if (!value->is_object()) return fields_.fail("response_format", "has to be an object");
    std::string type;
    JsonFields inner(value->get_object(), "response_format");
    inner.text("type", type);
    if (!inner.ok() || type.empty()) return fields_.fail("response_format.type", "has to be a string");
    if (type == "text") return;
    if (type == "json_object") return set({Kind::kJsonObject, {}, {}, "response_format"});
    if (type != "json_schema") {
      return fields_.unsupported("response_format.type", "can be 'text', 'json_object' or 'json_schema'");
    }
    const json::value* outer = inner.find("json_schema");
    if (!outer || !outer->is_object()) return fields_.fail("response_format.json_schema", "has to be an object");
    const json::value* schema = outer->get_object().if_contains("schema");
    if (!schema) return fields_.fail("response_format.json_schema.schema", "is missing");
    read_one("json", *schema, "response_format.json_schema.schema");
  }

  void read_members(const json::object& object, const std::string& prefix) {
    for (const auto& [key, value] : object) {
      const std::string_view name(key.data(), key.size());
      if (value.is_null()) continue;
      if (name == "json_object") {
        if (!value.is_bool()) return fields_.fail(prefix + "json_object", "has to be true or false");
        if (value.get_bool()) set({Kind::kJsonObject, {}, {}, prefix + "json_object"});
      } else if (name == "json" || name == "regex" || name == "choice" || name == "grammar") {
        read_one(name, value, prefix + std::string(name));
      } else {
        return fields_.unsupported(prefix + std::string(name), "is not known here");
      }
    }
  }

  void read_one(std::string_view kind, const json::value& value, const std::string& field) {
    if (kind == "json") {
      if (value.is_string()) return set({Kind::kJsonSchema, std::string(value.get_string()), {}, field});
      if (!value.is_object() && !value.is_bool()) return fields_.fail(field, "has to be a JSON schema");
      return set({Kind::kJsonSchema, json::serialize(value), {}, field});
    }
    if (kind == "choice") return read_choices(value, field);
    if (!value.is_string()) return fields_.fail(field, "has to be a string");
    set({kind == "regex" ? Kind::kRegex : Kind::kGrammar, std::string(value.get_string()), {}, field});
  }

  void read_choices(const json::value& value, const std::string& field) {
    if (!value.is_array()) return fields_.fail(field, "has to be a list of strings");
    const json::array& items = value.get_array();
    if (items.size() > kMaxChoices) {
      return fields_.fail(field, "has {} entries; the most is {}", items.size(), kMaxChoices);
    }
    OutputFormat out{Kind::kChoice, {}, {}, field};
    for (const json::value& item : items) {
      if (!item.is_string()) return fields_.fail(field, "has to be a list of strings");
      out.choices.emplace_back(item.get_string());
    }
    set(std::move(out));
  }

  JsonFields& fields_;
  std::optional<OutputFormat>& out_;
};

}  // namespace

void read_output_format(JsonFields& fields, std::optional<OutputFormat>& out) {
  Reader(fields, out).read();
}

}  // namespace brio::api
