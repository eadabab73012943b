// PackedCache: the folder of packed files, seen from one model that is being loaded. A file there of the same model files,
// layout and numerics is mapped; otherwise everything is packed as ever, and keep() writes it for the next start.
//
//   PackedCache cache(folder, checkpoint, pool);
//   if (std::optional<Weight> mapped = cache.find(name, rows, cols, dtype)) ...
//   else cache.add(name, pack(...));
//   BRIO_TRY(std::unique_ptr<PackedWriter> writer, cache.keep());     // null when there is nothing to write
//
// The key is a digest of what the model's files are (FileStamp of each), of their metadata and tensor table, of a few bytes
// of every tensor, of the layout version and the numerics id. Not of the ISA: there is one layout for all. One thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/thread_pool.h"
#include "tensor/weight.h"
#include "weights/checkpoint.h"
#include "weights/packed_file.h"
#include "weights/packed_writer.h"

namespace brio::weights {

class PackedCache {
 public:
  // Looks for the file and verifies it with the pool's threads. checkpoint must outlive the cache.
  PackedCache(const std::filesystem::path& folder, const Checkpoint& checkpoint, ThreadPool& pool);

  const std::filesystem::path& path() const { return path_; }
  // Why a file that is there is not used. None: it is used, or there is none.
  const std::optional<Error>& refused() const { return refused_; }

  // The mapped weight; nothing if it has to be packed.
  std::optional<tensor::Weight> find(std::string_view name, tensor::DType dtype, int64_t rows, int64_t cols);
  // A weight that was packed, for keep().
  void add(std::string_view name, tensor::Weight weight);

  int num_mapped() const { return num_mapped_; }
  int num_packed() const { return num_packed_; }
  int64_t mapped_bytes() const { return mapped_bytes_; }
  // What is called mapped is a copy of the file: the system has only small pages for it.
  bool is_copied() const { return file_ && !file_->is_mapped(); }

  // Starts to write what find() and add() gave; null where all of it was mapped. on_end is called by the writer's thread.
  // Errors: kUnavailable for a model file that changed a moment ago, which could not be told from its next version; kIo.
  Result<std::unique_ptr<PackedWriter>> keep(std::function<void(const Result<void>&)> on_end = nullptr);

 private:
  const Checkpoint* checkpoint_;
  std::filesystem::path path_;
  bool settled_;  // the files' stamps would show one more change
  PackedKey key_;
  std::optional<PackedFile> file_;
  std::optional<Error> refused_;
  std::vector<PackedWriter::Matrix> matrices_;
  int num_mapped_ = 0;
  int num_packed_ = 0;
  int64_t mapped_bytes_ = 0;
};

PackedKey packed_key(const Checkpoint& checkpoint);

// Removes packed files, finished or not, of models that are not there any more; returns how many. Files that somebody
// writes stay, and so does what is no packed file.
int sweep_packed_files(const std::filesystem::path& folder);

}  // namespace brio::weights
