#include "hub/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/sha256.h"

namespace brio::hub {
namespace {

Error system_error(const std::filesystem::path& path, std::string_view doing) {
  return error(ErrorCode::kIo, "{}: {}: {}", path.string(), doing, std::strerror(errno));
}

// Of the whole file, wherever the descriptor stands.
Result<std::string> sha256_of(int fd, const std::filesystem::path& path, ProgressMeter& meter) {
  Sha256 digest;
  std::vector<char> piece(1 << 20);
  for (int64_t offset = 0;;) {
    const ssize_t got = pread(fd, piece.data(), piece.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, "cannot read");
    if (got == 0) return digest.finish();
    digest.update({piece.data(), static_cast<size_t>(got)});
    offset += got;
    if (!meter.update(offset)) return error(ErrorCode::kCancelled, "stopped");
  }
}

}  // namespace

Result<PartialFile> PartialFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  PartialFile file(path, fd, 0);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0) return system_error(path, "cannot open");
  file.size_ = info.st_size;
  return file;
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

PartialFile::~PartialFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> PartialFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), size_);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return system_error(path_, "cannot write");
    size_ += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<void> PartialFile::truncate(int64_t size_bytes) {
  if (ftruncate(fd_, size_bytes) != 0) return system_error(path_, "cannot shorten");
  size_ = size_bytes;
  return {};
}

Result<bool> PartialFile::starts_as_gguf() const {
  char magic[4] = {};
  if (pread(fd_, magic, sizeof(magic), 0) < 0) return system_error(path_, "cannot read");
  return std::string_view(magic, sizeof(magic)) == "GGUF";
}

Result<std::string> PartialFile::sha256(ProgressMeter& meter) const {
  return sha256_of(fd_, path_, meter);
}

Result<std::string> sha256_of_file(const std::filesystem::path& path, ProgressMeter& meter) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error(path, "cannot open");
  Result<std::string> digest = sha256_of(fd, path, meter);
  ::close(fd);
  return digest;
}

Result<void> PartialFile::finish(const std::filesystem::path& final_path) {
  if (fsync(fd_) != 0) return system_error(path_, "cannot write to disk");
  if (rename(path_.c_str(), final_path.c_str()) != 0) return system_error(path_, "cannot give the file its name");
  // The name, too, should survive a power cut; a file system that cannot promise it is no reason to fail.
  const int folder = ::open(final_path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    ::close(folder);
  }
  return {};
}

int64_t free_bytes(const std::filesystem::path& folder) {
  std::error_code code;
  const std::filesystem::space_info space = std::filesystem::space(folder, code);
  return code || space.available > INT64_MAX ? 0 : static_cast<int64_t>(space.available);
}

}  // namespace brio::hub
