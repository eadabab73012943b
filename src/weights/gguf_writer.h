// GgufWriter: makes GGUF files: tiny models for tests, quantised models later. Everything is held in memory.
//
//   GgufWriter writer;
//   writer.string("general.architecture", "llama");
//   writer.u32("llama.block_count", 2);
//   writer.tensor("token_embd.weight", DType::kF32, {64, 320}, bytes);   // dims in GGUF order: row length first
//   BRIO_TRY_OK(writer.write("tiny.gguf"));
//
// It writes what it is told: no check of names, shapes or sizes, so that tests can make hostile files. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"
#include "weights/metadata.h"

namespace brio::weights {

class GgufWriter {
 public:
  explicit GgufWriter(uint32_t version = 3, uint32_t alignment = 32) : version_(version), alignment_(alignment) {}

  void u16(std::string_view key, uint16_t value) { scalar(key, ValueType::kU16, value); }
  void u32(std::string_view key, uint32_t value) { scalar(key, ValueType::kU32, value); }
  void i32(std::string_view key, int32_t value) { scalar(key, ValueType::kI32, value); }
  void u64(std::string_view key, uint64_t value) { scalar(key, ValueType::kU64, value); }
  void f32(std::string_view key, float value) { scalar(key, ValueType::kF32, value); }
  void f64(std::string_view key, double value) { scalar(key, ValueType::kF64, value); }
  void boolean(std::string_view key, bool value) { scalar(key, ValueType::kBool, static_cast<uint8_t>(value)); }
  void string(std::string_view key, std::string_view value);
  void strings(std::string_view key, std::span<const std::string> values);
  void i32s(std::string_view key, std::span<const int32_t> values) { array(key, ValueType::kI32, values); }
  void f32s(std::string_view key, std::span<const float> values) { array(key, ValueType::kF32, values); }
  void bools(std::string_view key, const std::vector<bool>& values);
  // An entry with these bytes behind its type, whatever they mean.
  void raw(std::string_view key, uint32_t type, std::string_view bytes);

  void tensor(std::string_view name, tensor::DType type, std::span<const int64_t> dims,
              std::span<const std::byte> data);
  void tensor(std::string_view name, tensor::DType type, std::initializer_list<int64_t> dims,
              std::span<const std::byte> data) {
    tensor(name, type, std::span(dims.begin(), dims.size()), data);
  }
  // fp32 values in dims' order, row by row.
  void tensor(std::string_view name, std::initializer_list<int64_t> dims, std::span<const float> values) {
    tensor(name, tensor::DType::kF32, std::span(dims.begin(), dims.size()), std::as_bytes(values));
  }

  uint64_t num_keys() const { return num_keys_; }
  const std::string& key_bytes() const { return keys_; }  // the metadata section alone, as Metadata::parse reads it
  std::string bytes() const;                              // the whole file
  Result<void> write(const std::filesystem::path& path) const;

 private:
  template <typename T>
  void scalar(std::string_view key, ValueType type, T value) {
    raw(key, static_cast<uint32_t>(type), {reinterpret_cast<const char*>(&value), sizeof(T)});
  }
  template <typename T>
  void array(std::string_view key, ValueType type, std::span<const T> values) {
    array_bytes(key, type, values.size(), {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  void array_bytes(std::string_view key, ValueType type, uint64_t count, std::string_view bytes);

  uint32_t version_;
  uint32_t alignment_;
  uint64_t num_keys_ = 0;
  uint64_t num_tensors_ = 0;
  std::string keys_;
  std::string table_;
  std::string data_;  // padded to the alignment after each tensor
};

}  // namespace brio::weights
