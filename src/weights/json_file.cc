#include "weights/json_file.h"

#include <boost/json/parse_options.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/value.hpp>
#include <exception>

#include "weights/mapped_file.h"

namespace brio::weights {
namespace {

constexpr int kMaxDepth = 32;

}  // namespace

Result<std::string> read_text_file(const std::filesystem::path& path, uint64_t max_bytes) {
  BRIO_TRY(MappedFile file, MappedFile::open(path));
  if (file.bytes().size() > max_bytes) {
    return error(ErrorCode::kInvalidFile, "{}: {} bytes, the most is {}", path.string(), file.bytes().size(),
                 max_bytes);
  }
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

Result<boost::json::object> parse_json_object(std::string_view text, const std::filesystem::path& path) {
  try {
    boost::json::parse_options options;
    options.max_depth = kMaxDepth;
    boost::json::parser parser({}, options);
    boost::system::error_code code;
    const size_t read = parser.write(text.data(), text.size(), code);
    if (code) {
      return error(ErrorCode::kInvalidFile, "{}: not valid JSON at byte {}: {}", path.string(), read, code.message());
    }
    boost::json::value value = parser.release();
    if (!value.is_object()) return error(ErrorCode::kInvalidFile, "{}: not a JSON object", path.string());
    return std::move(value.as_object());
  } catch (const std::exception& failure) {
    return error(ErrorCode::kInvalidFile, "{}: cannot read the JSON: {}", path.string(), failure.what());
  }
}

}  // namespace brio::weights
