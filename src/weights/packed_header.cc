#include "weights/packed_header.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/numerics_id.h"
#include "kernels/linear_layout.h"
#include "tensor/weight.h"
#include "weights/byte_reader.h"
#include "weights/packer.h"

namespace brio::weights {
namespace {

constexpr std::string_view kMagic = "BRIOPACK";
constexpr uint64_t kDigestAt = 16;
constexpr uint64_t kDigestedFrom = 32;
constexpr uint64_t kMaxHeaderBytes = 256 << 20;  // a file of 64 TiB
constexpr uint64_t kLeastTensorBytes = 8 + 4 + 8 + 8 + 8;

constexpr uint64_t rounded_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}
constexpr uint64_t num_chunks(uint64_t data_bytes) {
  return rounded_up(data_bytes, kChunkBytes) / kChunkBytes;
}

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}
void put_string(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out.append(text);
}

std::array<uint8_t, 16> digest_of(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::array<uint8_t, 16> out;
  std::memcpy(out.data(), canonical.digest, out.size());
  return out;
}

// The bytes that the digest covers.
Result<std::span<const std::byte>> digested(std::span<const std::byte> file) {
  ByteReader in(file);
  BRIO_TRY(const auto magic, in.take(kMagic.size(), "the signature"));
  if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
    return error(ErrorCode::kInvalidFile, "not a packed file, or one that was never finished");
  }
  BRIO_TRY(const uint64_t header_bytes, in.number<uint64_t>("the header length"));
  if (header_bytes < kDigestedFrom || header_bytes > std::min<uint64_t>(kMaxHeaderBytes, file.size())) {
    return error(ErrorCode::kInvalidFile, "the header length at byte {} is {}, the file has {} bytes", kMagic.size(),
                 header_bytes, file.size());
  }
  return file.first(header_bytes).subspan(kDigestedFrom);
}

Result<PackedTensor> read_tensor(ByteReader& in, uint64_t data_bytes, uint64_t free_from) {
  PackedTensor tensor;
  const uint64_t at = in.offset();
  BRIO_TRY(tensor.name, in.string("a tensor's name"));
  BRIO_TRY(const uint32_t type, in.number<uint32_t>("a tensor's type"));
  BRIO_TRY(tensor.rows, in.number<int64_t>("a tensor's rows"));
  BRIO_TRY(tensor.cols, in.number<int64_t>("a tensor's columns"));
  BRIO_TRY(tensor.offset, in.number<uint64_t>("a tensor's offset"));
  if (type > static_cast<uint32_t>(tensor::DType::kIQ4_XS)) {
    return error(ErrorCode::kInvalidFile, "tensor '{}' at byte {} has type {}", tensor.name, at, type);
  }
  tensor.dtype = static_cast<tensor::DType>(type);
  BRIO_TRY_OK(check_shape(tensor.name, tensor.dtype, tensor.rows, tensor.cols));
  if (tensor.offset < free_from || tensor.offset % kPackedAlignment != 0 || tensor.offset > data_bytes ||
      tensor.size_bytes() > data_bytes - tensor.offset) {
    return error(ErrorCode::kInvalidFile, "tensor '{}' at byte {} has {} bytes at {}, of data {} to {}", tensor.name,
                 at, tensor.size_bytes(), tensor.offset, free_from, data_bytes);
  }
  return tensor;
}

}  // namespace

uint64_t PackedTensor::size_bytes() const {
  return static_cast<uint64_t>(tensor::packed_bytes(dtype, tensor::Numerics::kDefault, rows, cols));
}

void PackedHeader::lay_out() {
  data_bytes = 0;
  for (PackedTensor& tensor : tensors) {
    tensor.offset = rounded_up(data_bytes, kPackedAlignment);
    data_bytes = tensor.offset + tensor.size_bytes();
  }
  checksums.assign(num_chunks(data_bytes), 0);
  data_offset = rounded_up(to_bytes().size(), kChunkBytes);
}

