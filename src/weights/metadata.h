// Metadata: the typed key/value section of a GGUF file, read in place; also the form that config.json is translated to.
//
//   BRIO_TRY(uint64_t layers, metadata.u64("llama.block_count"));
//   BRIO_TRY(double base, metadata.f64_or("llama.rope.freq_base", 10000.0));
//   BRIO_TRY(auto tokens, metadata.strings("tokenizer.ggml.tokens"));      // views into the file
//
// A getter fails with the key and its byte offset when the value has another type, and with the key when it is missing;
// the _or getters return the fallback only for a missing key. Everything is checked against the end of the bytes once,
// in parse(); getters never read outside. Views live as long as the bytes. Immutable after parse: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "weights/byte_reader.h"

namespace brio::weights {

// GGUF's own numbers.
enum class ValueType : uint8_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };
std::string_view name(ValueType type);  // "u8", "string", ...

struct MetadataEntry {
  std::string_view key;
  ValueType type = ValueType::kU8;
  ValueType element = ValueType::kU8;  // kArray: the type of its elements
  uint64_t count = 1;                  // kArray: number of elements
  std::span<const std::byte> bytes;    // the encoded value: a scalar, a string's text, an array's elements
  uint64_t offset = 0;                 // of the key in the file
};

class Metadata {
 public:
  Metadata() = default;
  // Reads `count` entries; `in` is left behind the last. Errors name the key and the offset.
  static Result<Metadata> parse(ByteReader& in, uint64_t count);

  const std::vector<MetadataEntry>& entries() const { return entries_; }  // in file order
  const MetadataEntry* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  bool is_array(std::string_view key) const;

  Result<uint64_t> u64(std::string_view key) const;  // any integer type, not negative
  Result<int64_t> i64(std::string_view key) const;   // any integer type that fits
  Result<double> f64(std::string_view key) const;    // f32, f64 or any integer type
  Result<bool> boolean(std::string_view key) const;
  Result<std::string_view> string(std::string_view key) const;
  Result<uint64_t> u64_or(std::string_view key, uint64_t fallback) const;
  Result<double> f64_or(std::string_view key, double fallback) const;
  Result<std::string_view> string_or(std::string_view key, std::string_view fallback) const;

  Result<std::vector<std::string_view>> strings(std::string_view key) const;
  Result<std::vector<int64_t>> integers(std::string_view key) const;  // integers or bools (0 and 1)
  Result<std::vector<float>> floats(std::string_view key) const;      // f32 or f64

  // A short rendering for people: "llama", 30, [49152 x string].
  static std::string describe(const MetadataEntry& entry);

 private:
  Result<const MetadataEntry*> array(std::string_view key, std::string_view wanted) const;

  std::vector<MetadataEntry> entries_;
  std::unordered_map<std::string_view, size_t> index_;
};

}  // namespace brio::weights
