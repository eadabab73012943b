// libFuzzer: any bytes as a safetensors file. What the parser accepts is what Boost.JSON reads in the header (but names
// may be broken UTF-8 to it), and the tensors cover the data without a gap or an overlap.
#include <algorithm>
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "weights/safetensors.h"

namespace {

using namespace brio;
namespace json = boost::json;

void require(bool truth, int line = __builtin_LINE()) {
  if (truth) return;
  std::fprintf(stderr, "broken: line %d\n", line);
  std::abort();
}

constexpr char kOther = '\x7F';  // stands for bytes that are no ASCII

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}
std::string in_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<unsigned char>(c) < 0x80 ? c : kOther;
  return out;
}

void check(const weights::SafetensorsTensor& tensor, const json::object& entry, const std::byte* data) {
  require(entry.at("dtype").as_string() == std::string(tensor::name(tensor.dtype)));
  const json::array& offsets = entry.at("data_offsets").as_array();
  require(offsets.size() == 2 && data + offsets[0].to_number<int64_t>() == tensor.data);
  require(offsets[1].to_number<int64_t>() - offsets[0].to_number<int64_t>() == tensor.size_bytes);
  const json::array& shape = entry.at("shape").as_array();
  int64_t elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    require(shape[d].to_number<int64_t>() == tensor.shape[d]);
    elements *= tensor.shape[d];
  }
  require(tensor.shape.size() == std::max<size_t>(shape.size(), 1));
  require(elements * (tensor.dtype == tensor::DType::kF32 ? 4 : 2) == tensor.size_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto tensors = weights::parse_safetensors({bytes, size});
  if (!tensors.ok()) return 0;
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, data, sizeof header_bytes);
  const std::byte* begin = bytes + sizeof header_bytes + header_bytes;
  const std::string header = in_ascii({reinterpret_cast<const char*>(data) + sizeof header_bytes, header_bytes});
  const json::value parsed = json::parse(header);
  const json::object& entries = parsed.as_object();
  require(header.find(kOther) != std::string::npos ||
          entries.size() - entries.count("__metadata__") == tensors->size());
  std::vector<bool> taken(static_cast<size_t>(bytes + size - begin), false);
  for (const weights::SafetensorsTensor& tensor : *tensors) {
    if (is_ascii(tensor.name)) check(tensor, entries.at(tensor.name).as_object(), begin);
    for (int64_t i = 0; i < tensor.size_bytes; ++i) {
      const auto at = static_cast<size_t>(tensor.data - begin + i);
      require(at < taken.size() && !taken[at]);
      taken[at] = true;
    }
  }
  for (const bool one : taken) require(one);
  return 0;
}
