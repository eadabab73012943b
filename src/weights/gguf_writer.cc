#include "weights/gguf_writer.h"

#include <fstream>

#include "weights/gguf_format.h"

namespace brio::weights {
namespace {

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void put_string(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out.append(text);
}

}  // namespace

void GgufWriter::raw(std::string_view key, uint32_t type, std::string_view bytes) {
  put_string(keys_, key);
  put(keys_, type);
  keys_.append(bytes);
  ++num_keys_;
}

void GgufWriter::string(std::string_view key, std::string_view value) {
  std::string encoded;
  put_string(encoded, value);
  raw(key, static_cast<uint32_t>(ValueType::kString), encoded);
}

void GgufWriter::array_bytes(std::string_view key, ValueType type, uint64_t count, std::string_view bytes) {
  std::string encoded;
  put(encoded, static_cast<uint32_t>(type));
  put(encoded, count);
  encoded.append(bytes);
  raw(key, static_cast<uint32_t>(ValueType::kArray), encoded);
}

void GgufWriter::strings(std::string_view key, std::span<const std::string> values) {
  std::string encoded;
  for (const std::string& value : values) put_string(encoded, value);
  array_bytes(key, ValueType::kString, values.size(), encoded);
}

void GgufWriter::bools(std::string_view key, const std::vector<bool>& values) {
  std::string encoded;
  for (const bool value : values) encoded.push_back(value ? 1 : 0);
  array_bytes(key, ValueType::kBool, values.size(), encoded);
}

void GgufWriter::tensor(std::string_view name, tensor::DType type, std::span<const int64_t> dims,
                        std::span<const std::byte> data) {
  put_string(table_, name);
  put(table_, static_cast<uint32_t>(dims.size()));
  for (const int64_t dim : dims) put(table_, dim);
  put(table_, gguf_type_number(type));
  put<uint64_t>(table_, data_.size());
  data_.append(reinterpret_cast<const char*>(data.data()), data.size());
  data_.resize((data_.size() + alignment_ - 1) / alignment_ * alignment_);
  ++num_tensors_;
}

std::string GgufWriter::bytes() const {
  std::string out;
  put(out, kGgufMagic);
  put(out, version_);
  put(out, num_tensors_);
  put(out, num_keys_ + (alignment_ == kGgufAlignment ? 0 : 1));
  if (alignment_ != kGgufAlignment) {
    GgufWriter alignment;
    alignment.u32("general.alignment", alignment_);
    out += alignment.keys_;
  }
  out += keys_;
  out += table_;
  out.resize((out.size() + alignment_ - 1) / alignment_ * alignment_);
  return out + data_;
}

Result<void> GgufWriter::write(const std::filesystem::path& path) const {
  const std::string all = bytes();
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(all.data(), static_cast<std::streamsize>(all.size()));
  out.close();
  if (!out) return error(ErrorCode::kIo, "{}: cannot write {} bytes", path.string(), all.size());
  return {};
}

}  // namespace brio::weights
