// libFuzzer: any bytes as the header of a packed file, with a digest made right so that more than the digest is tried.
// What is accepted stays inside the file, aligned, without overlap, and its last row can be read out of its panels.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/numerics_id.h"
#include "kernels/linear.h"
#include "kernels/linear_layout.h"
#include "tensor/weight.h"
#include "weights/packed_header.h"

namespace {

using namespace brio;

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

// A file of a few kilobytes has no data: the data's part of it is added, as long as the header says.
constexpr uint64_t kMostDataBytes = 8 << 20;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> file(reinterpret_cast<const std::byte*>(data),
                              reinterpret_cast<const std::byte*>(data) + size);
  (void)weights::check_header_digest(file);
  if (size >= 40) {  // this version's: that others are refused is seen at once
    const uint32_t versions[] = {kernels::kLayoutVersion, kNumericsId};
    std::memcpy(file.data() + 32, versions, sizeof(versions));
  }
  uint64_t data_offset = 0;
  uint64_t data_bytes = 0;
  if (size >= 72) {
    std::memcpy(&data_offset, data + 56, sizeof(data_offset));
    std::memcpy(&data_bytes, data + 64, sizeof(data_bytes));
  }
  if (data_offset >= size && data_offset <= kMostDataBytes && data_bytes <= kMostDataBytes) {
    file.resize(data_offset + data_bytes);
  }
  weights::set_header_digest(file);
  const auto header = weights::PackedHeader::parse(file);
  if (!header.ok()) return 0;
  require(weights::check_header_digest(file).ok());
  require(header->data_offset + header->data_bytes == file.size());
  require(header->checksums.size() == (header->data_bytes + weights::kChunkBytes - 1) / weights::kChunkBytes);
  uint64_t end = 0;
  for (const weights::PackedTensor& tensor : header->tensors) {
    require(tensor.offset >= end && tensor.offset % weights::kPackedAlignment == 0);
    end = tensor.offset + tensor.size_bytes();
    require(end <= header->data_bytes);
    std::vector<float> row(static_cast<size_t>(tensor.cols));
    kernels::unpack_row(tensor::panel_format(tensor.dtype, tensor::Numerics::kDefault),
                        file.data() + header->data_offset + tensor.offset, static_cast<int>(tensor.cols),
                        tensor.rows - 1, row.data());
  }
  return 0;
}
