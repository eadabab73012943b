#include "hub/store.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "hub/catalogue.h"

namespace brio::hub {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxNameBytes = 200;  // leaves room for suffixes within the 255 of file systems

fs::path user_home() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  const passwd* user = getpwuid(getuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "/";
}

Error unknown_model(const std::string& name) {
  Error failure = error(ErrorCode::kNotFound, "there is no file or model called '{}'", name);
  std::string known;
  for (const CatalogueEntry& entry : catalogue()) known += (known.empty() ? "" : ", ") + entry.name;
  failure.hint = fmt::format("brio knows {}; it also takes a path to a .gguf file or a safetensors folder.", known);
  return failure;
}

}  // namespace

fs::path home() {
  if (const char* folder = std::getenv("BRIO_HOME"); folder != nullptr && *folder != '\0') return folder;
  return user_home() / ".cache" / "brio";
}

StoreLock::~StoreLock() {
  if (fd_ >= 0) close(fd_);  // closing releases the lock
}
StoreLock::StoreLock(StoreLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Result<void> check_name(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
  if (plain && !name.empty() && name[0] != '.' && name.size() <= kMaxNameBytes) return {};
  return error(ErrorCode::kInvalidArgument, "'{}' is no model name: letters, digits, '.', '_' and '-' only", name);
}

fs::path Store::path(std::string_view name) const {
  return folder_ / fmt::format("{}.gguf", name);
}
fs::path Store::partial_path(std::string_view name) const {
  return folder_ / fmt::format("{}.partial", name);
}
fs::path Store::work_folder(std::string_view name) const {
  return folder_ / fmt::format("{}.work", name);
}

bool Store::has(std::string_view name) const {
  std::error_code ignored;
  return check_name(name).ok() && fs::is_regular_file(path(name), ignored);
}

std::vector<StoredModel> Store::list() const {
  std::vector<StoredModel> models;
  std::error_code code;
  for (fs::directory_iterator it(folder_, code), end; !code && it != end; it.increment(code)) {
    std::error_code vanished;
    if (it->path().extension() != ".gguf" || !it->is_regular_file(vanished)) continue;
    models.push_back({it->path().stem().string(), it->path(), static_cast<int64_t>(it->file_size(vanished))});
  }
  std::sort(models.begin(), models.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return models;
}

Result<void> Store::create_folder() const {
  std::error_code code;
  fs::create_directories(folder_, code);
  if (code) return error(ErrorCode::kIo, "{}: cannot create the folder: {}", folder_.string(), code.message());
  return {};
}

Result<StoreLock> Store::lock(std::string_view name) const {
  const fs::path file = folder_ / fmt::format("{}.lock", name);
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return error(ErrorCode::kIo, "{}: cannot open: {}", file.string(), std::strerror(errno));
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return StoreLock(fd);
  const bool held = errno == EWOULDBLOCK;
  const std::string reason = std::strerror(errno);
  close(fd);
  if (held) return error(ErrorCode::kUnavailable, "another brio is working on '{}'", name);
  return error(ErrorCode::kIo, "{}: cannot lock: {}", file.string(), reason);
}

Result<void> Store::remove(std::string_view name) const {
  BRIO_TRY_OK(check_name(name));
  std::error_code code;
  if (!fs::is_directory(folder_, code))
    return error(ErrorCode::kNotFound, "model '{}' is not in {}", name, folder_.string());
  BRIO_TRY(StoreLock held, lock(name));
  std::uintmax_t removed = 0;
  for (const fs::path& file : {path(name), partial_path(name), work_folder(name)}) {
    const std::uintmax_t count = fs::remove_all(file, code);
    if (code) return error(ErrorCode::kIo, "{}: cannot remove: {}", file.string(), code.message());
    removed += count;
  }
  // Also what describes them. The lock file stays: removing it would let two processes hold different ones.
  for (const std::string_view suffix : {".etag", ".source"}) {
    fs::remove(folder_ / fmt::format("{}{}", name, suffix), code);
  }
  if (removed == 0) return error(ErrorCode::kNotFound, "model '{}' is not in {}", name, folder_.string());
  return {};
}

Result<fs::path> resolve(const std::string& name_or_path, const Store& store) {
  std::error_code ignored;
  if (name_or_path.empty()) return error(ErrorCode::kInvalidArgument, "no model was named");
  const bool is_name = find_entry(name_or_path) != nullptr;  // a folder that happens to be called so is ./NAME
  if (!is_name && fs::exists(name_or_path, ignored)) return fs::path(name_or_path);
  if (store.has(name_or_path)) return store.path(name_or_path);
  if (is_name && fs::is_regular_file(name_or_path, ignored)) return fs::path(name_or_path);
  if (find_entry(name_or_path) == nullptr) return unknown_model(name_or_path);
  Error absent = error(ErrorCode::kNotFound, "model '{}' is not on this machine yet", name_or_path);
  absent.hint = fmt::format("Get it with: brio pull {}", name_or_path);
  return absent;
}

}  // namespace brio::hub
