// The header of one safetensors file: u64 length, then JSON {name: {dtype, shape, data_offsets}, "__metadata__":
// {...}}, then the data, which the offsets must cover without gap or overlap.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "weights/byte_reader.h"
#include "weights/json_cursor.h"
#include "weights/safetensors.h"

namespace brio::weights {
namespace {

using tensor::DType;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr size_t kMaxNameBytes = 1024;
constexpr size_t kMaxDims = 8;
constexpr int64_t kMaxElements = int64_t{1} << 48;

struct Entry {
  std::string dtype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::pair<uint64_t, uint64_t>> offsets;
};

std::optional<DType> dtype_of(std::string_view label) {
  if (label == "F32") return DType::kF32;
  if (label == "F16") return DType::kF16;
  if (label == "BF16") return DType::kBF16;
  return std::nullopt;
}

// {"key": value, ...}: calls visit(key) with the cursor in front of each value.
template <typename Visit>
Result<void> each_member(JsonCursor& in, Visit visit) {
  BRIO_TRY_OK(in.expect('{'));
  if (in.accept('}')) return {};
  do {
    BRIO_TRY(std::string key, in.string());
    BRIO_TRY_OK(in.expect(':'));
    BRIO_TRY_OK(visit(std::move(key)));
  } while (in.accept(','));
  return in.expect('}');
}

// [n, ...], at most max_count of them.
Result<std::vector<int64_t>> naturals(JsonCursor& in, size_t max_count) {
  std::vector<int64_t> values;
  BRIO_TRY_OK(in.expect('['));
  if (in.accept(']')) return values;
  do {
    BRIO_TRY(uint64_t value, in.natural());
    if (values.size() == max_count) {
      return error(ErrorCode::kInvalidFile, "more than {} numbers at byte {}", max_count, in.offset());
    }
    values.push_back(static_cast<int64_t>(value));
  } while (in.accept(','));
  BRIO_TRY_OK(in.expect(']'));
  return values;
}

Result<Entry> read_entry(JsonCursor& in) {
  Entry entry;
  BRIO_TRY_OK(each_member(in, [&](std::string field) -> Result<void> {
    const uint64_t offset = in.offset();
    if (field == "dtype" && entry.dtype.empty()) {
      BRIO_TRY(entry.dtype, in.string());
    } else if (field == "shape" && !entry.shape) {
      BRIO_TRY(entry.shape, naturals(in, kMaxDims));
    } else if (field == "data_offsets" && !entry.offsets) {
      BRIO_TRY(std::vector<int64_t> pair, naturals(in, 2));
      if (pair.size() != 2) {
        return error(ErrorCode::kInvalidFile, "field 'data_offsets' holds {} numbers (byte {})", pair.size(), offset);
      }
      entry.offsets = {static_cast<uint64_t>(pair[0]), static_cast<uint64_t>(pair[1])};
    } else {
      return error(ErrorCode::kInvalidFile, "field '{}' is unknown or appears twice (byte {})", field, offset);
    }
    return {};
  }));
  for (const auto& [present, field] : {std::pair{!entry.dtype.empty(), "dtype"},
                                       {entry.shape.has_value(), "shape"},
                                       {entry.offsets.has_value(), "data_offsets"}}) {
    if (!present) return error(ErrorCode::kInvalidFile, "field '{}' is missing before byte {}", field, in.offset());
  }
  return entry;
}

Result<SafetensorsTensor> check_entry(const Entry& entry, std::span<const std::byte> data, uint64_t data_start,
                                      uint64_t offset) {
  SafetensorsTensor tensor;
  const std::optional<DType> dtype = dtype_of(entry.dtype);
  if (!dtype) {
    return error(ErrorCode::kUnsupported, "type '{}' (byte {}): brio reads F32, F16 and BF16", entry.dtype, offset);
  }
  tensor.dtype = *dtype;
  tensor.shape = entry.shape->empty() ? std::vector<int64_t>{1} : *entry.shape;
  int64_t elements = 1;
  for (const int64_t dim : tensor.shape) {
    if (dim == 0 || __builtin_mul_overflow(elements, dim, &elements) || elements > kMaxElements) {
      return error(ErrorCode::kInvalidFile, "dimension {} in 'shape' is out of range (byte {})", dim, offset);
    }
  }
  const auto [begin, end] = *entry.offsets;
  if (begin > end || end > data.size()) {
    Error outside =
        error(ErrorCode::kInvalidFile, "'data_offsets' [{}, {}) lie outside the {} bytes of data at byte {}", begin,
              end, data.size(), data_start);
    outside.hint = "The file may be incomplete.";
    return outside;
  }
  tensor.size_bytes = tensor::row_bytes(tensor.dtype, elements);
  if (end - begin != static_cast<uint64_t>(tensor.size_bytes)) {
    return error(ErrorCode::kInvalidFile, "'shape' asks for {} bytes, 'data_offsets' give {} (byte {})",
                 tensor.size_bytes, end - begin, offset);
  }
  tensor.data = data.data() + begin;
  return tensor;
}

// The format asks that the tensors tile the data exactly.
Result<void> check_tiling(const std::vector<SafetensorsTensor>& tensors, std::span<const std::byte> data,
                          uint64_t data_start) {
  std::vector<const SafetensorsTensor*> order;
  order.reserve(tensors.size());
  for (const SafetensorsTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->data < b->data; });
  const std::byte* expected = data.data();
  for (const SafetensorsTensor* tensor : order) {
    if (tensor->data != expected) {
      return error(ErrorCode::kInvalidFile, "tensor '{}' {} at byte {}", tensor->name,
                   tensor->data < expected ? "overlaps another" : "leaves a gap before it",
                   data_start + static_cast<uint64_t>(tensor->data - data.data()));
    }
    expected += tensor->size_bytes;
  }
  const auto used = static_cast<uint64_t>(expected - data.data());
  if (used == data.size()) return {};
  return error(ErrorCode::kInvalidFile, "{} bytes after byte {} belong to no tensor", data.size() - used,
               data_start + used);
}

}  // namespace

