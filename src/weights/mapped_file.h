// MappedFile: a regular file mapped read-only, for as long as the object lives.
//
// Bytes are shared with the page cache, so an unread tensor costs no memory. drop() gives back the pages of a range
// that has been packed; reading them again is legal and reads the file again. A file that shrinks while mapped raises
// SIGBUS on access, as any mapping does. Any thread may read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

#include "base/result.h"

namespace brio::weights {

class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  // kNotFound when there is no such file, kIo when it cannot be read or is not a regular file. Empty files are legal.
  static Result<MappedFile> open(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Forgets the whole pages inside the range, which must lie within bytes().
  void drop(std::span<const std::byte> range) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace brio::weights
