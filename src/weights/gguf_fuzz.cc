// Any bytes as a GGUF file: what the parser accepts must be readable to its last byte.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/dequantize.h"
#include "weights/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace brio;
  auto part = weights::GgufPart::parse({reinterpret_cast<const std::byte*>(data), size});
  if (!part.ok()) return 0;
  for (const weights::MetadataEntry& entry : part->metadata.entries()) {
    (void)weights::Metadata::describe(entry);
    (void)part->metadata.strings(entry.key);
    (void)part->metadata.integers(entry.key);
    (void)part->metadata.floats(entry.key);
    (void)part->metadata.u64(entry.key);
    (void)part->metadata.f64(entry.key);
  }
  for (const weights::TensorInfo& tensor : part->tensors) {
    std::vector<float> row(static_cast<size_t>(tensor.cols()));
    const std::byte* last = tensor.data + tensor.size_bytes - tensor::row_bytes(tensor.dtype, tensor.cols());
    tensor::dequantize_row(tensor.dtype, last, tensor.cols(), row.data());
  }
  return 0;
}
