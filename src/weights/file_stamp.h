// FileStamp: what tells one version of a file from another without reading it. ctime is set by the system with every
// change of contents or name and cannot be set back, so that a file put in the place of another (same size, same mtime,
// as copies and packages have) is noticed.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace brio::weights {

struct FileStamp {
  uint64_t size_bytes = 0;
  uint64_t inode = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;

  static FileStamp of(const struct stat& info);
  static Result<FileStamp> of(const std::filesystem::path& path);
  // From when on an equal stamp means equal bytes: the file system's clock, which may be coarse, has gone past ctime, so
  // that one more change gives it another.
  std::chrono::system_clock::time_point settled_from() const;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

}  // namespace brio::weights
