// PartialFile: a download on its way, appended to and kept across attempts. Owned by one pull, under the store's lock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "hub/progress.h"

namespace brio::hub {

class PartialFile {
 public:
  // Opens or creates; what an earlier attempt wrote is kept.
  static Result<PartialFile> open(const std::filesystem::path& path);
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  ~PartialFile();

  int64_t size_bytes() const { return size_; }
  Result<void> append(std::string_view bytes);
  Result<void> truncate(int64_t size_bytes);
  // A model file starts with "GGUF"; false for anything else, a page of a login form for example.
  Result<bool> starts_as_gguf() const;
  Result<std::string> sha256(ProgressMeter& meter) const;  // kCancelled if the meter says so
  // Makes the bytes durable, then moves the file to its final name in one step.
  Result<void> finish(const std::filesystem::path& final_path);

 private:
  PartialFile(std::filesystem::path path, int fd, int64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}

  std::filesystem::path path_;
  int fd_;
  int64_t size_;
};

Result<std::string> sha256_of_file(const std::filesystem::path& path, ProgressMeter& meter);  // as above

// Room left for unprivileged writers in a folder; 0 if unknown.
int64_t free_bytes(const std::filesystem::path& folder);

}  // namespace brio::hub
