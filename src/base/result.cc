#include "base/result.h"

namespace brio {
namespace {

struct CodeRow {
  ErrorCode code;
  std::string_view name;
  int http_status;
  int exit_code;  // 2 usage, 3 bad file, 4 not found, 5 limits, 6 network, 7 numeric, 70 internal, 130 cancelled
};

constexpr CodeRow kCodes[] = {
    {ErrorCode::kInvalidArgument, "invalid_argument", 400, 2},
    {ErrorCode::kInvalidFile, "invalid_file", 422, 3},
    {ErrorCode::kNotFound, "not_found", 404, 4},
    {ErrorCode::kUnsupported, "unsupported", 400, 2},
    {ErrorCode::kContextLengthExceeded, "context_length_exceeded", 400, 5},
    {ErrorCode::kOverloaded, "overloaded", 429, 5},
    {ErrorCode::kOutOfMemory, "out_of_memory", 503, 5},
    {ErrorCode::kUnavailable, "unavailable", 503, 5},
    {ErrorCode::kCancelled, "cancelled", 499, 130},
    {ErrorCode::kTimeout, "timeout", 504, 6},
    {ErrorCode::kNetwork, "network", 502, 6},
    {ErrorCode::kIo, "io", 500, 3},
    {ErrorCode::kChecksum, "checksum", 422, 3},
    {ErrorCode::kNumeric, "numeric", 500, 7},
    {ErrorCode::kInternal, "internal", 500, 70},
};

const CodeRow& row(ErrorCode code) {
  for (const CodeRow& candidate : kCodes) {
    if (candidate.code == code) return candidate;
  }
  return kCodes[std::size(kCodes) - 1];
}

}  // namespace

std::string_view name(ErrorCode code) {
  return row(code).name;
}
int http_status(ErrorCode code) {
  return row(code).http_status;
}
int exit_code(ErrorCode code) {
  return row(code).exit_code;
}

}  // namespace brio
