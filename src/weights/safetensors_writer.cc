#include "weights/safetensors_writer.h"

#include <fmt/ranges.h>

#include <fstream>

namespace brio::weights {

void SafetensorsWriter::tensor(std::string_view name, tensor::DType type, const std::vector<int64_t>& shape,
                               std::span<const std::byte> data) {
  const size_t begin = data_.size();
  data_.append(reinterpret_cast<const char*>(data.data()), data.size());
  header_ += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", header_.empty() ? "" : ",",
                         name, tensor::name(type), fmt::join(shape, ","), begin, data_.size());
}

std::string SafetensorsWriter::assemble(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string out(reinterpret_cast<const char*>(&length), sizeof(length));
  return out.append(header).append(data);
}

std::string SafetensorsWriter::bytes() const {
  std::string header = "{" + header_ + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // data starts at a multiple of 8
  return assemble(header, data_);
}

Result<void> SafetensorsWriter::write(const std::filesystem::path& path) const {
  const std::string all = bytes();
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(all.data(), static_cast<std::streamsize>(all.size()));
  out.close();
  if (!out) return error(ErrorCode::kIo, "{}: cannot write {} bytes", path.string(), all.size());
  return {};
}

}  // namespace brio::weights
