#include "grammar/schema_containers.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "grammar/schema_keywords.h"

namespace brio::grammar {
namespace {

namespace json = boost::json;

constexpr int64_t kMaxCounted = 4096;  // items, or properties times counts: each is a rule

// Properties in their order as two families of rules. rest(i, c): after a property, only those from the i-th on are left
// and c are written; next(i, c): one of those has to come. Further properties come last, under names not declared. c
// matters only where the number of properties is bounded, and stays where more would change nothing.
class ObjectWriter {
 public:
  ObjectWriter(SchemaCompiler& compiler, std::string place)
      : compiler_(compiler), rules_(compiler.rules()), json_(compiler.json()), place_(std::move(place)) {}

  Result<ExprId> write(const json::object& schema) {
    BRIO_TRY_OK(read(schema));
    const auto num = static_cast<int64_t>(properties_.size());
    if (num * (counts_ + 1) > kMaxCounted) {
      return error(ErrorCode::kInvalidArgument, "{}: more than {} properties, or combinations of them and their number",
                   place_, kMaxCounted);
    }
    std::vector<ExprId> parts;
    if (may_close(0, 0)) parts.push_back(rules_.literal("}"));
    parts.push_back(rules_.call(next(0, 0)));
    const ExprId out = rules_.sequence({json_.open('{'), rules_.choice(std::move(parts))});
    while (!todo_.empty()) {
      const auto job = todo_.back();
      todo_.pop_back();
      job.is_rest ? write_rest(job) : write_next(job);
    }
    return out;
  }

 private:
  struct Property {
    ExprId text = -1;  // "name": value
    bool required = false;
  };
  struct Job {
    RuleId rule;
    bool is_rest;
    size_t i;
    int64_t count;
  };

  Result<void> read(const json::object& schema) {
    std::vector<std::pair<std::string, json::value>> declared;
    if (const json::value* properties = schema.if_contains("properties")) {
      if (!properties->is_object()) return invalid_keyword(place_, "properties", "has to be an object");
      for (const auto& [key, value] : properties->get_object()) declared.emplace_back(key, value);
    }
    const json::value* given = schema.if_contains("additionalProperties");
    const json::value additional = given ? *given : json::value(true);
    std::map<std::string, bool> required;
    if (const json::value* names = schema.if_contains("required")) {
      if (!names->is_array()) return invalid_keyword(place_, "required", "has to be a list of names");
      for (const json::value& name : names->get_array()) {
        if (!name.is_string()) return invalid_keyword(place_, "required", "has to be a list of names");
        const std::string key(name.get_string());
        const bool known = std::any_of(declared.begin(), declared.end(), [&](const auto& d) { return d.first == key; });
        if (!known) declared.emplace_back(key, additional);
        required[key] = true;
      }
    }
    std::vector<std::string> names;
    for (const auto& [key, value] : declared) {
      BRIO_TRY(const ExprId text, property(key, value));
      properties_.push_back({text, required.contains(key)});
      names.push_back(key);
    }
    if (!(additional.is_bool() && !additional.get_bool())) {
      BRIO_TRY(const ExprId value, compiler_.compile(additional, place_ + "/additionalProperties"));
      const RuleId rule = rules_.add_rule(place_ + "/additionalProperties");
      rules_.set_body(rule, rules_.sequence({json_.key_except(names, place_), json_.colon(), value}));
      further_ = rules_.call(rule);
    }
    return read_counts(schema, static_cast<int64_t>(required.size()));
  }

  Result<ExprId> property(const std::string& key, const json::value& schema) {
    const std::string place = fmt::format("{}/properties/{}", place_, key);
    BRIO_TRY(const ExprId value, compiler_.compile(schema, place));
    const RuleId rule = rules_.add_rule(place);
    rules_.set_body(rule, rules_.sequence({json_.text(key), json_.colon(), value}));
    return rules_.call(rule);
  }

  Result<void> read_counts(const json::object& schema, int64_t num_required) {
    BRIO_TRY(const std::optional<int64_t> min, read_count(schema, "minProperties", place_));
    BRIO_TRY(const std::optional<int64_t> max, read_count(schema, "maxProperties", place_));
    if (min && *min > num_required) min_ = *min;
    // Two further properties may have the same name, and count as one.
    if (further_ && min_ > num_required + 1) {
      return unsupported_schema(place_, "'minProperties' above 1 that further properties would have to fill");
    }
    if (max && (further_ || *max < static_cast<int64_t>(properties_.size()))) max_ = *max;
    counts_ = std::max(min_, max_);
    if (counts_ > kMaxCounted) {
      return error(ErrorCode::kInvalidArgument, "{}: bounds on the number of properties can be at most {}", place_,
                   kMaxCounted);
    }
    return {};
  }

  // Properties written, as far as that matters.
  int64_t counted(int64_t count) const { return std::min(count, std::max<int64_t>(counts_, 0)); }

  bool may_close(size_t i, int64_t count) const {
    const bool missing = std::any_of(properties_.begin() + static_cast<ptrdiff_t>(i), properties_.end(),
                                     [](const Property& p) { return p.required; });
    return !missing && count >= min_;
  }

