// libFuzzer: any bytes as a GGUF file. What the parser accepts is readable to its last byte, every tensor has the bytes
// that its shape asks for, and no byte belongs to two of them. What the values mean is model_file_fuzz's.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tensor/dequantize.h"
#include "weights/gguf.h"

namespace {

using namespace brio;

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

void read_all(const weights::Metadata& metadata) {
  for (const weights::MetadataEntry& entry : metadata.entries()) {
    require(metadata.find(entry.key) != nullptr && !weights::Metadata::describe(entry).empty());
    (void)metadata.strings(entry.key);
    (void)metadata.integers(entry.key);
    (void)metadata.floats(entry.key);
    (void)metadata.f64(entry.key);
    const auto natural = metadata.u64(entry.key);
    const auto whole = metadata.i64(entry.key);
    if (natural.ok() && whole.ok()) require(*natural == static_cast<uint64_t>(*whole) && *whole >= 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto part = weights::GgufPart::parse({bytes, size});
  if (!part.ok()) return 0;
  read_all(part->metadata);
  std::vector<bool> taken(size, false);
  for (const weights::TensorInfo& tensor : part->tensors) {
    const auto& traits = tensor::traits(tensor.dtype);
    require(tensor.cols() > 0 && tensor.rows() > 0 && tensor.cols() % traits.block_elements == 0);
    require(tensor.size_bytes == tensor.rows() * (tensor.cols() / traits.block_elements) * traits.block_bytes);
    require(tensor.data == bytes + tensor.offset);
    for (int64_t i = 0; i < tensor.size_bytes; ++i) {
      const auto at = static_cast<size_t>(tensor.offset) + static_cast<size_t>(i);
      require(at < size && !taken[at]);
      taken[at] = true;
    }
    std::vector<float> row(static_cast<size_t>(tensor.cols()));
    const std::byte* last = tensor.data + tensor.size_bytes - tensor::row_bytes(tensor.dtype, tensor.cols());
    tensor::dequantize_row(tensor.dtype, last, tensor.cols(), row.data());
  }
  return 0;
}
