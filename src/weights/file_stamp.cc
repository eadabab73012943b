#include "weights/file_stamp.h"

#include <cerrno>
#include <cstring>

namespace brio::weights {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kTick = std::chrono::milliseconds(50);    // the kernel's coarse clock ticks every 1 to 10 ms
constexpr nanoseconds kCoarsestTick = std::chrono::seconds(2);  // FAT; whole seconds: ext3, HFS+
constexpr int64_t kSecond = nanoseconds(std::chrono::seconds(1)).count();

int64_t nanoseconds_of(const timespec& time) {
  return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace

FileStamp FileStamp::of(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_size), info.st_ino, nanoseconds_of(info.st_mtim), nanoseconds_of(info.st_ctim)};
}

Result<FileStamp> FileStamp::of(const std::filesystem::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) return of(info);
  const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
  return error(code, "{}: cannot examine: {}", path.string(), std::strerror(errno));
}

std::chrono::system_clock::time_point FileStamp::settled_from() const {
  const nanoseconds tick = ctime_ns % kSecond == 0 ? kCoarsestTick : kTick;
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(nanoseconds(ctime_ns) + tick));
}

}  // namespace brio::weights