  RuleId rule(bool is_rest, size_t i, int64_t count) {
    count = counted(count);
    const auto [entry, fresh] = made_.emplace(std::tuple{is_rest, i, count}, -1);
    if (fresh) {
      entry->second = rules_.add_rule(place_);
      todo_.push_back({entry->second, is_rest, i, count});
    }
    return entry->second;
  }
  RuleId rest(size_t i, int64_t count) { return rule(true, i, count); }
  RuleId next(size_t i, int64_t count) { return rule(false, i, count); }

  void write_rest(const Job& job) {
    std::vector<ExprId> parts;
    if (may_close(job.i, job.count)) parts.push_back(json_.close('}'));
    parts.push_back(rules_.sequence({json_.comma(), rules_.call(next(job.i, job.count))}));
    rules_.set_body(job.rule, rules_.choice(std::move(parts)));
  }

  void write_next(const Job& job) {
    std::vector<ExprId> parts;
    const bool room = max_ < 0 || job.count < max_;
    if (job.i < properties_.size()) {
      const Property& property = properties_[job.i];
      if (room) parts.push_back(rules_.sequence({property.text, rules_.call(rest(job.i + 1, job.count + 1))}));
      if (!property.required) parts.push_back(rules_.call(next(job.i + 1, job.count)));
    } else if (further_ && room) {
      parts.push_back(rules_.sequence({*further_, rules_.call(rest(job.i, job.count + 1))}));
    }
    rules_.set_body(job.rule, rules_.choice(std::move(parts)));
  }

  SchemaCompiler& compiler_;
  Rules& rules_;
  JsonRules& json_;
  std::string place_;
  std::vector<Property> properties_;
  std::optional<ExprId> further_;
  int64_t min_ = 0;
  int64_t max_ = -1;
  int64_t counts_ = 0;
  std::map<std::tuple<bool, size_t, int64_t>, RuleId> made_;
  std::vector<Job> todo_;
};

}  // namespace

Result<ExprId> object_values(SchemaCompiler& compiler, const json::object& schema, const std::string& place) {
  for (const char* keyword : {"properties", "required", "additionalProperties", "minProperties", "maxProperties"}) {
    if (schema.contains(keyword)) return ObjectWriter(compiler, place).write(schema);
  }
  return compiler.json().any_object();
}

// rest(i): after i items; from where all further items are alike and any number may follow, it is its own successor.
Result<ExprId> array_values(SchemaCompiler& compiler, const json::object& schema, const std::string& place) {
  Rules& rules = compiler.rules();
  JsonRules& json = compiler.json();
  const bool plain = !schema.contains("items") && !schema.contains("prefixItems") && !schema.contains("minItems") &&
                     !schema.contains("maxItems");
  if (plain) return json.any_array();
  std::vector<ExprId> items;
  if (const json::value* prefix = schema.if_contains("prefixItems")) {
    if (!prefix->is_array()) return invalid_keyword(place, "prefixItems", "has to be a list of schemas");
    for (size_t i = 0; i < prefix->get_array().size(); ++i) {
      BRIO_TRY(const ExprId item, compiler.compile(prefix->get_array()[i], fmt::format("{}/prefixItems/{}", place, i)));
      items.push_back(item);
    }
  }
  const json::value* rest_schema = schema.if_contains("items");
  if (rest_schema && !rest_schema->is_bool() && !rest_schema->is_object()) {
    return invalid_keyword(place, "items", "has to be a schema (a list is written 'prefixItems')");
  }
  BRIO_TRY(const ExprId others, compiler.compile(rest_schema ? *rest_schema : json::value(true), place + "/items"));
  BRIO_TRY(const std::optional<int64_t> min_items, read_count(schema, "minItems", place));
  BRIO_TRY(const std::optional<int64_t> max_items, read_count(schema, "maxItems", place));
  const int64_t min = min_items.value_or(0);
  const int64_t steady = std::max({min, max_items.value_or(0), static_cast<int64_t>(items.size()), int64_t{1}});
  if (steady > kMaxCounted) {
    return error(ErrorCode::kInvalidArgument, "{}: bounds on the number of items can be at most {}", place,
                 kMaxCounted);
  }
  const auto item = [&](int64_t i) {
    return i < static_cast<int64_t>(items.size()) ? items[static_cast<size_t>(i)] : others;
  };
  const auto room = [&](int64_t i) { return !max_items || i < *max_items; };
  RuleId after = rules.add_rule(place);  // rest(steady)
  for (int64_t i = steady; i >= 0; --i) {
    const RuleId rest = i == steady ? after : rules.add_rule(place);
    std::vector<ExprId> parts;
    if (i >= min) parts.push_back(i == 0 ? rules.literal("]") : json.close(']'));
    if (room(i)) {
      const ExprId one_more = rules.sequence({item(i), rules.call(after)});
      parts.push_back(i == 0 ? one_more : rules.sequence({json.comma(), one_more}));
    }
    rules.set_body(rest, rules.choice(std::move(parts)));
    after = rest;
  }
  return rules.sequence({json.open('['), rules.call(after)});
}

}  // namespace brio::grammar
