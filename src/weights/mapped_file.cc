#include "weights/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "base/check.h"

namespace brio::weights {
namespace {

Error system_error(const std::filesystem::path& path, const char* doing) {
  const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
  return error(code, "{}: {}: {}", path.string(), doing, std::strerror(errno));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  return open(path, Trust::kAnyone);
}

Result<MappedFile> MappedFile::open_own(const std::filesystem::path& path) {
  return open(path, Trust::kOwn);
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path, Trust trust) {
  const bool own = trust == Trust::kOwn;
  // O_NONBLOCK: opening a pipe by mistake must not wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (own ? O_NOFOLLOW : 0));
  if (fd < 0) return system_error(path, "cannot open");
  MappedFile file;
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    Error failure = system_error(path, "cannot examine");
    close(fd);
    return failure;
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return error(ErrorCode::kIo, "{}: not a regular file", path.string());
  }
  if (own && ((info.st_uid != geteuid() && info.st_uid != 0) || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)) {
    close(fd);
    return error(ErrorCode::kInvalidFile, "{}: others than this user may have written it", path.string());
  }
  file.stamp_ = FileStamp::of(info);
  if (info.st_size > 0) {
    void* data = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      Error failure = system_error(path, "cannot map");
      close(fd);
      return failure;
    }
    file.data_ = static_cast<const std::byte*>(data);
    file.size_ = static_cast<size_t>(info.st_size);
  }
  close(fd);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::drop(std::span<const std::byte> range) const {
  if (range.empty()) return;
  BRIO_CHECK(range.data() >= data_ && range.data() + range.size() <= data_ + size_);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = (static_cast<size_t>(range.data() - data_) + page - 1) / page * page;
  const size_t end = (static_cast<size_t>(range.data() - data_) + range.size()) / page * page;
  // Advice only: a failure costs memory, never correctness.
  if (begin < end) madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::prefer_huge_pages() const {
  if (data_ != nullptr) madvise(const_cast<std::byte*>(data_), size_, MADV_HUGEPAGE);  // advice only
}

size_t MappedFile::huge_bytes() const {
  std::ifstream smaps("/proc/self/smaps");  // proc(5): a line "from-to ..." for each mapping, then "Name:  number kB"
  const std::string ours = fmt::format("{:x}-", reinterpret_cast<uintptr_t>(data_));
  bool found = false;
  for (std::string line; std::getline(smaps, line);) {
    const bool is_mapping = line.find(':') != line.find_first_of(": ");
    if (is_mapping) found = line.starts_with(ours);
    size_t kilobytes = 0;
    if (found && std::sscanf(line.c_str(), "FilePmdMapped: %zu", &kilobytes) == 1) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace brio::weights