Result<std::vector<SafetensorsTensor>> parse_safetensors(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  BRIO_TRY(uint64_t header_bytes, reader.number<uint64_t>("the header length"));
  if (header_bytes > kMaxHeaderBytes) {
    return error(ErrorCode::kInvalidFile, "not a safetensors file: a header of {} bytes (byte 0), the most is {}",
                 header_bytes, kMaxHeaderBytes);
  }
  BRIO_TRY(std::span<const std::byte> header, reader.take(header_bytes, "the header"));
  const uint64_t data_start = reader.offset();
  const std::span<const std::byte> data = bytes.subspan(data_start);
  std::vector<SafetensorsTensor> tensors;
  std::unordered_set<std::string> names;
  JsonCursor in({reinterpret_cast<const char*>(header.data()), header.size()}, sizeof(uint64_t));
  BRIO_TRY_OK(each_member(in, [&](std::string name) -> Result<void> {
    const uint64_t offset = in.offset();
    if (name.empty() || name.size() > kMaxNameBytes) {
      return error(ErrorCode::kInvalidFile, "a tensor name of {} bytes before byte {}", name.size(), offset);
    }
    if (!names.insert(name).second) {
      return error(ErrorCode::kInvalidFile, "'{}' appears twice, again before byte {}", name, offset);
    }
    if (name == "__metadata__") {
      return each_member(in, [&](const std::string&) -> Result<void> {
        BRIO_TRY_OK(in.string());
        return {};
      });
    }
    auto entry = read_entry(in);
    auto tensor = entry.ok() ? check_entry(*entry, data, data_start, offset) : std::move(entry).error();
    if (!tensor.ok()) {
      Error failure = std::move(tensor).error();
      failure.message = fmt::format("tensor '{}': {}", name, failure.message);
      return failure;
    }
    tensor->name = std::move(name);
    tensors.push_back(std::move(tensor).value());
    return {};
  }));
  BRIO_TRY_OK(in.expect_end());
  BRIO_TRY_OK(check_tiling(tensors, data, data_start));
  return tensors;
}

}  // namespace brio::weights
