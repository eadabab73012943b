// One GGUF file: header, metadata, tensor table, and the checks that make every tensor's bytes safe to read.
#include <algorithm>
#include <bit>
#include <unordered_set>

#include "weights/gguf.h"
#include "weights/gguf_format.h"

namespace brio::weights {
namespace {

using tensor::DType;

// A name (8 bytes of length, one of text), a dimension count (4), one dimension (8), a type (4), an offset (8).
constexpr uint64_t kMinTensorBytes = 33;
constexpr size_t kMaxNameBytes = 256;
constexpr uint64_t kMaxAlignment = 1 << 20;

Error in_tensor(std::string_view name, Error cause) {
  cause.message = fmt::format("tensor '{}': {}", name, cause.message);
  return cause;
}

Result<uint32_t> read_header(ByteReader& in) {
  BRIO_TRY(uint32_t magic, in.number<uint32_t>("the magic number"));
  if (magic != kGgufMagic) {
    return error(ErrorCode::kInvalidFile, "not a GGUF file: starts with {:#010x} instead of 'GGUF'", magic);
  }
  BRIO_TRY(uint32_t version, in.number<uint32_t>("the version"));
  if (version == 2 || version == 3) return version;
  const uint32_t swapped = version >> 24 | (version >> 8 & 0xFF00U) | (version << 8 & 0xFF0000U) | version << 24;
  if (swapped >= 1 && swapped <= 16) {
    return error(ErrorCode::kUnsupported, "big-endian GGUF version {} (byte 4): brio reads little-endian files",
                 swapped);
  }
  return error(ErrorCode::kUnsupported, "GGUF version {} (byte 4): brio reads versions 2 and 3", version);
}

Result<DType> read_dtype(ByteReader& in) {
  const uint64_t offset = in.offset();
  BRIO_TRY(uint32_t number, in.number<uint32_t>("its type"));
  if (const std::optional<DType> type = gguf_dtype(number)) return *type;
  const std::string_view known = foreign_type_name(number);
  if (known.empty()) return error(ErrorCode::kInvalidFile, "unknown type number {} (byte {})", number, offset);
  return error(ErrorCode::kUnsupported, "type {} (byte {}) is not one that brio reads", known, offset);
}

Result<void> read_dims(ByteReader& in, TensorInfo& tensor) {
  const uint64_t offset = in.offset();
  BRIO_TRY(uint32_t num_dims, in.number<uint32_t>("its number of dimensions"));
  if (num_dims < 1 || num_dims > tensor.dims.size()) {
    return error(ErrorCode::kInvalidFile, "{} dimensions (byte {}), expected 1 to 4", num_dims, offset);
  }
  tensor.num_dims = static_cast<int>(num_dims);
  int64_t elements = 1;
  for (uint32_t d = 0; d < num_dims; ++d) {
    BRIO_TRY(uint64_t size, in.number<uint64_t>("a dimension"));
    const bool overflows = size > INT64_MAX || __builtin_mul_overflow(elements, static_cast<int64_t>(size), &elements);
    if (size == 0 || overflows || elements > kMaxElements) {
      return error(ErrorCode::kInvalidFile, "dimension {} is {}, out of range (byte {})", d, size, in.offset() - 8);
    }
    tensor.dims[d] = static_cast<int64_t>(size);
  }
  return {};
}

// Everything of a table entry but the name. tensor.offset is left relative to the data section.
Result<void> read_tensor(ByteReader& in, TensorInfo& tensor) {
  BRIO_TRY_OK(read_dims(in, tensor));
  const uint64_t type_offset = in.offset();
  BRIO_TRY(tensor.dtype, read_dtype(in));
  const auto& traits = tensor::traits(tensor.dtype);
  if (tensor.cols() % traits.block_elements != 0) {
    return error(ErrorCode::kInvalidFile, "rows of {} elements do not hold whole {} blocks of {} (byte {})",
                 tensor.cols(), traits.name, traits.block_elements, type_offset);
  }
  tensor.size_bytes = tensor::row_bytes(tensor.dtype, tensor.cols() * tensor.rows());
  BRIO_TRY(tensor.offset, in.number<uint64_t>("its offset"));
  return {};
}

Result<std::vector<TensorInfo>> read_table(ByteReader& in, uint64_t count) {
  if (count > in.remaining() / kMinTensorBytes) {
    return error(ErrorCode::kInvalidFile, "{} tensors cannot fit in the {} bytes after byte {}", count, in.remaining(),
                 in.offset());
  }
  std::vector<TensorInfo> tensors;
  std::unordered_set<std::string_view> names;
  for (uint64_t i = 0; i < count; ++i) {
    TensorInfo tensor;
    const uint64_t offset = in.offset();
    BRIO_TRY(tensor.name, in.string(fmt::format("the name of tensor {}", i)));
    if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes) {
      return error(ErrorCode::kInvalidFile, "tensor {} has a name of {} bytes (byte {})", i, tensor.name.size(),
                   offset);
    }
    if (!names.insert(tensor.name).second) {
      return error(ErrorCode::kInvalidFile, "tensor '{}' appears twice, again at byte {}", tensor.name, offset);
    }
    if (auto read = read_tensor(in, tensor); !read.ok()) return in_tensor(tensor.name, std::move(read).error());
    tensors.push_back(tensor);
  }
  return tensors;
}

Result<uint64_t> read_alignment(const Metadata& metadata) {
  BRIO_TRY(uint64_t alignment, metadata.u64_or("general.alignment", kGgufAlignment));
  if (std::has_single_bit(alignment) && alignment >= 8 && alignment <= kMaxAlignment) return alignment;
  return error(ErrorCode::kInvalidFile, "key 'general.alignment' is {} (byte {}), expected a power of two from 8 to {}",
               alignment, metadata.find("general.alignment")->offset, kMaxAlignment);
}

// Turns offsets into places in the file; no tensor may leave the file or touch another.
Result<void> place(std::vector<TensorInfo>& tensors, std::span<const std::byte> bytes, uint64_t table_end,
                   uint64_t alignment) {
  const uint64_t data_start = (table_end + alignment - 1) / alignment * alignment;
  for (TensorInfo& tensor : tensors) {
    if (tensor.offset % alignment != 0) {
      return error(ErrorCode::kInvalidFile, "tensor '{}' starts at offset {}, which is not a multiple of {}",
                   tensor.name, tensor.offset, alignment);
    }
    const uint64_t room = data_start < bytes.size() ? bytes.size() - data_start : 0;
    const auto size = static_cast<uint64_t>(tensor.size_bytes);
    if (tensor.offset > room || size > room - tensor.offset) {
      Error outside = error(ErrorCode::kInvalidFile,
                            "tensor '{}' needs {} bytes at byte {} + {}, past the end of the file at byte {}",
                            tensor.name, size, data_start, tensor.offset, bytes.size());
      outside.hint = "The download may be incomplete: 'brio pull' verifies and resumes.";
      return outside;
    }
    tensor.offset += data_start;
    tensor.data = bytes.data() + tensor.offset;
  }
  std::vector<const TensorInfo*> order;
  order.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const uint64_t end = order[i - 1]->offset + static_cast<uint64_t>(order[i - 1]->size_bytes);
    if (end > order[i]->offset) {
      return error(ErrorCode::kInvalidFile, "tensors '{}' and '{}' overlap at byte {}", order[i - 1]->name,
                   order[i]->name, order[i]->offset);
    }
  }
  return {};
}

}  // namespace

Result<GgufPart> GgufPart::parse(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  GgufPart part;
  BRIO_TRY(part.version, read_header(in));
  BRIO_TRY(uint64_t num_tensors, in.number<uint64_t>("the number of tensors"));
  BRIO_TRY(uint64_t num_keys, in.number<uint64_t>("the number of metadata keys"));
  BRIO_TRY(part.metadata, Metadata::parse(in, num_keys));
  BRIO_TRY(uint64_t alignment, read_alignment(part.metadata));
  BRIO_TRY(part.tensors, read_table(in, num_tensors));
  BRIO_TRY_OK(place(part.tensors, bytes, in.offset(), alignment));
  return part;
}

}  // namespace brio::weights
