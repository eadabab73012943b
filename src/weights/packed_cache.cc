#include "weights/packed_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/numerics_id.h"
#include "kernels/linear_layout.h"

namespace brio::weights {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".packed";

class KeyDigest {
 public:
  KeyDigest() : state_(XXH3_createState()) { XXH3_128bits_reset(state_); }
  ~KeyDigest() { XXH3_freeState(state_); }
  KeyDigest(const KeyDigest&) = delete;
  KeyDigest& operator=(const KeyDigest&) = delete;

  void bytes(const void* data, size_t size) { XXH3_128bits_update(state_, data, size); }
  template <typename T>
  void number(T value) {
    bytes(&value, sizeof(value));
  }
  void text(std::string_view text) {  // its length, too: no two lists of texts look alike
    number<uint64_t>(text.size());
    bytes(text.data(), text.size());
  }
  PackedKey result() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_));
    PackedKey key;
    std::memcpy(key.data(), canonical.digest, key.size());
    return key;
  }

 private:
  XXH3_state_t* state_;
};

// NAME-DIGEST.packed: the model's own name for people, a digest of its whole path to tell it from others of that name.
fs::path file_name(const fs::path& model) {
  std::error_code ignored;
  fs::path whole = fs::weakly_canonical(model, ignored);
  if (ignored || whole.empty()) whole = model;
  constexpr size_t kMostNameBytes = 80;
  std::string name = whole.has_filename() ? whole.stem().string() : whole.parent_path().filename().string();
  name.resize(std::min(name.size(), kMostNameBytes));
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
  }
  const std::string& text = whole.native();
  return fmt::format("{}-{:016x}{}", name, XXH3_64bits(text.data(), text.size()), kExtension);
}

// Whether it was packed from a model that is gone. Only the header is read. A file without a whole one counts as well.
bool is_orphan(const fs::path& path) {
  const auto file = MappedFile::open_own(path);
  if (!file.ok()) return false;
  const auto header = PackedHeader::parse(file->bytes());
  if (!header.ok()) return header.error().code == ErrorCode::kInvalidFile;
  std::error_code code;
  return !fs::exists(header->source, code) && !code;
}

// Holds the lock of a writer meanwhile, or does nothing because somebody else holds it.
bool remove_unwanted(const fs::path& path, bool finished) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  std::error_code vanished;
  const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
  const bool removed = locked && (!finished || is_orphan(path)) && fs::remove(path, vanished);
  close(fd);
  return removed;
}

// Waits for the moment from which on another change of a file gives it another stamp, unless that is far off.
bool wait_until_settled(const Checkpoint& checkpoint) {
  constexpr auto kPatience = std::chrono::milliseconds(100);
  const auto now = std::chrono::system_clock::now();
  auto settled = now;
  for (const Checkpoint::SourceFile& file : checkpoint.source_files()) {
    settled = std::max(settled, file.stamp.settled_from());
  }
  if (settled - now > kPatience) return false;
  std::this_thread::sleep_until(settled);
  return true;
}

}  // namespace

PackedKey packed_key(const Checkpoint& checkpoint) {
  KeyDigest digest;
  digest.number(kernels::kLayoutVersion);
  digest.number(kNumericsId);
  for (const Checkpoint::SourceFile& file : checkpoint.source_files()) {
    digest.number(file.stamp.size_bytes);
    digest.number(file.stamp.inode);
    digest.number(file.stamp.mtime_ns);
    digest.number(file.stamp.ctime_ns);
  }
  digest.text(checkpoint.architecture());
  for (const MetadataEntry& entry : checkpoint.metadata().entries()) {
    digest.text(entry.key);
    digest.number(entry.type);
    digest.number(entry.element);
    digest.number(entry.count);
    digest.text({reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()});
  }
  for (const Checkpoint::TensorSummary& tensor : checkpoint.tensors()) {
    digest.text(tensor.name);
    digest.number(tensor.dtype);
    for (const int64_t dim : tensor.dims) digest.number(dim);
    digest.text(checkpoint.sample(tensor.name));
  }
  return digest.result();
}

PackedCache::PackedCache(const fs::path& folder, const Checkpoint& checkpoint, ThreadPool& pool)
    : checkpoint_(&checkpoint),
      path_(folder / file_name(checkpoint.path())),
      settled_(wait_until_settled(checkpoint)),
      key_(packed_key(checkpoint)) {
  auto file = PackedFile::open(path_, key_, pool);
  if (file.ok()) {
    file_ = std::move(file).value();
  } else if (file.error().code != ErrorCode::kNotFound) {
    refused_ = std::move(file).error();
  }
}

std::optional<tensor::Weight> PackedCache::find(std::string_view name, tensor::DType dtype, int64_t rows,
                                                int64_t cols) {
  if (!file_) return std::nullopt;
  auto panels = file_->find(name, dtype, rows, cols);
  if (panels == nullptr) return std::nullopt;
  const tensor::Weight weight(dtype, tensor::Numerics::kDefault, rows, cols, std::move(panels));
  ++num_mapped_;
  mapped_bytes_ += weight.size_bytes();
  matrices_.push_back({std::string(name), weight});
  return weight;
}

void PackedCache::add(std::string_view name, tensor::Weight weight) {
  ++num_packed_;
  matrices_.push_back({std::string(name), std::move(weight)});
}

Result<std::unique_ptr<PackedWriter>> PackedCache::keep(std::function<void(const Result<void>&)> on_end) {
  std::unique_ptr<PackedWriter> writer;
  if (num_packed_ == 0) return writer;
  if (!settled_) {
    return error(ErrorCode::kUnavailable, "{} was written a moment ago", checkpoint_->path().string());
  }
  std::error_code code;
  const fs::path source = fs::absolute(checkpoint_->path(), code);
  if (code) return error(ErrorCode::kIo, "{}: {}", checkpoint_->path().string(), code.message());
  sweep_packed_files(path_.parent_path());
  PackedWriter::Job job{path_, key_, source.string(), std::move(matrices_), checkpoint_->source_files()};
  try {
    writer = std::make_unique<PackedWriter>(std::move(job), std::move(on_end));
  } catch (const std::system_error& failure) {
    return error(ErrorCode::kIo, "no thread: {}", failure.what());
  }
  return writer;
}

int sweep_packed_files(const fs::path& folder) {
  int removed = 0;
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    const fs::path& path = it->path();
    const bool finished = path.extension() != ".new";
    if ((finished ? path : path.stem()).extension() != kExtension) continue;
    removed += remove_unwanted(path, finished) ? 1 : 0;
  }
  return removed;
}

}  // namespace brio::weights
