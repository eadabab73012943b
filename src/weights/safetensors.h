// Safetensors: the tensors of a model.safetensors file or of a sharded folder (model.safetensors.index.json), mapped.
//
//   BRIO_TRY(Safetensors file, Safetensors::open("folder"));
//   const SafetensorsTensor* norm = file.find("model.norm.weight");     // Hugging Face names
//
// open() checks everything once, as Gguf does: after it every tensor's bytes lie inside its file and overlap no other.
// F32, F16 and BF16 only. Errors name the file, the tensor or field, and the byte offset. Immutable: any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"
#include "weights/mapped_file.h"

namespace brio::weights {

struct SafetensorsTensor {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  std::vector<int64_t> shape;  // row-major, the row length last; a scalar is [1]
  const std::byte* data = nullptr;
  int64_t size_bytes = 0;
  int file = 0;
};

// The header of one file: tensors with `data` set, in the order of the header. The bytes must outlive the result.
Result<std::vector<SafetensorsTensor>> parse_safetensors(std::span<const std::byte> bytes);

class Safetensors {
 public:
  // A single file, or a folder that holds model.safetensors.index.json with its shards or model.safetensors.
  static Result<Safetensors> open(const std::filesystem::path& path);

  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }
  const SafetensorsTensor* find(std::string_view name) const;
  int64_t size_bytes() const;
  const std::vector<std::filesystem::path>& paths() const { return paths_; }
  const std::vector<MappedFile>& files() const { return files_; }  // one a path
  void drop(const SafetensorsTensor& tensor, int64_t num_bytes) const;

 private:
  Result<void> add_file(const std::filesystem::path& path);
  Result<void> add_shards(const std::filesystem::path& index_path);

  std::vector<SafetensorsTensor> tensors_;
  std::unordered_map<std::string, size_t> index_;
  std::vector<std::filesystem::path> paths_;
  std::vector<MappedFile> files_;
};

}  // namespace brio::weights
