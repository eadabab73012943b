// Result<T>: what every function returns whose failure input, files, peers or limits can cause.
//
//   Result<Config> parse(std::string_view text);
//   BRIO_TRY(Config config, parse(text));                     // returns the error to the caller, else declares config
//   BRIO_TRY_OK(check_shape(config));                         // the same for Result<void>
//   return error(ErrorCode::kInvalidFile, "'{}' has {} layers, the most is {}", path, n, kMax);
//
// The set of codes is closed; each maps to one HTTP status and one process exit code. Messages name the field, file or
// byte offset at fault. Broken invariants are not errors: see BRIO_CHECK in check.h. Any thread.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace brio {

enum class ErrorCode {
  kInvalidArgument,        // a flag, field or value the caller gave
  kInvalidFile,            // bytes of a file that are not what they claim
  kNotFound,               // no such file, model, route
  kUnsupported,            // well formed, but brio cannot do it
  kContextLengthExceeded,  // prompt (or prompt + max_tokens) beyond the context
  kOverloaded,             // a queue limit: try again later
  kOutOfMemory,            // a memory budget
  kUnavailable,            // loading or draining
  kCancelled,              // the client went away or asked to stop
  kTimeout,                // a deadline passed
  kNetwork,                // a peer failed or cannot be reached
  kIo,                     // the operating system refused
  kChecksum,               // bytes differ from their digest
  kNumeric,                // NaN or infinite logits
  kInternal,               // a fault of brio's own, survived
};

std::string_view name(ErrorCode code);  // "invalid_argument", ...
int http_status(ErrorCode code);        // 400, 404, 429, 500, ...
int exit_code(ErrorCode code);          // 2 usage, 3 file, 4 not found, ... (docs in result.cc)

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one line, no trailing full stop needed
  std::string hint;     // optional second line: what the user can do
};

template <typename... Args>
Error error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...), {}};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const {}
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace brio

#define BRIO_CONCAT_INNER(a, b) a##b
#define BRIO_CONCAT(a, b) BRIO_CONCAT_INNER(a, b)
#define BRIO_TRY_IMPL(result, declaration, ...)       \
  auto result = (__VA_ARGS__);                        \
  if (!result.ok()) return std::move(result).error(); \
  declaration = std::move(result).value()
#define BRIO_TRY(declaration, ...) BRIO_TRY_IMPL(BRIO_CONCAT(brio_result_, __COUNTER__), declaration, __VA_ARGS__)
#define BRIO_TRY_OK(...)                                                                            \
  do {                                                                                              \
    if (auto brio_status = (__VA_ARGS__); !brio_status.ok()) return std::move(brio_status).error(); \
  } while (false)
