#include "hub/wheel.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace brio::hub {
namespace {

// Sizes and signatures of the zip format's records.
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEntrySignature = 0x02014b50;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr int64_t kEndBytes = 22;
constexpr int64_t kEntryBytes = 46;
constexpr int64_t kLocalBytes = 30;
constexpr int64_t kMaxCommentBytes = 65535;
constexpr int64_t kMaxDirectoryBytes = 16 << 20;  // a wheel with a model in it has a handful of members
constexpr size_t kPieceBytes = 1 << 18;

using Sink = std::function<Result<void>(std::string_view)>;

struct Entry {
  uint16_t flags = 0;
  uint16_t method = 0;  // 0 stored, 8 deflated
  uint32_t crc = 0;
  int64_t packed_bytes = 0;
  int64_t bytes = 0;
  int64_t local_offset = 0;
};

uint16_t u16(const std::string& bytes, size_t at) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[at]) | static_cast<uint8_t>(bytes[at + 1]) << 8);
}
uint32_t u32(const std::string& bytes, size_t at) {
  return u16(bytes, at) | static_cast<uint32_t>(u16(bytes, at + 2)) << 16;
}

class Wheel {
 public:
  static Result<Wheel> open(const std::filesystem::path& path) {
    Wheel wheel(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (wheel.fd_ < 0 || fstat(wheel.fd_, &info) != 0) {
      return error(ErrorCode::kIo, "{}: cannot open: {}", path.string(), std::strerror(errno));
    }
    wheel.size_ = info.st_size;
    return wheel;
  }
  Wheel(Wheel&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}
  Wheel& operator=(Wheel&&) = delete;
  ~Wheel() {
    if (fd_ >= 0) ::close(fd_);
  }

  Result<Entry> find(std::string_view member) const;
  Result<void> read(const Entry& entry, std::string_view member, const Sink& sink) const;

 private:
  Wheel(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  Error broken(int64_t offset, std::string_view what) const {
    return error(ErrorCode::kInvalidFile, "{}: not a sound wheel: {} (byte {})", path_.filename().string(), what,
                 offset);
  }
  // Exactly size_bytes from offset; both must lie inside the file.
  Result<std::string> bytes_at(int64_t offset, int64_t size_bytes) const;
  Result<std::string> directory() const;
  Result<void> read_stored(int64_t offset, const Entry& entry, const Sink& sink) const;
  Result<void> read_deflated(int64_t offset, const Entry& entry, const Sink& sink) const;

  std::filesystem::path path_;
  int fd_;
  int64_t size_ = 0;
};

Result<std::string> Wheel::bytes_at(int64_t offset, int64_t size_bytes) const {
  if (offset < 0 || offset > size_ || size_bytes > size_ - offset) {
    return broken(offset, fmt::format("{} bytes lie outside the file of {}", size_bytes, size_));
  }
  std::string bytes(static_cast<size_t>(size_bytes), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = pread(fd_, bytes.data() + done, bytes.size() - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return broken(offset, "the file cannot be read");
    done += static_cast<size_t>(got);
  }
  return bytes;
}

Result<std::string> Wheel::directory() const {
  // The end record is the last one of the file; only a comment may follow it.
  const int64_t tail_bytes = std::min(size_, kEndBytes + kMaxCommentBytes);
  BRIO_TRY(std::string tail, bytes_at(size_ - tail_bytes, tail_bytes));
  for (int64_t at = tail_bytes - kEndBytes; at >= 0; --at) {
    const auto end = static_cast<size_t>(at);
    if (u32(tail, end) != kEndSignature) continue;
    const int64_t directory_bytes = u32(tail, end + 12);
    const int64_t directory_offset = u32(tail, end + 16);
    if (directory_bytes > kMaxDirectoryBytes)
      return broken(size_ - tail_bytes + at, "its directory is too large, or zip64");
    return bytes_at(directory_offset, directory_bytes);
  }
  return broken(size_, "no end record: it may be incomplete");
}

Result<Entry> Wheel::find(std::string_view member) const {
  BRIO_TRY(std::string all, directory());
  size_t at = 0;
  std::optional<Entry> found;
  while (all.size() - at >= kEntryBytes) {
    if (u32(all, at) != kEntrySignature) return broken(static_cast<int64_t>(at), "a directory entry is damaged");
    const size_t name_bytes = u16(all, at + 28);
    const size_t total = kEntryBytes + name_bytes + u16(all, at + 30) + u16(all, at + 32);
    if (total > all.size() - at) return broken(static_cast<int64_t>(at), "a directory entry is cut off");
    if (std::string_view(all).substr(at + kEntryBytes, name_bytes) == member) {
      if (found) return broken(static_cast<int64_t>(at), fmt::format("member '{}' appears twice", member));
      found = Entry{u16(all, at + 8),  u16(all, at + 10), u32(all, at + 16),
                    u32(all, at + 20), u32(all, at + 24), u32(all, at + 42)};
    }
    at += total;
  }
  if (!found) return broken(0, fmt::format("there is no member '{}'", member));
  return *found;
}

Result<void> Wheel::read(const Entry& entry, std::string_view member, const Sink& sink) const {
  BRIO_TRY(std::string local, bytes_at(entry.local_offset, kLocalBytes));
  if (u32(local, 0) != kLocalSignature) return broken(entry.local_offset, "a member's header is damaged");
  const int64_t data = entry.local_offset + kLocalBytes + u16(local, 26) + u16(local, 28);
  if (data > size_ || entry.packed_bytes > size_ - data) {
    return broken(data, fmt::format("member '{}' lies outside the file", member));
  }
  uLong crc = crc32(0, nullptr, 0);
  const Sink checked = [&](std::string_view bytes) {
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    return sink(bytes);
  };
  if (entry.method == 0) {
    BRIO_TRY_OK(read_stored(data, entry, checked));
  } else {
    BRIO_TRY_OK(read_deflated(data, entry, checked));
  }
  if (crc != entry.crc) return broken(data, fmt::format("member '{}' does not match its checksum", member));
  return {};
}

Result<void> Wheel::read_stored(int64_t offset, const Entry& entry, const Sink& sink) const {
  if (entry.packed_bytes != entry.bytes) return broken(offset, "a stored member has two sizes");
  for (int64_t done = 0; done < entry.bytes;) {
    const int64_t piece = std::min<int64_t>(kPieceBytes, entry.bytes - done);
    BRIO_TRY(std::string bytes, bytes_at(offset + done, piece));
    BRIO_TRY_OK(sink(bytes));
    done += piece;
  }
  return {};
}

struct Inflater {
  z_stream stream{};
  bool ready = inflateInit2(&stream, -MAX_WBITS) == Z_OK;  // raw: zip members have no zlib header
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

Result<void> Wheel::read_deflated(int64_t offset, const Entry& entry, const Sink& sink) const {
  Inflater inflater;
  if (!inflater.ready) return error(ErrorCode::kOutOfMemory, "zlib cannot start");
  std::vector<char> out(kPieceBytes);
  int64_t read_bytes = 0;
  int64_t written = 0;
  int status = Z_OK;
  bool full = false;  // the output was: more of it may be pending
  std::string in;
  while (status != Z_STREAM_END) {
    if (inflater.stream.avail_in == 0 && !full) {
      const int64_t piece = std::min<int64_t>(kPieceBytes, entry.packed_bytes - read_bytes);
      if (piece == 0) return broken(offset + read_bytes, "a member ends too early");
      BRIO_TRY(in, bytes_at(offset + read_bytes, piece));
      read_bytes += piece;
      inflater.stream.next_in = reinterpret_cast<Bytef*>(in.data());
      inflater.stream.avail_in = static_cast<uInt>(in.size());
    }
    inflater.stream.next_out = reinterpret_cast<Bytef*>(out.data());
    inflater.stream.avail_out = static_cast<uInt>(out.size());
    status = inflate(&inflater.stream, Z_NO_FLUSH);
    if (status == Z_BUF_ERROR) status = Z_OK;  // nothing was pending after all
    if (status != Z_OK && status != Z_STREAM_END) return broken(offset + read_bytes, "a member's data is damaged");
    const size_t produced = out.size() - inflater.stream.avail_out;
    full = inflater.stream.avail_out == 0;
    written += static_cast<int64_t>(produced);
    if (written > entry.bytes) return broken(offset, "a member is longer than its directory says");
    BRIO_TRY_OK(sink({out.data(), produced}));
  }
  if (written != entry.bytes) return broken(offset, "a member is shorter than its directory says");
  return {};
}

}  // namespace

Result<void> read_wheel_member(const std::filesystem::path& wheel_path, std::string_view member, int64_t expected_bytes,
                               const Sink& sink) {
  BRIO_TRY(Wheel wheel, Wheel::open(wheel_path));
  BRIO_TRY(Entry entry, wheel.find(member));
  const std::string name = wheel_path.filename().string();
  constexpr uint16_t kEncrypted = 1;
  if ((entry.flags & kEncrypted) != 0 || (entry.method != 0 && entry.method != 8)) {
    return error(ErrorCode::kUnsupported, "{}: member '{}' is encrypted or packed by method {}", name, member,
                 entry.method);
  }
  if (entry.bytes != expected_bytes) {
    return error(ErrorCode::kInvalidFile, "{}: member '{}' has {} bytes, expected {}", name, member, entry.bytes,
                 expected_bytes);
  }
  return wheel.read(entry, member, sink);
}

}  // namespace brio::hub
