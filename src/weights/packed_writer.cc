#include "weights/packed_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include "base/arena.h"

namespace brio::weights {
namespace {

namespace fs = std::filesystem;

// So many are on the disk before the next are written: a gigabyte of dirty pages would slow down everybody who writes, and
// giving up would have to wait for all of it.
constexpr uint64_t kFlushedChunks = 16;

Error failed(const fs::path& path, const char* doing, int number = errno) {
  return error(ErrorCode::kIo, "{}: {}: {}", path.string(), doing, std::strerror(number));
}

// A descriptor that is closed, and a file name that is removed unless it was given away.
struct Temporary {
  ~Temporary() {
    if (owned) unlink(path.c_str());
    if (descriptor >= 0) close(descriptor);  // releases the lock
  }
  fs::path path;
  int descriptor = -1;
  bool owned = false;
};

// Opens and locks the file under that name.
Result<void> take(Temporary& temporary) {
  const int fd = open(temporary.path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) return failed(temporary.path, "cannot create");
  temporary.descriptor = fd;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed(temporary.path, "cannot lock");
    return error(ErrorCode::kUnavailable, "{}: another process is writing it", temporary.path.string());
  }
  // Between open and flock another process may have given this very file its final name: then it is not ours to write.
  struct stat ours {};
  struct stat named {};
  const bool same = fstat(fd, &ours) == 0 && lstat(temporary.path.c_str(), &named) == 0 &&
                    ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
  if (!same) return error(ErrorCode::kUnavailable, "{}: another process has written it", temporary.path.string());
  if (!S_ISREG(ours.st_mode)) return error(ErrorCode::kIo, "{}: not a regular file", temporary.path.string());
  temporary.owned = true;
  if (fchmod(fd, 0600) != 0 || ftruncate(fd, 0) != 0) return failed(temporary.path, "cannot empty");
  return {};
}

// As much stays free as the file takes: a cache must not be what fills a disk.
Result<void> reserve(int descriptor, const fs::path& path, uint64_t size_bytes) {
  struct statvfs disk {};
  if (fstatvfs(descriptor, &disk) == 0) {
    const uint64_t free_bytes = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
    if (free_bytes / 2 < size_bytes) {
      return error(ErrorCode::kIo, "{}: {} MB are free, {} MB would not leave half of that", path.string(),
                   free_bytes / 1'000'000, size_bytes / 1'000'000);
    }
  }
  if (fallocate(descriptor, 0, 0, static_cast<off_t>(size_bytes)) != 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
    return failed(path, "cannot reserve space");
  }
  return {};
}

Result<void> write_at(int descriptor, std::span<const std::byte> bytes, uint64_t offset, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t got = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failed(path, "cannot write", got == 0 ? ENOSPC : errno);
    bytes = bytes.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

// For this thread: no signal (a file size limit then is an error of write), and the last turn at the processor.
void step_back() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  constexpr int kLowest = 19;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowest);
}

}  // namespace

PackedWriter::PackedWriter(Job job, std::function<void(const Result<void>&)> on_end)
    : job_(std::move(job)), temporary_(job_.path.string() + ".new"), on_end_(std::move(on_end)) {
  header_.key = job_.key;
  header_.source = job_.source;
  for (const Matrix& matrix : job_.matrices) {
    header_.tensors.push_back(
        {matrix.name, matrix.weight.source(), matrix.weight.rows(), matrix.weight.cols(), /*offset=*/0});
  }
  header_.lay_out();
  thread_ = std::thread([this] {
    step_back();
    try {
      result_ = write();
    } catch (const std::bad_alloc&) {
      result_ = error(ErrorCode::kOutOfMemory, "no memory");
    } catch (const fs::filesystem_error& failure) {
      result_ = error(ErrorCode::kIo, "{}", failure.what());
    }
    job_.matrices.clear();
    if (on_end_) on_end_(result_);
    done_.store(true);
  });
}

PackedWriter::~PackedWriter() {
  cancel();
  if (thread_.joinable()) thread_.join();
}

Result<void> PackedWriter::result() {
  if (thread_.joinable()) thread_.join();
  return result_;
}

Result<void> PackedWriter::write() {
  std::error_code code;
  fs::create_directories(job_.path.parent_path(), code);
  if (code) return error(ErrorCode::kIo, "{}: {}", job_.path.parent_path().string(), code.message());
  Temporary temporary;
  temporary.path = temporary_;
  BRIO_TRY_OK(take(temporary));
  BRIO_TRY_OK(reserve(temporary.descriptor, temporary_, static_cast<uint64_t>(size_bytes())));
  BRIO_TRY_OK(write_data(temporary.descriptor));
  BRIO_TRY_OK(publish(temporary.descriptor));
  temporary.owned = false;
  return {};
}

// Chunk by chunk, each written at once: the page cache can then hold it as one huge page.
Result<void> PackedWriter::write_data(int descriptor) {
  BRIO_TRY(const AlignedBuffer chunk, AlignedBuffer::create(kChunkBytes));
  size_t next = 0;  // the first tensor that does not lie wholly before the chunk
  for (size_t i = 0; i < header_.checksums.size(); ++i) {
    if (cancelled_.load()) return error(ErrorCode::kCancelled, "given up");
    const uint64_t begin = i * kChunkBytes;
    const uint64_t end = std::min(begin + kChunkBytes, header_.data_bytes);
    std::memset(chunk.data(), 0, kChunkBytes);
    for (size_t t = next; t < header_.tensors.size() && header_.tensors[t].offset < end; ++t) {
      const PackedTensor& tensor = header_.tensors[t];
      const uint64_t from = std::max(begin, tensor.offset);
      const uint64_t to = std::min(end, tensor.offset + tensor.size_bytes());
      if (to <= from) continue;
      std::memcpy(chunk.data() + (from - begin), job_.matrices[t].weight.panels() + (from - tensor.offset), to - from);
    }
    while (next < header_.tensors.size() && header_.tensors[next].offset + header_.tensors[next].size_bytes() <= end) {
      ++next;
    }
    const std::span<const std::byte> bytes(chunk.data(), end - begin);
    header_.checksums[i] = checksum(bytes);
    BRIO_TRY_OK(write_at(descriptor, bytes, header_.data_offset + begin, temporary_));
    written_.store(end);
    if ((i + 1) % kFlushedChunks == 0) {
      const uint64_t window = kFlushedChunks * kChunkBytes;
      // Advice in effect: what fails here fails again in fsync, which is looked at.
      sync_file_range(descriptor, static_cast<off_t>(header_.data_offset + begin + kChunkBytes - window),
                      static_cast<off_t>(window),
                      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    }
  }
  return {};
}

// The header comes last: without it the file is none.
Result<void> PackedWriter::publish(int descriptor) {
  const std::string header = header_.to_bytes();
  BRIO_TRY_OK(write_at(descriptor, std::as_bytes(std::span(header)), 0, temporary_));
  if (fsync(descriptor) != 0) return failed(temporary_, "cannot write");
  for (const Checkpoint::SourceFile& file : job_.files) {
    BRIO_TRY(const FileStamp stamp, FileStamp::of(file.path));
    if (stamp != file.stamp) return error(ErrorCode::kUnavailable, "{} has changed meanwhile", file.path.string());
  }
  if (cancelled_.load()) return error(ErrorCode::kCancelled, "given up");
  if (rename(temporary_.c_str(), job_.path.c_str()) != 0) return failed(job_.path, "cannot rename");
  const int folder = open(job_.path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);  // fails: after a power cut the file may be gone, and is written again
    close(folder);
  }
  return {};
}

}  // namespace brio::weights
