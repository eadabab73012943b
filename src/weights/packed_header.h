// The header of a packed file (packed_file.h): what it was packed from, where each matrix lies, checksums of the data.
//
//   0   "BRIOPACK"
//   8   u64 header_bytes, from the start of the file to the end of the checksums
//   16  u8[16] digest of the bytes [32, header_bytes)                                  XXH3-128
//   32  u32 layout version (kernels::kLayoutVersion), u32 numerics id, u8[16] key
//   56  u64 data_offset, u64 data_bytes        the file ends at their sum
//   72  u64 length + path of the model, u64 number of tensors, and for each
//         u64 length + name, u32 type (DType), i64 rows, i64 cols, u64 offset in the data
//       u64 checksum of every chunk of kChunkBytes of the data, the last one may be shorter  XXH3-64
//   data_offset (a multiple of kChunkBytes) the panels (kernels/linear.h) of each tensor, 4096-byte aligned; zeros between
// Numbers are little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace brio::weights {

// The unit of checksums and of writing: a huge page, so that the page cache can hold it as one.
inline constexpr uint64_t kChunkBytes = 2 << 20;
inline constexpr uint64_t kPackedAlignment = 4096;  // of tensors: pages are not shared

using PackedKey = std::array<uint8_t, 16>;

struct PackedTensor {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  uint64_t offset = 0;  // in the data
  uint64_t size_bytes() const;
};

struct PackedHeader {
  PackedKey key{};
  std::string source;  // path of the model
  std::vector<PackedTensor> tensors;
  uint64_t data_offset = 0;
  uint64_t data_bytes = 0;
  std::vector<uint64_t> checksums;

  // Sets every offset and data_bytes, and makes room for checksums and data_offset.
  void lay_out();
  std::string to_bytes() const;

  // From the start of a file of `file_bytes`. Everything is checked but the digest and the key: offsets ascend and stay
  // inside the file, shapes are such as pack() takes. Errors: kInvalidFile, naming the byte.
  static Result<PackedHeader> parse(std::span<const std::byte> file);
};

// Whether the digest at byte 16 is that of the header: kChecksum if it is not, kInvalidFile if there is no whole header.
Result<void> check_header_digest(std::span<const std::byte> file);
// For tests that forge headers: sets the digest of what to_bytes() has, or somebody changed.
void set_header_digest(std::span<std::byte> file);

uint64_t checksum(std::span<const std::byte> bytes);  // XXH3-64

}  // namespace brio::weights
