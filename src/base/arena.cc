#include "base/arena.h"

#include <sys/mman.h>

#include <cstdint>

namespace brio {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

Result<AlignedBuffer> AlignedBuffer::create(size_t size_bytes) {
  AlignedBuffer buffer;
  if (size_bytes == 0) return buffer;
  // Large buffers begin on a huge page and ask for such pages: weights are read from end to end for every token, and with
  // small pages a tenth of that time goes into translating addresses. Refusal costs nothing.
  const size_t slack = size_bytes >= kHugePage ? kHugePage : 0;
  void* data =
      mmap(nullptr, size_bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return error(ErrorCode::kOutOfMemory, "the system refused {} bytes of memory", size_bytes);
  if (slack > 0) {
    const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(data) % kHugePage) % kHugePage;
    auto* begin = static_cast<std::byte*>(data) + before;
    const size_t pages = (size_bytes + kPage - 1) / kPage * kPage;
    const size_t mapped = (size_bytes + slack + kPage - 1) / kPage * kPage;
    if (before > 0) munmap(data, before);
    if (mapped > before + pages) munmap(begin + pages, mapped - before - pages);
    madvise(begin, size_bytes, MADV_HUGEPAGE);
    data = begin;
  }
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
