#include "weights/metadata.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace brio::weights {
namespace {

constexpr uint64_t kMaxKeyBytes = 65535;  // the format's own limit
// A key (8 bytes of length and one of text), a type (4) and the smallest value (1).
constexpr uint64_t kMinEntryBytes = 14;
constexpr int kMaxArrayDepth = 4;  // nothing known nests arrays at all

constexpr std::string_view kTypeNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                           "bool", "string", "array", "u64", "i64", "f64"};
constexpr uint8_t kTypeBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // 0: of varying size
constexpr uint32_t kNumTypes = std::size(kTypeNames);

Result<ValueType> read_type(ByteReader& in) {
  const uint64_t offset = in.offset();
  BRIO_TRY(uint32_t number, in.number<uint32_t>("a value type"));
  if (number < kNumTypes) return static_cast<ValueType>(number);
  return error(ErrorCode::kInvalidFile, "unknown value type {} (byte {})", number, offset);
}

Error in_key(std::string_view key, Error cause) {
  cause.message = fmt::format("key '{}': {}", key, cause.message);
  return cause;
}

// Walks over `count` elements; each consumes bytes, so the loop ends at the latest with the file.
Result<void> skip_elements(ByteReader& in, ValueType type, uint64_t count, int depth) {
  const uint64_t size = kTypeBytes[static_cast<int>(type)];
  if (size != 0) {
    if (count > in.remaining() / size) {
      return error(ErrorCode::kInvalidFile, "{} {} values at byte {} do not fit in the {} bytes left", count,
                   name(type), in.offset(), in.remaining());
    }
    BRIO_TRY_OK(in.take(count * size, "values"));
    return {};
  }
  if (type == ValueType::kString) {
    for (uint64_t i = 0; i < count; ++i) BRIO_TRY_OK(in.string("a string"));
    return {};
  }
  if (depth >= kMaxArrayDepth) {
    return error(ErrorCode::kInvalidFile, "arrays nest deeper than {} at byte {}", kMaxArrayDepth, in.offset());
  }
  for (uint64_t i = 0; i < count; ++i) {
    BRIO_TRY(ValueType element, read_type(in));
    BRIO_TRY(uint64_t inner, in.number<uint64_t>("an array length"));
    BRIO_TRY_OK(skip_elements(in, element, inner, depth + 1));
  }
  return {};
}

Result<MetadataEntry> read_entry(ByteReader& in) {
  MetadataEntry entry;
  entry.offset = in.offset();
  BRIO_TRY(entry.key, in.string("a metadata key"));
  if (entry.key.empty() || entry.key.size() > kMaxKeyBytes) {
    return error(ErrorCode::kInvalidFile, "a metadata key of {} bytes at byte {}", entry.key.size(), entry.offset);
  }
  BRIO_TRY(entry.type, read_type(in));
  entry.element = entry.type;
  if (entry.type == ValueType::kString) {
    BRIO_TRY(std::string_view text, in.string("its text"));
    entry.bytes = std::as_bytes(std::span(text));
    return entry;
  }
  if (entry.type == ValueType::kArray) {
    BRIO_TRY(entry.element, read_type(in));
    BRIO_TRY(entry.count, in.number<uint64_t>("an array length"));
  }
  ByteReader start = in;
  BRIO_TRY_OK(skip_elements(in, entry.element, entry.count, 1));
  BRIO_TRY(entry.bytes, start.take(in.offset() - start.offset(), "values"));
  return entry;
}

template <typename T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

// Calls visit with the scalar in its own C++ type (bools as bool). Strings and arrays must not come here.
template <typename Visit>
auto visit_scalar(ValueType type, const std::byte* p, Visit visit) {
  switch (type) {
    case ValueType::kU8:
      return visit(load<uint8_t>(p));
    case ValueType::kI8:
      return visit(load<int8_t>(p));
    case ValueType::kU16:
      return visit(load<uint16_t>(p));
    case ValueType::kI16:
      return visit(load<int16_t>(p));
    case ValueType::kU32:
      return visit(load<uint32_t>(p));
    case ValueType::kI32:
      return visit(load<int32_t>(p));
    case ValueType::kF32:
      return visit(load<float>(p));
    case ValueType::kU64:
      return visit(load<uint64_t>(p));
    case ValueType::kI64:
      return visit(load<int64_t>(p));
    case ValueType::kF64:
      return visit(load<double>(p));
    default:
      return visit(load<uint8_t>(p) != 0);
  }
}

bool is_float(ValueType type) {
  return type == ValueType::kF32 || type == ValueType::kF64;
}
bool is_integer(ValueType type) {
  return !is_float(type) && type != ValueType::kBool && type != ValueType::kString && type != ValueType::kArray;
}

Error wrong_type(const MetadataEntry& entry, std::string_view wanted) {
  const std::string what = entry.type == ValueType::kArray ? fmt::format("an array of {}", name(entry.element))
                                                           : std::string(name(entry.type));
  return error(ErrorCode::kInvalidFile, "key '{}' holds {} where {} is needed (byte {})", entry.key, what, wanted,
               entry.offset);
}

Error missing(std::string_view key) {
  return error(ErrorCode::kInvalidFile, "key '{}' is missing", key);
}

}  // namespace

std::string_view name(ValueType type) {
  return kTypeNames[static_cast<int>(type)];
}

