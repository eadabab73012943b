#include "base/arena.h"

#include <sys/mman.h>

namespace brio {

Result<AlignedBuffer> AlignedBuffer::create(size_t size_bytes) {
  AlignedBuffer buffer;
  if (size_bytes == 0) return buffer;
  void* data = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return error(ErrorCode::kOutOfMemory, "the system refused {} bytes of memory", size_bytes);
  constexpr size_t kHugePage = size_t{2} << 20;
  if (size_bytes >= 4 * kHugePage) madvise(data, size_bytes, MADV_HUGEPAGE);  // advice: refusal costs nothing
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.size_ = size_bytes;
  return buffer;
}

void AlignedBuffer::reset() {
  if (data_ != nullptr) munmap(data_, size_);
  data_ = nullptr;
  size_ = 0;
}

}  // namespace brio
