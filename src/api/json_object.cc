#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "api/json_text.h"

namespace brio::api {

std::string object_or_empty(std::string_view text) {
  constexpr size_t kMaxDepth = 128;
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::json::error_code failure;
  const auto value = boost::json::parse(boost::json::string_view(text.data(), text.size()), failure, {}, options);
  return !failure && value.is_object() ? std::string(text) : "{}";
}

}  // namespace brio::api
