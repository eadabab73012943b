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
#include "weights/file_stamp.h"

namespace brio::weights {

class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), stamp_(other.stamp_) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    stamp_ = other.stamp_;
    return *this;
  }

  // kNotFound when there is no such file, kIo when it cannot be read or is not a regular file. Empty files are legal.
  static Result<MappedFile> open(const std::filesystem::path& path);

  // The same for what this program wrote itself: kInvalidFile where anybody but this user or root may have written it.
  // Symbolic links are not followed.
  static Result<MappedFile> open_own(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const FileStamp& stamp() const { return stamp_; }  // when it was opened

  // Forgets the whole pages inside the range, which must lie within bytes().
  void drop(std::span<const std::byte> range) const;

  // Asks for huge pages where the file system has them (Linux 6.16 on ext4, earlier on xfs): before the first access.
  void prefer_huge_pages() const;
  // How much of the file is mapped by huge pages now; 0 where the system does not tell.
  size_t huge_bytes() const;

 private:
  enum class Trust { kAnyone, kOwn };
  static Result<MappedFile> open(const std::filesystem::path& path, Trust trust);

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  FileStamp stamp_;
};

}  // namespace brio::weights
