#include "grammar/json_schema.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <deque>
#include <exception>
#include <map>

#include "grammar/json_rules.h"
#include "grammar/schema_containers.h"
#include "grammar/schema_keywords.h"
#include "grammar/schema_scalars.h"

namespace brio::grammar {
namespace {

namespace json = boost::json;

constexpr size_t kMaxSerializedBytes = size_t{32} << 20;  // of all schemas met, as keys: nested ones are met again

class Compiler final : public SchemaCompiler {
 public:
  Compiler(Rules& rules, const json::value& root, const CompileLimits& limits)
      : reader_(root), limits_(limits), rules_(rules), json_(rules) {}

  Result<void> compile_root(const json::value& root) {
    BRIO_TRY(const ExprId call, compile(root, kRootPlace));
    const RuleId start = rules_.add_rule("the schema");
    rules_.set_body(start, call);
    rules_.set_root(start);
    while (!queue_.empty()) {
      const Job job = std::move(queue_.front());
      queue_.pop_front();
      BRIO_TRY(const ExprId body, body_of(job.schema, job.place));
      rules_.set_body(job.rule, body);
      if (static_cast<int>(rules_.rules().size()) > limits_.max_rules ||
          static_cast<int64_t>(rules_.num_exprs()) > limits_.max_exprs) {
        return error(ErrorCode::kInvalidArgument, "{}: the schema is too large", job.place);
      }
    }
    return {};
  }

  // Equal schemas share a rule; that is also what ends recursion.
  Result<ExprId> compile(const json::value& schema, const std::string& place) override {
    std::string key = json::serialize(schema);
    key_bytes_ += key.size();
    if (key_bytes_ > kMaxSerializedBytes)
      return error(ErrorCode::kInvalidArgument, "{}: the schema is too large", place);
    const auto [entry, fresh] = known_.emplace(std::move(key), -1);
    if (fresh) {
      entry->second = rules_.add_rule(place);
      queue_.push_back({entry->second, schema, place});
    }
    return rules_.call(entry->second);
  }

  Rules& rules() override { return rules_; }
  JsonRules& json() override { return json_; }

 private:
  struct Job {
    RuleId rule;
    json::value schema;
    std::string place;
  };

  static const json::value* only_reference(const json::value& schema) {
    if (!schema.is_object()) return nullptr;
    for (const auto& [key, value] : schema.get_object()) {
      if (key != "$ref" && !is_annotation(std::string_view(key.data(), key.size())) && key != "$id") return nullptr;
    }
    return schema.get_object().if_contains("$ref");
  }

  Result<ExprId> body_of(const json::value& schema, const std::string& place) {
    if (const json::value* reference = only_reference(schema); reference && reference->is_string()) {
      BRIO_TRY(const json::value* target, reader_.resolve(text_of(reference->get_string()), place));
      return compile(*target, fmt::format("schema, at {}", text_of(reference->get_string())));
    }
    BRIO_TRY(const json::value flat, reader_.flatten(schema, place));
    if (flat.is_bool()) return flat.get_bool() ? json_.any_value() : rules_.never();
    json::object object = flat.get_object();
    if (const json::value* found = object.if_contains("anyOf")) {
      const json::value branches = *found;
      object.erase("anyOf");
      return any_of(branches, object, place);
    }
    if (object.empty()) return json_.any_value();
    if (object.contains("enum")) return enum_values(*this, object, place);
    return by_type(object, place);
  }

  Result<ExprId> any_of(const json::value& branches, const json::object& beside, const std::string& place) {
    if (!branches.is_array() || branches.get_array().empty()) {
      return error(ErrorCode::kInvalidArgument, "{}: 'anyOf' has to be a list of schemas", place);
    }
    std::vector<ExprId> parts;
    for (size_t i = 0; i < branches.get_array().size(); ++i) {
      const json::value& branch = branches.get_array()[i];
      const json::value schema = beside.empty() ? branch : json::object{{"allOf", json::array{beside, branch}}};
      BRIO_TRY(const ExprId part, compile(schema, fmt::format("{}/anyOf/{}", place, i)));
      parts.push_back(part);
    }
    return rules_.choice(std::move(parts));
  }

  Result<ExprId> by_type(const json::object& schema, const std::string& place) {
    BRIO_TRY(const TypeSet types, read_types(schema, place));
    std::vector<ExprId> parts;
    if (types.object) {
      BRIO_TRY(const ExprId part, object_values(*this, schema, place));
      parts.push_back(part);
    }
    if (types.array) {
      BRIO_TRY(const ExprId part, array_values(*this, schema, place));
      parts.push_back(part);
    }
    if (types.string) {
      BRIO_TRY(const ExprId part, string_values(*this, schema, place));
      parts.push_back(part);
    }
    if (types.number || types.integer) {
      BRIO_TRY(const ExprId part, number_values(*this, schema, types.number, place));
      parts.push_back(part);
    }
    if (types.boolean) parts.push_back(json_.boolean());
    if (types.null) parts.push_back(json_.null());
    return rules_.choice(std::move(parts));
  }

  SchemaReader reader_;
  const CompileLimits& limits_;
  Rules& rules_;
  JsonRules json_;
  std::map<std::string, RuleId> known_;
  std::deque<Job> queue_;
  size_t key_bytes_ = 0;
};

}  // namespace

Result<void> parse_json_schema(Rules& rules, std::string_view text, const CompileLimits& limits) {
  json::parse_options options;
  options.max_depth = static_cast<size_t>(limits.max_depth);
  json::stream_parser parser({}, options);
  json::error_code failure;
  try {  // Boost.JSON throws when memory runs out
    const size_t used = parser.write_some(text.data(), text.size(), failure);
    if (!failure && used < text.size()) failure = json::error::extra_data;
    if (!failure) parser.finish(failure);
    if (failure) {
      return error(ErrorCode::kInvalidArgument, "schema: not valid JSON: {} at byte {}", failure.message(), used);
    }
    const json::value root = parser.release();
    return Compiler(rules, root, limits).compile_root(root);
  } catch (const std::exception& exception) {
    return error(ErrorCode::kOutOfMemory, "schema: {}", exception.what());
  }
}

void set_json_object(Rules& rules) {
  JsonRules json(rules);
  const RuleId root = rules.add_rule("a JSON object");
  rules.set_body(root, json.any_object());
  rules.set_root(root);
}

}  // namespace brio::grammar
