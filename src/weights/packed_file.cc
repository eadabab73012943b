#include "weights/packed_file.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/arena.h"

namespace brio::weights {
namespace {

constexpr size_t kSmallBytes = 16 << 20;  // of data: stays in caches, and its page tables do

// The first chunk that differs from its checksum, or their number.
int first_damaged(const MappedFile& file, const PackedHeader& header, ThreadPool& pool) {
  const std::span<const std::byte> data = file.bytes().subspan(header.data_offset);
  const int count = static_cast<int>(header.checksums.size());
  std::atomic<int> first{count};
  pool.parallel_for(count, 1, [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      const size_t from = static_cast<size_t>(i) * kChunkBytes;
      const auto chunk = data.subspan(from, std::min<size_t>(kChunkBytes, data.size() - from));
      if (checksum(chunk) == header.checksums[static_cast<size_t>(i)]) continue;
      int seen = first.load();
      while (i < seen && !first.compare_exchange_weak(seen, i)) {
      }
    }
  });
  return first.load();
}

}  // namespace

Result<PackedFile> PackedFile::open(const std::filesystem::path& path, const PackedKey& key, ThreadPool& pool) {
  PackedFile packed;
  BRIO_TRY(MappedFile file, MappedFile::open_own(path));
  file.prefer_huge_pages();
  BRIO_TRY_OK(check_header_digest(file.bytes()));
  BRIO_TRY(packed.header_, PackedHeader::parse(file.bytes()));
  if (packed.header_.key != key) return error(ErrorCode::kUnavailable, "the model's files have changed");
  const int damaged = first_damaged(file, packed.header_, pool);
  if (damaged < static_cast<int>(packed.header_.checksums.size())) {
    return error(ErrorCode::kChecksum, "the {} bytes from byte {} on differ from their checksum", kChunkBytes,
                 packed.header_.data_offset + static_cast<uint64_t>(damaged) * kChunkBytes);
  }
  packed.settle(std::move(file), pool);
  for (const PackedTensor& tensor : packed.header_.tensors) packed.index_.emplace(tensor.name, &tensor);
  return packed;
}

// Decides between the mapping and a copy. All pages have just been looked at, so that the mapping is what it will be.
void PackedFile::settle(MappedFile file, ThreadPool& pool) {
  const std::span<const std::byte> data = file.bytes().subspan(header_.data_offset);
  Result<AlignedBuffer> copy = AlignedBuffer{};
  const bool is_fast = data.size() < kSmallBytes || file.huge_bytes() >= data.size() / 8 * 7;
  if (!is_fast) copy = AlignedBuffer::create(data.size());
  if (is_fast || !copy.ok()) {  // no memory for a copy: slower, but no reason to fail
    file_ = std::make_shared<const MappedFile>(std::move(file));
    data_ = {file_, data.data()};
    return;
  }
  pool.parallel_for(static_cast<int>(header_.checksums.size()), 1, [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      const size_t from = static_cast<size_t>(i) * kChunkBytes;
      const auto chunk = data.subspan(from, std::min<size_t>(kChunkBytes, data.size() - from));
      std::memcpy(copy->data() + from, chunk.data(), chunk.size());
      file.drop(chunk);
    }
  });
  auto owner = std::make_shared<const AlignedBuffer>(std::move(copy).value());
  data_ = {owner, owner->data()};
}

std::shared_ptr<const std::byte> PackedFile::find(std::string_view name, tensor::DType dtype, int64_t rows,
                                                  int64_t cols) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return nullptr;
  const PackedTensor& tensor = *found->second;
  if (tensor.dtype != dtype || tensor.rows != rows || tensor.cols != cols) return nullptr;
  return {data_, data_.get() + tensor.offset};
}

}  // namespace brio::weights
