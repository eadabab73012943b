// What a schema says, flattened: references followed, allOf and oneOf folded away, so that a type's keywords stand side by
// side. Between json_schema.cc, which turns the result into rules, and the schema's text. Private to the module.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace brio::grammar {

inline constexpr const char* kRootPlace = "schema, at #";

class SchemaReader {
 public:
  explicit SchemaReader(const boost::json::value& root) : root_(root) {}

  // A boolean schema, or an object without $ref, allOf, oneOf, const and annotations; `type` is a list where it is
  // given, `anyOf` is left to the caller. `place` is where the schema stands, for errors.
  Result<boost::json::value> flatten(const boost::json::value& schema, const std::string& place);
  // The schema that a reference names, still as it stands.
  Result<const boost::json::value*> resolve(std::string_view reference, const std::string& place) const;

 private:
  Result<boost::json::value> flatten_object(boost::json::object schema, const std::string& place);
  Result<boost::json::value> merge(const boost::json::value& a, const boost::json::value& b, const std::string& place);
  Result<void> merge_properties(const boost::json::object& a, const boost::json::object& b, boost::json::object& out,
                                const std::string& place);

  const boost::json::value& root_;
  int steps_ = 0;  // of the flattening under way: references and branches followed
  int depth_ = 0;
};

// Whether the keyword says something about values (and not only about the schema). Errors name unknown keywords.
Result<void> check_keywords(const boost::json::object& schema, const std::string& place, bool is_root);
bool is_annotation(std::string_view keyword);
Error invalid_keyword(const std::string& place, std::string_view keyword, std::string_view what);
Error unsupported_schema(const std::string& place, std::string_view what);  // "... is not supported"
inline std::string_view text_of(const boost::json::string& text) {
  return {text.data(), text.size()};
}

}  // namespace brio::grammar
