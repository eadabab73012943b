// JsonFields: reads the fields of one JSON object and keeps the first complaint, which names the field by its path.
// Inside api only, for wire parsers. A field that is absent or null leaves its target untouched.
//
//   JsonFields fields(object, "");
//   fields.number("temperature", 0.0, 2.0, out.temperature);
//   fields.flag("stream", out.stream);
//   BRIO_TRY_OK(fields.result());          // "'temperature' is 3; it has to be between 0 and 2"
//
// Messages open with the path in quotes: that is how error bodies find their "param" (openai_response.h).
#pragma once

#include <boost/json/value.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace brio::api {

class JsonFields {
 public:
  JsonFields(const boost::json::object& object, std::string path) : object_(object), path_(std::move(path)) {}

  Result<void> result() const {
    if (error_) return *error_;
    return {};
  }
  bool ok() const { return !error_; }

  // The full name of a field: "messages[2].role".
  std::string path(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }

  // The value, or null when it is absent or JSON null.
  const boost::json::value* find(std::string_view name) const {
    const boost::json::value* value = object_.if_contains(name);
    return value && !value->is_null() ? value : nullptr;
  }

  template <typename... Args>
  void fail(std::string_view name, fmt::format_string<Args...> format, Args&&... args) {
    complain(ErrorCode::kInvalidArgument, name, fmt::format(format, std::forward<Args>(args)...));
  }
  // The complaint about a part of this object, if there is one.
  void adopt(const JsonFields& part) {
    if (!error_) error_ = part.error_;
  }
  void unsupported(std::string_view name, std::string_view what) {
    complain(ErrorCode::kUnsupported, name, std::string(what));
  }

  void text(std::string_view name, std::string& out) {
    const boost::json::value* value = find(name);
    if (!value) return;
    if (!value->is_string()) return fail(name, "has to be a string");
    out = std::string(value->get_string());
  }

  void flag(std::string_view name, bool& out) {
    const boost::json::value* value = find(name);
    if (!value) return;
    if (!value->is_bool()) return fail(name, "has to be true or false");
    out = value->get_bool();
  }

  void number(std::string_view name, double low, double high, float& out) {
    const boost::json::value* value = find(name);
    if (!value) return;
    const std::optional<double> number = as_double(*value);
    if (!number) return fail(name, "has to be a number");
    if (!(*number >= low && *number <= high)) {
      return fail(name, "is {}; it has to be between {} and {}", *number, low, high);
    }
    out = static_cast<float>(*number);
  }

  template <typename Int>
  void integer(std::string_view name, int64_t low, int64_t high, Int& out) {
    const boost::json::value* value = find(name);
    if (!value) return;
    const std::optional<int64_t> number = as_integer(*value);
    if (!number) {
      const std::optional<double> wide = as_double(*value);
      if (!wide || *wide != std::floor(*wide)) return fail(name, "has to be a whole number");
      return fail(name, "is {}; it has to be between {} and {}", *wide, low, high);
    }
    if (*number < low || *number > high) {
      return fail(name, "is {}; it has to be between {} and {}", *number, low, high);
    }
    out = static_cast<int>(*number);
  }

  static std::optional<double> as_double(const boost::json::value& value) {
    if (value.is_double()) return value.get_double();
    if (value.is_int64()) return static_cast<double>(value.get_int64());
    if (value.is_uint64()) return static_cast<double>(value.get_uint64());
    return std::nullopt;
  }

  // Whole numbers that some clients write as 5.0 count; beyond 64 bits signed they do not.
  static std::optional<int64_t> as_integer(const boost::json::value& value) {
    if (value.is_int64()) return value.get_int64();
    if (value.is_double() && std::abs(value.get_double()) < 9e15 &&
        value.get_double() == std::floor(value.get_double())) {
      return static_cast<int64_t>(value.get_double());
    }
    return std::nullopt;
  }

 private:
  void complain(ErrorCode code, std::string_view name, std::string what) {
    if (!error_) error_ = Error{code, fmt::format("'{}' {}", path(name), what), {}};
  }

  const boost::json::object& object_;
  std::string path_;
  std::optional<Error> error_;
};

}  // namespace brio::api
