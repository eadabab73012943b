// Any bytes as a safetensors file: what the parser accepts must be readable to its last byte.
#include <cstddef>
#include <cstdint>

#include "weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace brio::weights;
  auto tensors = parse_safetensors({reinterpret_cast<const std::byte*>(data), size});
  if (!tensors.ok()) return 0;
  volatile uint8_t sink = 0;
  for (const SafetensorsTensor& tensor : *tensors) {
    for (int64_t i = 0; i < tensor.size_bytes; ++i) sink = sink ^ static_cast<uint8_t>(tensor.data[i]);
  }
  return 0;
}
