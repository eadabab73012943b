// AlignedBuffer: a zeroed, 64-byte aligned block of memory that is owned by one object; large ones ask for huge pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace brio {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  ~AlignedBuffer() { reset(); }
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    if (this != &other) {
      reset();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }

  // Anonymous zero pages (touched lazily). An error when the system has none left; size_bytes may be 0.
  static Result<AlignedBuffer> create(size_t size_bytes);

  std::byte* data() const { return data_; }
  size_t size_bytes() const { return size_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  void reset();
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace brio
