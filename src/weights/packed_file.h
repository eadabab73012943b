// PackedFile: the packed matrices of a model (kernels/linear.h) in a file of their own, mapped instead of packed again.
// The pages are the system's cache: several processes share them, and starting costs one look at them. Where the system maps
// the file by small pages only, a copy in huge ones takes its place: decoding reads all of it every step, and with small
// pages a quarter slower (measured: 12.3 and 16.5 GB/s a core on Sapphire Rapids).
//
//   BRIO_TRY(PackedFile packed, PackedFile::open(path, key, pool));      // read whole, every checksum compared
//   if (auto panels = packed.find("blk.0.attn_q.weight", DType::kQ4_K, 1536, 1536)) ...
//
// Layout of the file: packed_header.h. A file is believed when only this user or root can have written it, its header
// and all data agree with their checksums, and its key is the model's. What any other bytes could do is give wrong
// numbers: panels hold no lengths or offsets. Immutable: any thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "base/thread_pool.h"
#include "weights/mapped_file.h"
#include "weights/packed_header.h"

namespace brio::weights {

class PackedFile {
 public:
  // Errors: kNotFound; kUnsupported: by another version of brio; kUnavailable: of another version of the model's files;
  // kInvalidFile and kChecksum: damaged. Messages do not repeat the path.
  static Result<PackedFile> open(const std::filesystem::path& path, const PackedKey& key, ThreadPool& pool);

  // The panels of the tensor; null if the file has none of that name, type and shape. They keep the file's data alive.
  std::shared_ptr<const std::byte> find(std::string_view name, tensor::DType dtype, int64_t rows, int64_t cols) const;

  bool is_mapped() const { return file_ != nullptr; }  // false: copied

 private:
  void settle(MappedFile file, ThreadPool& pool);

  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<const std::byte> data_;  // of file_ or a copy
  PackedHeader header_;
  std::unordered_map<std::string_view, const PackedTensor*> index_;
};

}  // namespace brio::weights