std::string PackedHeader::to_bytes() const {
  std::string out(kDigestedFrom, '\0');
  put<uint32_t>(out, kernels::kLayoutVersion);
  put<uint32_t>(out, kNumericsId);
  out.append(reinterpret_cast<const char*>(key.data()), key.size());
  put(out, data_offset);
  put(out, data_bytes);
  put_string(out, source);
  put<uint64_t>(out, tensors.size());
  for (const PackedTensor& tensor : tensors) {
    put_string(out, tensor.name);
    put(out, static_cast<uint32_t>(tensor.dtype));
    put(out, tensor.rows);
    put(out, tensor.cols);
    put(out, tensor.offset);
  }
  for (const uint64_t sum : checksums) put(out, sum);
  std::memcpy(out.data(), kMagic.data(), kMagic.size());
  const uint64_t size = out.size();
  std::memcpy(out.data() + kMagic.size(), &size, sizeof(size));
  set_header_digest(std::as_writable_bytes(std::span(out)));
  return out;
}

Result<PackedHeader> PackedHeader::parse(std::span<const std::byte> file) {
  BRIO_TRY(const auto covered, digested(file));
  ByteReader in(file.first(kDigestedFrom + covered.size()));
  BRIO_TRY_OK(in.take(kDigestedFrom, "the start"));
  BRIO_TRY(const uint32_t version, in.number<uint32_t>("the layout version"));
  BRIO_TRY(const uint32_t numerics, in.number<uint32_t>("the numerics id"));
  if (version != kernels::kLayoutVersion || numerics != kNumericsId) {
    return error(ErrorCode::kUnsupported, "packed by another version of brio (layout {}, numerics {})", version,
                 numerics);
  }
  PackedHeader header;
  BRIO_TRY(const auto key, in.take(header.key.size(), "the key"));
  std::memcpy(header.key.data(), key.data(), key.size());
  BRIO_TRY(header.data_offset, in.number<uint64_t>("the data's offset"));
  BRIO_TRY(header.data_bytes, in.number<uint64_t>("the data's length"));
  if (header.data_offset % kChunkBytes != 0 || header.data_offset < kDigestedFrom + covered.size() ||
      header.data_offset > file.size() || header.data_bytes != file.size() - header.data_offset) {
    return error(ErrorCode::kInvalidFile, "the data is {} bytes from byte {} on, the file has {} bytes",
                 header.data_bytes, header.data_offset, file.size());
  }
  BRIO_TRY(header.source, in.string("the model's path"));
  BRIO_TRY(const uint64_t count, in.number<uint64_t>("the number of tensors"));
  if (count > in.remaining() / kLeastTensorBytes) {
    return error(ErrorCode::kInvalidFile, "{} tensors in the {} bytes from byte {} on", count, in.remaining(),
                 in.offset());
  }
  std::unordered_set<std::string> names;
  uint64_t free_from = 0;
  for (uint64_t i = 0; i < count; ++i) {
    BRIO_TRY(PackedTensor tensor, read_tensor(in, header.data_bytes, free_from));
    if (!names.insert(tensor.name).second) {
      return error(ErrorCode::kInvalidFile, "two tensors are called '{}'", tensor.name);
    }
    free_from = tensor.offset + tensor.size_bytes();
    header.tensors.push_back(std::move(tensor));
  }
  const uint64_t chunks = num_chunks(header.data_bytes);
  if (in.remaining() != chunks * sizeof(uint64_t)) {
    return error(ErrorCode::kInvalidFile, "{} bytes of checksums from byte {} on, {} chunks need {}", in.remaining(),
                 in.offset(), chunks, chunks * sizeof(uint64_t));
  }
  header.checksums.resize(chunks);
  for (uint64_t& sum : header.checksums) {
    BRIO_TRY(sum, in.number<uint64_t>("a checksum"));
  }
  return header;
}

Result<void> check_header_digest(std::span<const std::byte> file) {
  BRIO_TRY(const auto covered, digested(file));
  const auto digest = digest_of(covered);
  if (std::memcmp(file.data() + kDigestAt, digest.data(), digest.size()) == 0) return {};
  return error(ErrorCode::kChecksum, "the header differs from its digest");
}

void set_header_digest(std::span<std::byte> file) {
  const auto covered = digested(file);
  if (!covered.ok()) return;
  const auto digest = digest_of(*covered);
  std::memcpy(file.data() + kDigestAt, digest.data(), digest.size());
}

uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace brio::weights
