// ByteReader: reads little-endian numbers and strings from untrusted bytes and never past their end. Every error names
// what was being read and the byte offset; a reader that failed has not moved.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/result.h"

namespace brio::weights {

static_assert(std::endian::native == std::endian::little, "brio runs on little-endian machines only");

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }

  template <typename T>
  Result<T> number(std::string_view what) {
    BRIO_TRY(std::span<const std::byte> raw, take(sizeof(T), what));
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  // A u64 length followed by that many bytes.
  Result<std::string_view> string(std::string_view what) {
    const uint64_t start = offset_;
    BRIO_TRY(uint64_t length, number<uint64_t>(what));
    auto text = take(length, what);
    if (!text.ok()) {
      offset_ = start;
      return std::move(text).error();
    }
    return std::string_view(reinterpret_cast<const char*>(text->data()), text->size());
  }

  Result<std::span<const std::byte>> take(uint64_t size_bytes, std::string_view what) {
    if (size_bytes > remaining()) {
      return error(ErrorCode::kInvalidFile, "{} at byte {} needs {} bytes, only {} are left", what, offset_, size_bytes,
                   remaining());
    }
    const std::span<const std::byte> taken = bytes_.subspan(offset_, size_bytes);
    offset_ += size_bytes;
    return taken;
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t offset_ = 0;
};

}  // namespace brio::weights
