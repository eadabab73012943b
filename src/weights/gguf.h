// Gguf: a model file (or the parts of a split one) in the GGUF format, versions 2 and 3, memory-mapped.
//
//   BRIO_TRY(Gguf file, Gguf::open("model.gguf"));
//   BRIO_TRY(uint64_t layers, file.metadata().u64("llama.block_count"));
//   if (const TensorInfo* q = file.find("blk.0.attn_q.weight")) dequantize_row(q->dtype, q->data, q->cols(), row);
//
// open() checks everything once: after it every tensor's bytes lie inside its file, overlap no other tensor and hold
// whole blocks. Errors name the file, the tensor or key, and the byte offset. Nothing is allocated by a number that has
// not been compared with the bytes there are. Immutable after open: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"
#include "weights/mapped_file.h"
#include "weights/metadata.h"

namespace brio::weights {

struct TensorInfo {
  std::string_view name;
  tensor::DType dtype = tensor::DType::kF32;
  int num_dims = 1;                         // 1 .. 4
  std::array<int64_t, 4> dims{1, 1, 1, 1};  // GGUF order: dims[0] is the row length; unused ones are 1
  uint64_t offset = 0;                      // of the first byte, from the start of the file
  const std::byte* data = nullptr;
  int64_t size_bytes = 0;
  int file = 0;  // index of the part that holds it

  int64_t cols() const { return dims[0]; }
  int64_t rows() const { return dims[1] * dims[2] * dims[3]; }
};

// One GGUF file as parsed from bytes that outlive it; Gguf is built of these.
struct GgufPart {
  uint32_t version = 0;
  Metadata metadata;
  std::vector<TensorInfo> tensors;

  static Result<GgufPart> parse(std::span<const std::byte> bytes);
};

// The same error, its message opening with the file's path.
Error in_file(const std::filesystem::path& path, Error cause);

class Gguf {
 public:
  // `path` is a whole file, or any part NAME-0000I-of-0000N.gguf of a split one: all parts must lie beside it.
  static Result<Gguf> open(const std::filesystem::path& path);

  uint32_t version() const { return version_; }
  const Metadata& metadata() const { return metadata_; }  // of the first part
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const TensorInfo* find(std::string_view name) const;
  const std::vector<std::filesystem::path>& paths() const { return paths_; }
  int64_t size_bytes() const;  // of all parts

  const std::vector<MappedFile>& files() const { return files_; }  // one a path

  // Gives back the pages of the first bytes of a tensor.
  void drop(const TensorInfo& tensor, int64_t num_bytes) const;

 private:
  Result<void> add_part(const std::filesystem::path& path, int index, int num_parts);
  Result<void> check_parts(int num_parts) const;

  uint32_t version_ = 0;
  Metadata metadata_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string_view, size_t> index_;
  std::vector<std::filesystem::path> paths_;
  std::vector<MappedFile> files_;
};

}  // namespace brio::weights
