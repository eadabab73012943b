// Reading one member of a Python wheel, which is a zip archive: untrusted bytes, so nothing is written that the central
// directory, the expected size and the CRC do not agree on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace brio::hub {

// Delivers the bytes of `member` in order. Stored and deflated members; its size must be exactly expected_bytes. Errors
// name the wheel, the member and the byte offset; on an error some bytes may have been delivered already.
Result<void> read_wheel_member(const std::filesystem::path& wheel, std::string_view member, int64_t expected_bytes,
                               const std::function<Result<void>(std::string_view)>& sink);

}  // namespace brio::hub
