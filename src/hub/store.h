// Store: the folder of models on this machine, $BRIO_HOME/models or ~/.cache/brio/models. A model NAME is the file
// NAME.gguf; a download in progress is NAME.partial and takes its final name only when it is whole and verified.
//
//   BRIO_TRY(std::filesystem::path file, hub::resolve("smollm2-135m"));   // or a path
//
// Several processes may use one store: pulls and removals of a name exclude each other by a lock file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brio::hub {

// Where brio keeps what it downloads and remembers: $BRIO_HOME, else ~/.cache/brio.
std::filesystem::path home();

// Held while a name is being written or removed; released by the destructor, or by the system if the process dies.
class StoreLock {
 public:
  explicit StoreLock(int fd) : fd_(fd) {}
  ~StoreLock();
  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&&) = delete;

 private:
  int fd_;
};

struct StoredModel {
  std::string name;
  std::filesystem::path path;
  int64_t size_bytes = 0;
};

class Store {
 public:
  explicit Store(std::filesystem::path folder = home() / "models") : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path(std::string_view name) const;          // NAME.gguf, there or not
  std::filesystem::path partial_path(std::string_view name) const;  // NAME.partial
  std::filesystem::path work_folder(std::string_view name) const;   // NAME.work: packages on their way
  bool has(std::string_view name) const;
  std::vector<StoredModel> list() const;  // by name

  Result<void> create_folder() const;
  // kUnavailable while another process holds it.
  Result<StoreLock> lock(std::string_view name) const;
  // Deletes the model and whatever a pull left unfinished; kNotFound if there was neither.
  Result<void> remove(std::string_view name) const;

 private:
  std::filesystem::path folder_;
};

// Letters, digits, '.', '_' and '-', not starting with '.': such a name cannot leave the store's folder.
Result<void> check_name(std::string_view name);

// A path that exists wins; else a model in the store. The error for a known but absent model says `brio pull NAME`,
// that for an unknown one lists the names known.
Result<std::filesystem::path> resolve(const std::string& name_or_path, const Store& store = Store());

}  // namespace brio::hub