Result<Metadata> Metadata::parse(ByteReader& in, uint64_t count) {
  if (count > in.remaining() / kMinEntryBytes) {
    return error(ErrorCode::kInvalidFile, "{} metadata keys cannot fit in the {} bytes after byte {}", count,
                 in.remaining(), in.offset());
  }
  Metadata metadata;
  for (uint64_t i = 0; i < count; ++i) {
    ByteReader key_reader = in;
    auto entry = read_entry(in);
    if (!entry.ok()) {
      const auto key = key_reader.string("");
      const std::string label = key.ok() && key->size() < 256 ? std::string(*key) : fmt::format("number {}", i);
      return in_key(label, std::move(entry).error());
    }
    if (!metadata.index_.emplace(entry->key, metadata.entries_.size()).second) {
      return error(ErrorCode::kInvalidFile, "key '{}' appears twice, again at byte {}", entry->key, entry->offset);
    }
    metadata.entries_.push_back(*entry);
  }
  return metadata;
}

const MetadataEntry* Metadata::find(std::string_view key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

bool Metadata::is_array(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  return entry != nullptr && entry->type == ValueType::kArray;
}

Result<int64_t> Metadata::i64(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return missing(key);
  if (!is_integer(entry->type)) return wrong_type(*entry, "an integer");
  const bool too_big = entry->type == ValueType::kU64 && load<uint64_t>(entry->bytes.data()) > INT64_MAX;
  if (too_big) {
    return error(ErrorCode::kInvalidFile, "key '{}' is {}, beyond 2^63 (byte {})", key,
                 load<uint64_t>(entry->bytes.data()), entry->offset);
  }
  return visit_scalar(entry->type, entry->bytes.data(), [](auto value) { return static_cast<int64_t>(value); });
}

Result<uint64_t> Metadata::u64(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry != nullptr && entry->type == ValueType::kU64) return load<uint64_t>(entry->bytes.data());
  BRIO_TRY(int64_t value, i64(key));
  if (value < 0) return error(ErrorCode::kInvalidFile, "key '{}' is negative: {} (byte {})", key, value, entry->offset);
  return static_cast<uint64_t>(value);
}

Result<double> Metadata::f64(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return missing(key);
  if (!is_float(entry->type) && !is_integer(entry->type)) return wrong_type(*entry, "a number");
  const double value =
      visit_scalar(entry->type, entry->bytes.data(), [](auto number) { return static_cast<double>(number); });
  if (!std::isfinite(value)) {
    return error(ErrorCode::kInvalidFile, "key '{}' is not a finite number (byte {})", key, entry->offset);
  }
  return value;
}

Result<bool> Metadata::boolean(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return missing(key);
  if (entry->type != ValueType::kBool) return wrong_type(*entry, "a bool");
  return load<uint8_t>(entry->bytes.data()) != 0;
}

Result<std::string_view> Metadata::string(std::string_view key) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return missing(key);
  if (entry->type != ValueType::kString) return wrong_type(*entry, "a string");
  return std::string_view(reinterpret_cast<const char*>(entry->bytes.data()), entry->bytes.size());
}

Result<uint64_t> Metadata::u64_or(std::string_view key, uint64_t fallback) const {
  return has(key) ? u64(key) : fallback;
}
Result<double> Metadata::f64_or(std::string_view key, double fallback) const {
  return has(key) ? f64(key) : fallback;
}
Result<std::string_view> Metadata::string_or(std::string_view key, std::string_view fallback) const {
  return has(key) ? string(key) : fallback;
}

Result<const MetadataEntry*> Metadata::array(std::string_view key, std::string_view wanted) const {
  const MetadataEntry* entry = find(key);
  if (entry == nullptr) return missing(key);
  if (entry->type != ValueType::kArray) return wrong_type(*entry, wanted);
  return entry;
}

Result<std::vector<std::string_view>> Metadata::strings(std::string_view key) const {
  constexpr std::string_view kWanted = "an array of strings";
  BRIO_TRY(const MetadataEntry* entry, array(key, kWanted));
  if (entry->element != ValueType::kString) return wrong_type(*entry, kWanted);
  std::vector<std::string_view> values;
  values.reserve(entry->count);  // parse() has seen all of them: at least 8 bytes of file each
  ByteReader in(entry->bytes);
  for (uint64_t i = 0; i < entry->count; ++i) {
    BRIO_TRY(std::string_view text, in.string("a string"));
    values.push_back(text);
  }
  return values;
}

template <typename T>
static std::vector<T> load_all(const MetadataEntry& entry) {
  const size_t size = kTypeBytes[static_cast<int>(entry.element)];
  std::vector<T> values(entry.count);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = visit_scalar(entry.element, entry.bytes.data() + i * size, [](auto v) { return static_cast<T>(v); });
  }
  return values;
}

Result<std::vector<int64_t>> Metadata::integers(std::string_view key) const {
  constexpr std::string_view kWanted = "an array of integers";
  BRIO_TRY(const MetadataEntry* entry, array(key, kWanted));
  if (!is_integer(entry->element) && entry->element != ValueType::kBool) return wrong_type(*entry, kWanted);
  return load_all<int64_t>(*entry);
}

Result<std::vector<float>> Metadata::floats(std::string_view key) const {
  constexpr std::string_view kWanted = "an array of floats";
  BRIO_TRY(const MetadataEntry* entry, array(key, kWanted));
  if (!is_float(entry->element)) return wrong_type(*entry, kWanted);
  return load_all<float>(*entry);
}

std::string Metadata::describe(const MetadataEntry& entry) {
  if (entry.type == ValueType::kArray) return fmt::format("[{} x {}]", entry.count, name(entry.element));
  if (entry.type == ValueType::kString) {
    constexpr size_t kShown = 80;
    const std::string_view text(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
    std::string shown;
    for (const char c : text.substr(0, kShown)) shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    return text.size() > kShown ? fmt::format("\"{}...\" ({} bytes)", shown, text.size())
                                : fmt::format("\"{}\"", shown);
  }
  return visit_scalar(entry.type, entry.bytes.data(), [](auto value) { return fmt::format("{}", value); });
}

}  // namespace brio::weights
